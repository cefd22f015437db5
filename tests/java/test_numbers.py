"""Numbers as Java has them."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from pathlib import Path

import pytest

from localcdap.java.numbers import NumberFormatError, is_number, parse_double, parse_float
from localcdap.java.strings import format_double, format_float, round_to_float

TEXTS = Path(__file__).with_name("number_texts.tsv")
"""What Java 17 writes: ``d`` for a double or ``f`` for a float, the number of its bits, the text."""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, True),
        (1.5, True),
        (float("nan"), True),
        (Decimal("1.50"), True),
        (True, False),
        (False, False),
        ("1", False),
        (b"1", False),
        (None, False),
    ],
)
def test_what_is_a_number(value, expected):
    assert is_number(value) is expected


def test_floating_point_numbers_have_the_texts_of_java():
    kinds = {"d": ("q", format_double), "f": ("i", format_float)}
    rows = [line.split("\t") for line in TEXTS.read_text().splitlines()]
    assert len(rows) > 300
    wrong = []
    for kind, bits, text in rows:
        integer, format = kinds[kind]
        (value,) = struct.unpack(kind, struct.pack(integer, int(bits)))
        if (format(value), format(-value)) != (text, f"-{text}"):
            wrong.append((kind, text, format(value)))
        if kind == "f":  # the double that stands for a float is still the float
            assert struct.pack("f", round_to_float(value)) == struct.pack("f", value)
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "double"),
    [
        ("1", 1.0),
        ("+.5", 0.5),
        ("5.", 5.0),
        ("-1e3", -1000.0),
        ("1d", 1.0),
        ("1.5F", 1.5),
        (" \t1\n", 1.0),
        ("1e400", math.inf),
        ("-Infinity", -math.inf),
        ("0x1p3", 8.0),
        ("-0X.8P+1D", -1.0),
        (" 0x1.fp-2f ", 0.484375),
        ("0x1p99999999999", math.inf),
        ("-0x1p1024", -math.inf),
        ("0x1p-1075", 0.0),
        ("0x1.8p-1075", 5e-324),
    ],
)
def test_texts_that_java_reads_as_doubles(text, double):
    assert parse_double(text) == double


def test_nan_is_read():
    assert math.isnan(parse_double(" NaN "))


@pytest.mark.parametrize(
    "text",
    [*("", " ", "nan", "inf", "infinity", "NaNf", "1_0", "1L", "1 2", "1e", "0,5", ".", "0x1")]
    + ["0x.p1", "0x1p3L", "\u00a01", "1\u2003", "\u0661"],
)
def test_texts_that_java_refuses_as_numbers(text):
    for parse in (parse_double, parse_float):
        with pytest.raises(NumberFormatError):
            parse(text)


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("0.1", 0x3DCCCCCD),
        ("16777217", 0x4B800000),
        ("16777217.0000000000000000000001", 0x4B800001),
        ("16777218.9999999999999999999999", 0x4B800001),
        ("16777219", 0x4B800002),
        ("3.4028235677973366e38", 0x7F7FFFFF),
        ("3.4028235677973367e38", 0x7F800000),
        ("7.006492321624086e-46", 1),
        ("7.006492321624085e-46", 0),
    ],
)
def test_floats_are_rounded_once(text, bits):
    assert struct.unpack("i", struct.pack("f", parse_float(text))) == (bits,)
