"""The values that a stage has altered: what a run, or the preview of a stage, warns about."""

from __future__ import annotations

import msgspec

from localcdap.text import plural


class AlteredValues(msgspec.Struct):
    """Values that a stage has altered in one way, such as rounded."""

    stage: str
    change: str
    """What became of the values."""
    count: int
    first: str
    """The first of them: where it is, or what it was."""

    def describe(self) -> str:
        """Return the warning."""
        return f"{plural(self.count, 'altered value')}: {self.change}. The first: {self.first}"
