"""Titles of tables: the rows above a table, and the names of its columns."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Container, Sequence
from typing import Final

from localcdap.files.types import is_value

_BLANKS: Final = "".join(map(chr, range(33)))
"""What ``String.trim`` of Java leaves out."""
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_]+")


def count_title_rows(
    rows: Sequence[Sequence[str]],
    *,
    may_have_names: bool,
    is_padded: bool,
    merged: Container[int] = (),
) -> int:
    """Return how many rows stand above a table: blank ones, and those with at most half of its columns.

    A row with a single value, and blank ones up to the width of the table, is a title only if names follow,
    or the value takes several columns. Columns at the end that are blank in all rows do not count.

    :param rows: the first ones, also blank ones.
    :param may_have_names: whether the first row of the table may have names.
    :param is_padded: whether blank values were added to rows, so that the width of a row says nothing.
    :param merged: the numbers of the rows with a value that takes several columns.
    """
    sizes = [_find_size(row) for row in rows]
    rows = [row[: max(sizes)] for row in rows]
    widths = sizes if is_padded else [len(row) for row in rows]
    counts = Counter(width for width, size in zip(widths, sizes, strict=True) if size)
    if not counts:
        return 0
    usual = max(counts, key=lambda width: (counts[width], width))
    count = next((index for index, size in enumerate(sizes) if size > usual / 2), 0)
    has_names = may_have_names and _are_names(rows[count][:usual], usual)
    for index in range(count):
        is_short = widths[index] < usual and not is_padded
        is_single = sum(map(bool, map(str.strip, rows[index]))) <= 1
        if not is_short and not (is_single and (has_names or index in merged)):
            return 0
    return count


def _find_size(row: Sequence[str]) -> int:
    """Return the number of values up to the last one that is not blank."""
    return next((index for index in range(len(row), 0, -1) if row[index - 1].strip()), 0)


def _are_names(row: Sequence[str], count: int) -> bool:
    filled = len(row) >= count and all(map(str.strip, row))
    return filled and not any(map(is_value, row))


def make_safe_names(titles: Sequence[str]) -> list[str]:
    """Make unique field names of titles (CDAP 6 ``XlsInputFormatUtils``, hydrator-plugins
    ``DataTypeDetectorUtils.cleanSchemaFieldNames``).

    >>> make_safe_names([" First name", "", "2 x", "first Name"])
    ['First_name', 'BLANK', 'col_2_x', 'first_Name_2']
    """
    seen: dict[str, int] = {}
    names = []
    for title in (title.strip(_BLANKS) for title in titles):
        prefix = "BLANK" if not title else "col_" if title[0] in string.digits else ""
        name = prefix + _UNSAFE.sub("_", title)
        while name.lower() in seen:
            number = seen[name.lower()]
            seen[name.lower()] += 1
            name = f"{name}_{number}"
        seen[name.lower()] = 2
        names.append(name)
    return names


def get_column_letters(index: int) -> str:
    """Return the letters of a column in a sheet.

    >>> get_column_letters(0), get_column_letters(25), get_column_letters(26)
    ('A', 'Z', 'AA')
    """
    letters = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, 26)
        letters = string.ascii_uppercase[letter] + letters
    return letters
