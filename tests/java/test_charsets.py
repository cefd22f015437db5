"""The character sets of Java."""

from __future__ import annotations

import codecs

import pytest

from localcdap.java.charsets import OFFERED, decode, find_encoding, find_java_name


def test_every_name_that_cdap_offers_is_known():
    assert [name for name in OFFERED if find_encoding(name) is None] == []
    assert len(OFFERED) == len(set(OFFERED)) == 66


@pytest.mark.parametrize(
    ("name", "java"),
    [
        ("ISO-8859-1 (Latin-1 Western European)", "ISO-8859-1"),
        (" iso-8859-11 (Latin/Thai) ", "x-iso-8859-11"),
        ("latin1", "ISO-8859-1"),
        ("cp037", "IBM037"),
        ("csIBM037", "IBM037"),
        ("ebcdic-cp-us", "IBM037"),
        ("UTF8", "UTF-8"),
        ("unicode-1-1-utf-8", "UTF-8"),
        ("UnicodeBig", "UTF-16"),
        ("MacRoman", "x-MacRoman"),
        ("MS932", "windows-31j"),
        ("windows-1258", "windows-1258"),
        ("IBM00858", "IBM00858"),
        ("CP858", "IBM00858"),
    ],
)
def test_names_and_aliases(name: str, java: str):
    encoding = find_encoding(name)
    assert encoding is not None
    assert find_encoding(java) == encoding
    assert find_java_name(encoding).lower() == java.lower()


@pytest.mark.parametrize(
    "name", ["", "klingon", "utf-7", "idna", "zlib", "UTF-8\0", "x-JISAutoDetect"]
)
def test_unknown_names(name: str):
    assert find_encoding(name) is None


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        # Values of Java 17.
        ("IBM037", b"\xc1\x15\x25\xc2", "A\n\nB"),
        ("IBM1047", b"\xc1\x15\xad\xbd", "A\n[]"),
        ("IBM01141", b"\x9f\x43\xc0\x63", "€{ä["),
        ("IBM273", b"\xbc", "\u00af"),
        ("TIS-620", b"\x80\xa1", "\ufffdก"),
        ("windows-1252", b"\x80\x81", "€\ufffd"),
        ("UTF-16", b"\x00a", "a"),
        ("UTF-16", b"\xff\xfea\x00", "a"),
        ("UTF-32", b"\x00\x00\x00a", "a"),
    ],
)
def test_bytes_are_decoded_as_by_java(name: str, data: bytes, text: str):
    encoding = find_encoding(name)
    assert encoding is not None
    assert decode(data, encoding) == text


def test_every_table_is_a_codec():
    for name in OFFERED:
        encoding = find_encoding(name) or ""
        if encoding.startswith("java_"):
            whole = bytes(range(256))
            text = whole.decode(encoding, "replace")
            assert len(text) == 256
            assert codecs.getincrementaldecoder(encoding)("replace").decode(whole) == text
