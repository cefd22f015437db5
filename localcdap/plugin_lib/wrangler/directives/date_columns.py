"""Reads columns of texts as dates in Spark, by patterns of numbers only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from localcdap.api.directive import NoNativeFormError
from localcdap.java.dates.simple_date_format import (
    MAX_VALUES,
    expand_year,
    is_number,
    parse_pattern,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

YEARS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The microseconds of the Unix epoch at both ends of the years 1 to 9999."""
_READ: Final = "yMdHmsS"


def read_simple_date_micros(text: Column, pattern: str) -> Column:
    """Return microseconds of the Unix epoch for texts in a pattern of ``SimpleDateFormat``, in UTC; null for
    texts that :func:`localcdap.java.dates.simple_date_format.parse_simple_date` rejects.

    :raises NoNativeFormError: for a pattern with names, zones or fields that stand twice.
    """
    from pyspark.sql import functions as f

    regex, letters = _build_regex(pattern)
    values = {
        letter: f.regexp_extract(text, regex, group).try_cast("bigint")
        for group, letter in enumerate(letters, 1)
    }
    is_in = text.rlike(regex)
    for letter, value in values.items():
        is_in = is_in & value.between(-MAX_VALUES[letter], MAX_VALUES[letter])
    if any(item in parse_pattern(pattern) for item in (("y", 1), ("y", 2))):
        shown = f.regexp_extract(text, regex, letters.index("y") + 1)
        values["y"] = _expand_two_digits(values["y"], shown)
    micros = _compute_micros(values)
    return f.when(is_in & micros.between(*YEARS), micros)


def _build_regex(pattern: str) -> tuple[str, list[str]]:
    """Return the pattern as a regular expression of Java without backtracking, and the letters of groups."""
    parts = ["\\A"]
    letters: list[str] = []
    found = parse_pattern(pattern)
    for index, item in enumerate(found):
        if isinstance(item, str):
            parts.append(re.escape(item))
            continue
        letter, width = item
        if letter not in _READ or not is_number(item) or letter in letters:
            raise NoNativeFormError(f"Spark does not read '{letter * width}' in the same way")
        letters.append(letter)
        is_followed = index + 1 < len(found) and is_number(found[index + 1])
        number = (
            f"(?=(?s:.{{{width}}}))([0-9]{{1,{width}}}+)" if is_followed else "(-?+[0-9]{1,18}+)"
        )
        parts.append(f"[ \\t]*+{number}")
    return "".join(parts), letters


def _expand_two_digits(year: Column, shown: Column) -> Column:
    from pyspark.sql import functions as f

    oldest = min(expand_year(short) for short in range(100))
    short = year - oldest % 100
    near = f.lit(oldest).cast("bigint") + f.pmod(short, f.lit(100).cast("bigint"))
    return f.when(f.length(shown) == 2, near).otherwise(year)


def _compute_micros(values: dict[str, Column]) -> Column:
    from pyspark.sql import functions as f

    def get_value(letter: str, default: int) -> Column:
        return values.get(letter, f.lit(default).cast("bigint"))

    months = get_value("y", 1970) * 12 + get_value("M", 1) - 1
    year = f.floor(months / 12).cast("int")
    is_year = year.between(1, 9999)
    first = f.make_date(
        f.when(is_year, year), (f.pmod(months, f.lit(12)) + 1).cast("int"), f.lit(1)
    )
    days = f.unix_date(first).cast("bigint") + get_value("d", 1) - 1
    seconds = ((days * 24 + get_value("H", 0)) * 60 + get_value("m", 0)) * 60 + get_value("s", 0)
    return f.try_add(f.try_multiply(seconds, f.lit(1_000_000)), get_value("S", 0) * 1000)
