"""The values of a column with their frequencies, to choose one of them from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from localcdap.text import plural
from localcdap.tui.dialogs.chooser import Chooser
from localcdap.tui.records.values import format_cell
from localcdap.tui.studio import Choice

_MOST: Final = 1000
"""The most values that are listed."""
_BAR: Final = 12
"""The width of the longest bar, in cells."""
_WIDEST: Final = 40
"""The most characters of a value."""

Frequency = tuple[str | None, int]
"""A value as text, None for null, and how often it occurs."""


class ValueCounts(NamedTuple):
    """How often the values of a column occur.

    :param frequencies: the most frequent first, maybe not all.
    :param different: the number of different values.
    :param records: the number of records.
    """

    frequencies: Sequence[Frequency]
    different: int
    records: int


def build_frequency_dialog(column: str, counts: ValueCounts) -> Chooser[Frequency]:
    """Return the dialog that shows the frequencies; its answer is the chosen one."""
    listed = counts.frequencies[:_MOST]
    most = max((count for _, count in listed), default=1)
    width = max((len(f"{count:,}") for _, count in listed), default=1)
    choices = []
    for each in listed:
        value, count = each
        bar = "▇" * max(1, round(count / most * _BAR))
        hint = f"{count:>{width},} {count / counts.records:>6.1%} {bar:<{_BAR}}"
        choices.append(Choice(shorten_value(value), each, hint=hint))
    part = "" if len(listed) == counts.different else f", the {len(listed):,} most frequent"
    title = f"{column}: {plural(counts.different, 'value')}{part}; enter keeps those records"
    return Chooser(choices, title=title)


def shorten_value(value: str | None) -> str:
    """Return a value as a short line."""
    text = format_cell(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
