"""Names of columns: of titles, and of columns without one."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Final

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_]+")


def make_safe_names(titles: Sequence[str]) -> list[str]:
    """Make unique field names of titles (CDAP 6 ``XlsInputFormatUtils``).

    >>> make_safe_names([" First name", "", "2 x", "first Name"])
    ['First_name', 'BLANK', 'col_2_x', 'first_Name_2']
    """
    seen: dict[str, int] = {}
    names = []
    for title in (each.strip() for each in titles):
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
