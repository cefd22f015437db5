"""Texts of values, numbers from texts, formats."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pytest

from localcdap.java import numbers
from localcdap.java.string_format import FormatError, format_text
from localcdap.java.strings import round_to_float, to_java_string


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (100.0, "100.0"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (123456.789, "123456.789"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (5e-324, "4.9E-324"),
        (-0.0, "-0.0"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (True, "true"),
        (12, "12"),
        (b"\xc3\xa9", "é"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (None, "null"),
        (Decimal("1E+3"), "1E+3"),
        (Decimal("0.0000001"), "1E-7"),
        (Decimal("12.50"), "12.50"),
        (datetime.time(22, 30), "22:30"),
        (datetime.time(22, 30, 0, 320000), "22:30:00.320"),
        (datetime.datetime(2020, 1, 2, 3, 4), "2020-01-02T03:04"),
        (datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC), "2020-01-02T00:00Z[UTC]"),
        ({"a": [1, None, "é"]}, '{"a":[1,null,"é"]}'),
    ],
)
def test_texts_of_values(value: Any, text: str) -> None:
    assert to_java_string(value) == text


def test_floats_keep_their_short_text() -> None:
    assert [round_to_float(x) for x in (11.79, 2.34, 0.1, 1e10)] == [11.79, 2.34, 0.1, 1e10]
    assert round_to_float(1 / 3) == 0.33333334
    assert round_to_float(1e300) == math.inf
    assert math.isnan(round_to_float(math.nan))


def test_numbers_are_read_as_java_reads_them() -> None:
    assert numbers.parse_double(" 1.5d ") == 1.5
    assert numbers.parse_double("Infinity") == math.inf
    assert numbers.parse_long("+7") == 7
    assert numbers.parse_decimal("1e3") == Decimal(1000)
    for read in (numbers.parse_double, numbers.parse_long, numbers.parse_decimal):
        for text in ("", "x", "1_0", "inf", "0x10", "--1"):
            with pytest.raises(numbers.NumberFormatError):
                read(text)
    with pytest.raises(numbers.NumberFormatError):
        numbers.parse_int("2147483648")


@pytest.mark.parametrize(
    ("pattern", "values", "text"),
    [
        ("%s and %2$s, %1$s", ("a", "b"), "a and b, a"),
        ("%5d|%-5d|%05d|%+d", (1, 2, 3, 4), "    1|2    |00003|+4"),
        ("%,d", (-1234567,), "-1,234,567"),
        ("%.2f|%8.1f|%,.1f", (2.675, 3.14159, 1234.56), "2.68|     3.1|1,234.6"),
        ("%x %X %o", (255, -1, 8), "ff FFFFFFFF 10"),
        ("%b %c %%%n", (None, "x"), "false x %\n"),
        ("%10s|%-4s|%.2s", ("a", "b", "abc"), "         a|b   |ab"),
        ("%e", (12345.678,), "1.234568e+04"),
        ("%S %s", ("up", None), "UP null"),
    ],
)
def test_formats(pattern: str, values: tuple[Any, ...], text: str) -> None:
    assert format_text(pattern, values) == text


@pytest.mark.parametrize(
    ("pattern", "values"), [("%d", ("x",)), ("%s", ()), ("%q", (1,)), ("100%", ())]
)
def test_formats_that_are_none(pattern: str, values: tuple[Any, ...]) -> None:
    with pytest.raises(FormatError):
        format_text(pattern, values)
