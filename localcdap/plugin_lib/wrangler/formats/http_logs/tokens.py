"""What a format of logs is made of: tokens that stand for values, and the patterns that these have."""

from __future__ import annotations

from typing import Final

import msgspec

NUMBER: Final = "[0-9]*"
CLF_NUMBER: Final = "[0-9]*|-"
TEXT: Final = ".*"
WORD: Final = r"[^\s]*"
IP: Final = r"[0-9a-fA-F.:]+|-"
ANY_REQUEST: Final = "(?:.*)"
STAMP: Final = r"[0-3][0-9]/[a-zA-Z]{3}/[1-9][0-9]{3}:[0-9]{2}:[0-9]{2}:[0-9]{2} [-+|][0-9]{4}"


class Token(msgspec.Struct, frozen=True):
    """A value of a line, where a format says that it stands."""

    kind: str
    names: tuple[str, ...]
    """Where in the request it is; the same value may have several."""
    pattern: str
    """Matches the value, as its only group."""


class LogFormatError(ValueError):
    """A text is no format that is understood."""
