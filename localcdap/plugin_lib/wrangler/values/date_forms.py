"""The forms in which texts have dates, as patterns of Java's ``SimpleDateFormat``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from localcdap.java.dates.simple_date_format import format_simple_date, parse_simple_date

DATE_FORMS: Final = (
    *("yyyy-MM-dd", "dd.MM.yyyy", "dd/MM/yyyy", "MM/dd/yyyy", "yyyy/MM/dd", "yyyyMMdd"),
    *("dd-MM-yyyy", "dd MMM yyyy", "MMM dd, yyyy", "dd MMMM yyyy", "MMMM dd, yyyy", "dd.MM.yy"),
    *("d.M.yyyy", "d/M/yyyy", "M/d/yyyy", "d.M.yy", "d/M/yy", "M/d/yy", "d MMM yyyy"),
    "MMM d, yyyy",
    *("yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss", "dd.MM.yyyy HH:mm", "MM/dd/yyyy HH:mm"),
    *("yyyy", "yyyy-MM", "MM/yyyy", "MMM yyyy", "EEEE", "MMMM", "HH:mm"),
)
DAYS: Final = 24
"""How many of these forms have a day, so that a text can be read by them."""
_LONGEST: Final = 30
_PADDED: Final = re.compile(r"(?<!d)dd(?!d)|(?<!M)MM(?!M)")


def find_date_forms(texts: Sequence[str]) -> list[str]:
    """Return the forms with a day in which all texts are dates; several where days may be months.

    >>> find_date_forms(["27.08.2023", "3.9.2023"]), find_date_forms(["27.08.2023", "x"])
    ([], [])
    >>> find_date_forms(["07.08.2023"]), find_date_forms(["02/03/2024", "04/05/2024"])
    (['dd.MM.yyyy'], ['dd/MM/yyyy', 'MM/dd/yyyy'])
    """
    filled = [text for text in texts if text.strip()]
    if not filled or not any(map(str.isdigit, filled[0])) or len(filled[0]) > _LONGEST:
        return []
    forms = list(DATE_FORMS[:DAYS])
    for text in filled:
        forms = [form for form in forms if _has_form(text, form)]
    found = {_PADDED.sub(_take_first, form): form for form in reversed(forms)}
    return [form for form in forms if found[_PADDED.sub(_take_first, form)] == form]


def _take_first(letters: re.Match[str]) -> str:
    return letters[0][0]


def _has_form(text: str, form: str) -> bool:
    try:
        return format_simple_date(parse_simple_date(text, form), form) == text
    except ValueError:
        return False
