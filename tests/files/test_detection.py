"""A guess of a file's format from its first bytes."""

from __future__ import annotations

import bz2
import gzip
import zlib

import hypothesis
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from localcdap.files import detection
from localcdap.files.detection import HEAD_BYTES, FileHead, detect_facts, read_head
from localcdap.files.encodings import decode_head, detect_encoding, get_java_name, open_input
from localcdap.files.formats import FileInput, build_format
from localcdap.pipeline.paths.format_guess import guess_format


def guess(text: str | bytes, name: str = "file", *, is_whole: bool = True):
    content = text.encode() if isinstance(text, str) else text
    return guess_format(detect_facts(FileHead(content, name, is_whole)))


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
        ("id,id\n1,2\n", "csv", ",", True),  # joins give the same name twice
        ("a,a\nb,c\n", "csv", ",", False),  # names differ
        ("2026-01-02,x\n2026-01-03,y\n", "csv", ",", False),
        ("id,name\r\n1,ada\r\n", "csv", ",", True),
        ('name,note\nada,"a, b"\nbob,c\n', "csv", ",", True),
        ("id,name\n", "csv", ",", True),  # a header alone is an empty table
        ("id,5\n", "csv", ",", False),
        ("region,2021,2022\nA,1,2\nB,3,4\n", "csv", ",", True),  # years may be names
        ("region,2021\nA,2020\nB,2019\n", "csv", ",", False),  # years are above years
        ("name,name,city\nada,,Paris\n", "csv", ",", False),
        ("Straße,Ort\nAm Ring,Köln\n", "csv", ",", True),
        (",price\n0,1.5\n1,2\n", "csv", ",", True),  # the index of a data frame has no name
        ("ada@example.org,Paris\nbob@example.org,Rome\n", "csv", ",", False),
        ("$ 5.00,x\n$ 6.00,y\n", "csv", ",", False),
        ("name,city\nname,city\nada,Paris\n", "csv", ",", True),  # two files, one after the other
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
        ('{"a": 1}\nno object\n{"a": 2}\n', "x", "json"),
        ("[2026-01-31] started\n[2026-01-31] ended\n", "x", "text"),
        ('{"a": 1}\n', "x.log", "json"),
        ("1,2\n3,4\n", "x.log", "text"),
        ("id\tname\n1\tada\n", "report.xls", "tsv"),  # web sites name such exports so
        ("a,b\n1\n2,3,4\n5\n", "x.csv", "csv"),
        ("a,b\n1\n2,3,4\n5\n", "x", "text"),
        ("Dear Ann, hello\nYours, Bob\n", "x.txt", "text"),
        ("id,name\n1,ada\n", "x.txt", "csv"),
        ("Report\n\nid,name,city\n1,ada,Paris\n", "x.csv", "csv"),
        ("", "x.parquet", "parquet"),
        (b"id,name\n1,a\x00b\n", "x.csv", "csv"),
        (b"id,name\n1,a\x00b\n", "x", "blob"),
        ("a line\nand another one, here\n", "x", "text"),
        ("", "x.csv", "csv"),
        ("", "x", "text"),
        ("body\nof one column\n", "x.csv", "csv"),
        (b"PAR1\x15\x00", "x", "parquet"),
        (b"Obj\x01\x04", "x.bin", "avro"),
        (b"ORC\x00", "x", "orc"),
        (b"PK\x03\x04\x00", "book.xlsx", "xls"),
        (b"PK\x03\x04\x00", "archive.zip", "blob"),
        (b"PK\x03\x04\x00\x00xl/workbook.xml", "x", "xls"),
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
    cut = "aä".encode()[:-1]
    assert (decode_head(cut, "utf-8"), detect_encoding(cut, is_whole=False)) == ("a", "utf-8")
    assert detect_encoding(b"caf\xe9", is_whole=False) == "utf-8"
    assert detect_encoding(b"caf\xe9", is_whole=True) == "iso8859-1"


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        (
            '{\n  "a": 1\n}\n',
            "x.json",
            "it is JSON, but not an object on each line; the format json of a source reads one object on",
        ),
        ('{"a": 1}\n{\n', "x.json", "1 of its first 2 lines are JSON objects"),
        (
            "no json",
            "x.json",
            "its name says so, but it is not valid JSON; the format json of a source",
        ),
        (
            "Report\n\nid,name,city\n1,ada,Paris\n",
            "x.csv",
            "each line has 3 values between commas, the first line their names; 2 lines stand",
        ),
        ("a,b\n1,2\n3\n", "x.csv", "2 of its first 3 lines have 2 values between commas"),
    ],
)
def test_the_reason_says_what_the_format_does_not(text, name, reason):
    assert guess(text, name).reason.startswith(reason)


