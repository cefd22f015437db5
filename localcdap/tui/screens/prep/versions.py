"""Versions of a recipe: what each has that another has not."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import datetime

from localcdap.tui.system.user_state import RecipeVersion

_LINES = 5
"""Lines of a difference that are shown."""


def describe_difference(before: Sequence[str], after: Sequence[str]) -> str:
    """Return the lines that one recipe has less and more than another; what is the same is left out."""
    lines = [
        f"{line[0]} {line[2:]}"
        for line in difflib.ndiff(list(before), list(after))
        if line[0] in "+-"
    ]
    if not lines:
        return "the same steps as now"
    more = len(lines) - _LINES
    shown = lines if more <= 0 else [*lines[: _LINES - 1], f"… {more + 1} more lines"]
    return "\n".join(shown)


def format_moment(version: RecipeVersion) -> str:
    """Return when a version was kept, in the time of this machine."""
    return f"{datetime.fromtimestamp(version.time):%Y-%m-%d %H:%M}"
