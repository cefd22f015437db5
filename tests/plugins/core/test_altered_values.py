"""What file sources and sinks alter as CDAP does: it is counted, once for each kind of change."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.engine.messages.samples import AlteredValues
from localcdap.files.delimited import split_values
from localcdap.plugin_lib.json_values import CHANGES
from localcdap.testing import artifact_ref, run_stage
from tests.plugins.core.support import ARTIFACT, schema_text

pytestmark = pytest.mark.spark

SOURCE = artifact_ref(ARTIFACT, "batchsource", "File")
SINK = artifact_ref(ARTIFACT, "batchsink", "File")
BYTES = "bytes that are not UTF-8 became U+FFFD"
NOT_QUOTED = "a delimiter, a quote or a line end in a value was written as it is, as CDAP does"
FLAG = "a text other than 'true' and 'false' became false, as in CDAP"
QUOTES = "quotes within a value were left out; set 'doubledQuotes' if two quotes stand for one"
PAIR = schema_text(a=["string", "null"], b=["string", "null"])


@pytest.fixture
def read(spark, tmp_path: Path):
    def run(content: bytes, suffix: str = "txt", **properties: str):
        file = tmp_path / f"in.{suffix}"
        file.write_bytes(content)
        given = {"referenceName": "r", "path": str(file)} | properties
        return run_stage(spark, SOURCE, given, directory=tmp_path)

    return run


@pytest.fixture
def write(spark, tmp_path: Path):
    def run(values: list[str | None], **properties: str):
        schema = Schema.record("r", [("a", Schema.STRING.as_nullable), ("n", Schema.DOUBLE)])
        records = [{"a": value, "n": 1.5} for value in values]
        given = {"referenceName": "r", "path": "out", "format": "csv"} | properties
        found = run_stage(spark, SINK, given, {"in": (schema, records)}, directory=tmp_path)
        texts = [file.read_bytes().decode() for file in sorted((tmp_path / "out").iterdir())]
        return found.altered, "".join(texts)

    return run


@pytest.mark.parametrize("quoted", ["false", "true"])
def test_malformed_bytes_of_delimited_text(read, tmp_path, quoted):
    run = read(
        b"x,y\n\xe9t\xe9,1\nz,\xff\n" + "ß,\ufffd".encode(),
        format="csv",
        schema=PAIR,
        enableQuotedValues=quoted,
    )

    assert [r["a"] for r in run.records][:2] == ["x", "\ufffdt\ufffd"]
    place = f"'{tmp_path}/in.txt', line 2."
    assert run.altered == [AlteredValues("stage", BYTES, 2, place)]


@pytest.mark.parametrize(
    "properties",
    [
        {"schema": schema_text(body="string")},
        {},
        {"skipHeader": "true"},
        {"fileSystemProperties": json.dumps({"textinputformat.record.delimiter": "\n"})},
    ],
)
def test_malformed_bytes_of_lines(read, tmp_path, properties):
    run = read(b"good\nb\xc3\nc\xa0\xe2\x82d\n" + "\ufffd".encode(), **properties)

    bodies = [record["body"] for record in run.records]
    assert bodies[-3:] == ["b\ufffd", "c\ufffd\ufffdd", "\ufffd"]
    place = f"'{tmp_path}/in.txt', line 2."
    assert run.altered == [AlteredValues("stage", BYTES, 2, place)]


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("US-ASCII", b"a\nb\xe9\n"),
        ("Windows-1252", b"a\nb\x81\n"),
        ("UTF-32", "a\nb\n".encode("utf-32-be")[:-4] + b"\x00\xff\xff\xff"),
    ],
)
def test_malformed_bytes_of_other_encodings(read, tmp_path, encoding, content):
    run = read(content, format="csv", schema=schema_text(a="string"), fileEncoding=encoding)

    assert [record["a"] for record in run.records] == ["a", "b\ufffd"]
    (altered,) = run.altered
    assert (altered.count, altered.first) == (1, f"'{tmp_path}/in.txt', line 2.")
    assert encoding.upper().removeprefix("US-") in altered.change.upper()


def test_malformed_bytes_of_json(read, tmp_path):
    run = read(b'{"a": "x"}\n{"a": "\xe9"}\n', format="json", schema=schema_text(a="string"))

    assert run.records == [{"a": "x"}, {"a": "\ufffd"}]
    place = f"'{tmp_path}/in.txt', line 2."
    assert run.altered == [AlteredValues("stage", BYTES, 1, place)]


def test_json_that_the_original_alters(read, tmp_path):
    lines = ('{"a": "\\ud800", "n": 9007199254740993.0} {}', '{"a": "x", "n": 1}')
    schema = schema_text(a="string", n="long")
    run = read("\n".join(lines).encode(), format="json", schema=schema)

    assert run.records == [{"a": "?", "n": 9007199254740992}, {"a": "x", "n": 1}]
    place = f"File: file://{tmp_path}/in.txt; line: {lines[0]}"
    assert [(altered.change, altered.count, altered.first) for altered in run.altered] == [
        (f"{change}, as in CDAP", 1, place) for change in CHANGES
    ]


def test_an_empty_line_is_a_record_of_nulls(read):
    assert read(b"1,x\n\n", format="csv", schema=PAIR).records == [
        {"a": "1", "b": "x"},
        {"a": None, "b": None},
    ]
    with pytest.raises(StageError, match="Field 'a' must be of type int, but it is ''"):
        read(b"\n", format="csv", schema=schema_text(a="int", b=["string", "null"]))


@pytest.mark.parametrize(
    ("type", "text"),
    [
        ("int", " 1"),
        ("long", "1 "),
        ("long", "1\t"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}, " 1.50"),
        ({"type": "int", "logicalType": "date"}, "2026-01-02 "),
    ],
)
def test_blanks_around_values_are_refused(read, type, text):
    with pytest.raises(StageError, match=f"Field 'a' must be of type .*, but it is '{text}'"):
        read(f"{text},x\n".encode(), format="csv", schema=schema_text(a=[type, "null"], b="string"))


def test_nothing_is_counted_where_nothing_is_altered(read):
    run = read('a"b,\ufffd"\n'.encode(), format="csv", schema=PAIR)
    assert run.altered == []
    good = read(b'"x", "y"\n"",\n', format="csv", schema=PAIR, enableQuotedValues="true")
    assert good.altered == []


def test_quotes_within_values(read, tmp_path):
    lines = b'1,"aaaaa"aaaab"aaaac"\n2, "q r" \n"",x\n3,"a""b"\nab"c,d"e,x\n'
    run = read(lines, format="csv", schema=PAIR, enableQuotedValues="true")

    assert [tuple(record.values()) for record in run.records] == [
        ("1", "aaaaaaaaabaaaac"),
        ("2", " q r "),
        (None, "x"),
        ("3", "ab"),
        ("abc,de", "x"),
    ]
    (altered,) = run.altered
    assert (altered.change, altered.count) == (QUOTES, 3)
    assert altered.first == f'File: file://{tmp_path}/in.txt; line: 1,"aaaaa"aaaab"aaaac"'


def test_texts_that_are_no_booleans_are_false(read, tmp_path):
    schema = schema_text(a="string", on=["boolean", "null"])
    run = read(b"a,yes\nb,TRUE\nc, true\nd,\ne,False\nf\n", format="csv", schema=schema)

    assert [record["on"] for record in run.records] == [False, True, False, None, False, None]
    first = f"File: file://{tmp_path}/in.txt; line: a,yes"
    assert run.altered == [AlteredValues("stage", FLAG, 2, first)]


@pytest.mark.parametrize("quoted", ["false", "true"])
def test_fields_may_have_any_name(read, quoted):
    names = ["file", "value", "values", "replaced", "quotes", "line", "body"]
    run = read(
        b"a,b,c,d,e,f\n",
        format="csv",
        schema=schema_text(**dict.fromkeys(names, "string")),
        enableQuotedValues=quoted,
        pathField="body",
        filenameOnly="true",
    )
    assert run.records == [dict(zip(names, [*"abcdef", "in.txt"], strict=True))]


def test_digits_that_a_type_does_not_hold(read, tmp_path):
    moment = {"type": "long", "logicalType": "timestamp-micros"}
    local = {"type": "string", "logicalType": "datetime"}
    clock = {"type": "long", "logicalType": "time-micros"}
    types = {"t": moment, "d": local, "c": clock, "f": "float", "g": "double"}
    schema = schema_text(**{name: [type, "null"] for name, type in types.items()})
    lines = [
        "2024-05-06T07:08:09.1234560Z,2024-05-06T07:08:09.123456000,01:02:03.1234560,-0.0,1e-300",
        ",,,,",
        ",,,Infinity,NaN",
        "2024-05-06T07:08:09.1234567Z,,,,",
        ",2024-05-06 07:08:09.123456001,,,",
        ",,01:02:03.1234567,,",
        ",,,3.5e38,",
        ",,,,1e-400",
    ]

    run = read("\n".join(lines).encode(), format="csv", schema=schema)

    (altered,) = run.altered
    assert altered.change == "digits that the type of a field does not hold were left out"
    assert (altered.count, altered.first) == (
        5,
        f"File: file://{tmp_path}/in.txt; line: {lines[7]}",
    )
    assert [record["g"] for record in run.records][-1] == 0.0
    assert [record["f"] for record in run.records][-2] == float("inf")


@pytest.mark.parametrize("zone", ["Z", "+02:00", " Europe/Berlin"])
def test_a_datetime_has_no_zone(read, zone):
    schema = schema_text(d={"type": "string", "logicalType": "datetime"})
    with pytest.raises(StageError, match="must be of type datetime, but it is"):
        read(f"2024-05-06T07:08:09{zone}".encode(), format="csv", schema=schema)


@pytest.mark.parametrize("delimiter", [",", "##", "| "])
@pytest.mark.parametrize("doubled", [False, True])
def test_spark_splits_any_lines_as_python_does(read, delimiter, doubled):
    chooser = random.Random(7)  # noqa: S311 - for the same lines each time
    pieces = ["a", "", " ", '"', '"', '"x"', delimiter, delimiter, "é#|,"]
    lines = ["".join(chooser.choices(pieces, k=chooser.randrange(1, 12))) for _ in range(800)]
    lines = [line for line in lines if line.count('"') % 2 == 0 and line]
    fields = {f"c{index}": ["string", "null"] for index in range(12)}
    run = read(
        "\n".join(lines).encode(),
        format="delimited",
        delimiter=delimiter,
        enableQuotedValues="true",
        doubledQuotes=str(doubled).lower(),
        schema=schema_text(**fields),
    )

    expected = [split_values(line, delimiter, quoted=True, doubled=doubled) for line in lines]
    padded = [[*values, *[""] * (len(fields) - len(values))] for values in expected]
    assert [list(r.values()) for r in run.records] == [[v or None for v in row] for row in padded]


@pytest.mark.parametrize(
    ("value", "delimiter"),
    [("a,b", ","), ('a"b', ","), ("a\nb", ","), ("a\rb", ","), ("a::b", "::"), ("a\tb", "\t")],
)
def test_special_characters_in_written_values(write, value, delimiter):
    given = {"format": "delimited", "delimiter": delimiter}
    altered, text = write(["plain", None, value, value], **given)

    line = f"{value}{delimiter}1.5"
    assert text == f"plain{delimiter}1.5\n{delimiter}1.5\n{line}\n{line}\n"
    assert altered == [AlteredValues("stage", NOT_QUOTED, 2, line)]


def test_quoted_values_are_not_altered(write):
    altered, text = write(["a,b", 'c"d'], enableQuotedValues="true")
    assert (altered, text) == ([], '"a,b",1.5\n"c""d",1.5\n')


def test_numbers_with_the_delimiter(write):
    altered, _ = write(["a", "b"], format="delimited", delimiter=".")
    assert altered == [AlteredValues("stage", NOT_QUOTED, 2, "a.1.5")]