def test_a_binary_file_has_no_encoding():
    assert guess(b"\x89PNG\r\n\x1a\n\x00\x00").encoding == "UTF-8"


@pytest.mark.parametrize(
    ("content", "codec", "java"),
    [
        (b"plain", "utf-8", "UTF-8"),
        (b"\xef\xbb\xbfmarked", "utf-8", "UTF-8"),
        ("naïve".encode(), "utf-8", "UTF-8"),
        ("naïve".encode("latin-1"), "iso8859-1", "ISO-8859-1"),
        ("5 €".encode("cp1252"), "cp1252", "Windows-1252"),
        ("text".encode("utf-16"), "utf-16", "UTF-16"),
        ("text".encode("utf-16-le"), "utf-16-le", "UTF-16LE"),
        ("text".encode("utf-16-be"), "utf-16-be", "UTF-16BE"),
    ],
)
def test_encodings_have_one_name_in_python_and_one_in_java(content, codec, java):
    assert detect_encoding(content, is_whole=True) == codec
    assert get_java_name(codec) == java
    assert content.decode(codec).removeprefix("\ufeff") == decode_head(content, codec)


contents = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=100).map(str.encode),
    st.lists(
        st.lists(st.sampled_from(["a", "2021", "1.5", "", '"x', "{}", "\x00", "é"]), max_size=4),
        max_size=6,
    ).map(lambda rows: "\n".join(map(",".join, rows)).encode()),
)
names = st.sampled_from(
    ["x", "x.csv", "x.tsv", "x.txt", "x.json", "x.log", "x.xlsx", "x.parquet", "x.csv.gz"]
)


@hypothesis.given(contents, names, st.booleans())
def test_any_bytes_have_one_answer_in_both_vocabularies(content, name, is_whole):
    head = FileHead(content, name, is_whole)
    facts = detect_facts(head)
    assert detect_facts(head) == facts
    in_form = guess_format(facts)
    in_prep = build_format(FileInput(name), facts)
    is_table = facts.format == detection.DELIMITED
    assert (in_form.format in ("csv", "tsv", "delimited")) == is_table
    assert (in_prep.format in ("csv", "tsv")) == is_table
    if is_table:
        assert in_form.delimiter == in_prep.delimiter == facts.delimiter
        assert in_form.has_header == in_prep.header == facts.has_header
    assert in_form.encoding == get_java_name(in_prep.encoding)


def test_the_head_of_a_file_is_that_of_its_contents(tmp_path):
    text = b"id,name\n" + b"1,ada\n" * HEAD_BYTES
    (tmp_path / "a.csv").write_bytes(text)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "a.csv.bz2").write_bytes(bz2.compress(text))
    (tmp_path / "a.csv.deflate").write_bytes(zlib.compress(text))
    (tmp_path / "a.csv.zst").write_bytes(pa.compress(text, "zstd", asbytes=True))
    for name in ("a.csv", "a.csv.gz", "a.csv.bz2", "a.csv.deflate", "a.csv.zst"):
        assert read_head(tmp_path / name) == FileHead(text[:HEAD_BYTES], "a.csv", False)
        with open_input(tmp_path / name) as stream:
            assert stream.read() == text


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".deflate", ".zst", ".snappy"])
def test_what_is_not_compressed_as_its_name_says_cannot_be_read(tmp_path, suffix):
    (tmp_path / f"a{suffix}").write_bytes(b"plain text")
    with pytest.raises((OSError, EOFError)):
        read_head(tmp_path / f"a{suffix}")
    compressed = zlib.compress(bytes(1000))
    (tmp_path / "cut.deflate").write_bytes(compressed[:-6])
    with pytest.raises(EOFError, match="ends before"):
        read_head(tmp_path / "cut.deflate")
