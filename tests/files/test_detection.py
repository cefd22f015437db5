"""A guess of a file's format from its first bytes."""

from __future__ import annotations

import pytest

from localcdap.api.config import PluginProperty
from localcdap.files.detection import decode_head, guess_format
from localcdap.pipeline.paths.guessed_properties import build_properties


def guess(text: str | bytes, name: str = "file", *, is_whole: bool = True):
    return guess_format(text.encode() if isinstance(text, str) else text, name, is_whole=is_whole)


@pytest.mark.parametrize(
    ("text", "format", "delimiter", "has_header"),
    [
        ("id,name\n1,ada\n2,bob\n", "csv", ",", True),
        ("1,ada\n2,bob\n", "csv", ",", False),
        ("id\tname\n1\tada\n", "tsv", "\t", True),
        ("id;price\n1;2,5\n2;3,5\n", "delimited", ";", True),
        ("a|b|c\n1|2|3\n", "delimited", "|", True),
        ("city,country\nParis,France\nRome,Italy\n", "csv", ",", True),
        ("Paris,France\nParis,France\n", "csv", ",", False),  # a name is a value of its column
        ("id,id\n1,2\n", "csv", ",", False),  # names differ
        ("2026-01-02,x\n2026-01-03,y\n", "csv", ",", False),
        ("id,name\r\n1,ada\r\n", "csv", ",", True),
        ('name,note\nada,"a, b"\nbob,c\n', "csv", ",", True),
        ("id,name\n", "csv", ",", False),  # nothing says that it is not a record
    ],
)
def test_columns_are_found_by_their_delimiter(text, format, delimiter, has_header):
    found = guess(text)
    assert (found.format, found.delimiter, found.has_header) == (format, delimiter, has_header)


@pytest.mark.parametrize(
    ("text", "name", "format"),
    [
        ('{"a": 1}\n{"a": 2}\n', "x", "json"),
        ('{\n  "a": 1\n}\n', "x.json", "text"),  # sources read an object a line
        ("a line\nand another one, here\n", "x", "text"),
        ("", "x.csv", "csv"),
        ("", "x", "text"),
        ("body\nof one column\n", "x.csv", "csv"),
        (b"PAR1\x15\x00", "x", "parquet"),
        (b"Obj\x01\x04", "x.bin", "avro"),
        (b"ORC\x00", "x", "orc"),
        (b"PK\x03\x04\x00", "book.xlsx", "xls"),
        (b"PK\x03\x04\x00", "archive.zip", "blob"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "x.png", "blob"),
    ],
)
def test_other_formats(text, name, format):
    assert guess(text, name).format == format


def test_a_line_that_the_end_of_the_head_cuts_does_not_count():
    assert guess("id,name\n1,ada\n2", is_whole=False).format == "csv"
    assert guess("id,name\n1,ada\n2", is_whole=True).format == "text"


def test_quotes_line_ends_and_encodings_are_noticed():
    quoted = guess('id,note\n1,"two\nlines"\n2,"one"\n')
    assert (quoted.format, quoted.is_quoted, quoted.is_multiline) == ("csv", True, True)
    assert quoted.columns == ["id", "note"]
    assert guess("id,name\n1,ä\n".encode("utf-16")).encoding == "UTF-16"
    assert guess("id,name\n1,ä\n".encode("latin-1")).encoding == "ISO-8859-1"
    assert guess("\ufeffid,name\n1,ä\n").columns == ["id", "name"]


def test_a_character_that_the_end_of_the_head_cuts_is_left_out():
    assert decode_head("aä".encode()[:-1]) == ("a", "UTF-8")
    assert decode_head(b"a\xe4bcdef")[1] == "ISO-8859-1"


def declare(*names: str, formats: str = "") -> dict[str, PluginProperty]:
    return {
        name: PluginProperty(
            name, "", "string", False, True, form=formats if name == "format" else None
        )
        for name in names
    }


ALL = ("format", "delimiter", "skipHeader", "copyHeader", "enableQuotedValues", "fileEncoding")


def test_a_guess_sets_the_properties_that_the_plugin_has():
    of = build_properties(guess('id;n\n1;"a"\n'), declare(*ALL))
    assert of == {
        "format": "delimited",
        "delimiter": ";",
        "skipHeader": "true",
        "copyHeader": None,
        "enableQuotedValues": "true",
        "fileEncoding": None,
    }
    plain = build_properties(guess("1,a\n2,b\n"), declare("format", "copyHeader", "delimiter"))
    assert plain == {"format": "csv", "copyHeader": None, "delimiter": None}
    assert build_properties(guess("id,n\n1,a\n"), declare("format", "copyHeader")) == {
        "format": "csv",
        "copyHeader": "true",
    }


def test_a_guess_sets_nothing_where_the_plugin_does_not_read_the_format():
    assert build_properties(guess(b"PAR1"), declare(*ALL, formats="{format:csv|tsv}")) == {}
    assert build_properties(guess("a,b\n1,2\n"), declare("path")) == {}
    assert build_properties(guess("a,b\n1,2\n"), declare("format", formats="{format:csv}"))
