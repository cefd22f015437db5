"""Files of every format as the File source reads them, on Spark."""

from __future__ import annotations

import bz2
import datetime
import decimal
import gzip
import json
import re
import zlib
from pathlib import Path

import openpyxl
import pytest

from localcdap.api.errors import StageError
from localcdap.testing import PipelineTester, artifact_ref, run_stage
from tests.plugins.core.support import ARTIFACT, plugin_ref, schema_text

pytestmark = pytest.mark.spark

UTC = datetime.UTC


@pytest.fixture
def read(spark, tmp_path):
    """The records of the File source with the given properties, paths relative to ``tmp_path``."""

    def run(**properties: str):
        given = {"referenceName": "r", "path": "in"} | properties
        return run_stage(
            spark,
            artifact_ref(ARTIFACT, "batchsource", "File"),
            given,
            directory=tmp_path,
            counts=False,
        ).records

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    return made


def rows(records, *names):
    return sorted(tuple(record[name] for name in names) for record in records)


ABC = schema_text(a="int", b=["string", "null"], c=["double", "null"])


def test_delimited_values_become_their_types(read, folder):
    (folder / "a.csv").write_bytes('1,x, 1.5 \r\n2,,\r\n3,"q",\n-4,é😀,NaN\n5\n'.encode())
    (folder / "_hidden.csv").write_text("no")
    (folder / ".hidden.csv").write_text("no")
    (folder / "empty.csv").write_text("")

    records = read(format="csv", schema=ABC)

    assert rows(records, "a", "b") == [(-4, "é😀"), (1, "x"), (2, None), (3, '"q"'), (5, None)]
    assert [r["c"] for r in records if r["a"] in (1, 2, 3, 5)] == [1.5, None, None, None]


def test_every_simple_type_as_text(read, folder):
    values = {
        "flag": ("boolean", "TRUE", True),
        "whole": ("int", "-2147483648", -(2**31)),
        "big": ("long", "9223372036854775807", 2**63 - 1),
        "single": ("float", "0.5", 0.5),
        "half": ("double", "-Infinity", float("-inf")),
        "data": ("bytes", "AAH/", b"\x00\x01\xff"),
        "color": ({"type": "enum", "symbols": ["RED", "BLUE"]}, "BLUE", "BLUE"),
        "day": (
            {"type": "int", "logicalType": "date"},
            "1500-02-28",
            datetime.date(1500, 2, 28),
        ),
        "clock": (
            {"type": "long", "logicalType": "time-micros"},
            "23:59:59.000001",
            datetime.time(23, 59, 59, 1),
        ),
        "moment": (
            {"type": "long", "logicalType": "timestamp-micros"},
            "2024-01-02T03:04:05.000006+01:00",
            datetime.datetime(2024, 1, 2, 2, 4, 5, 6, UTC),
        ),
        "local": (
            {"type": "string", "logicalType": "datetime"},
            "1581-01-02T03:04:05",
            datetime.datetime(1581, 1, 2, 3, 4, 5),
        ),
        "money": (
            {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2},
            "-999999999999999999999999999999999999.99",
            decimal.Decimal("-999999999999999999999999999999999999.99"),
        ),
    }
    (folder / "a.txt").write_text("||".join(text for _, text, _ in values.values()))

    (found,) = read(
        format="delimited",
        delimiter="||",
        schema=schema_text(**{name: type for name, (type, _, _) in values.items()}),
    )

    assert found == {name: value for name, (_, _, value) in values.items()}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x,b,1", "Field 'a' must be of type int, but it is 'x'."),
        (",b,1", "Field 'a' must be of type int, but it is ''."),
        ("1.5,b,1", "Field 'a' must be of type int, but it is '1.5'."),
        ("2147483648,b,1", "Field 'a' must be of type int"),
        (
            "1,b,c,d,e",
            "Found a row with 5 fields when the schema only contains 3 fields (a, b, c).",
        ),
        ('1,"b,c",2', "Check if quoted values should be allowed."),
    ],
)
def test_a_value_that_does_not_fit_fails_the_run(read, folder, line, expected):
    (folder / "bad.csv").write_text(f"1,b,2\n{line}\n")

    with pytest.raises(StageError) as failure:
        read(format="csv", schema=ABC)

    assert expected in str(failure.value)
    assert f"{folder}/bad.csv; line: {line}" in str(failure.value)


def test_silent_roundings_and_half_dates_are_refused(read, folder):
    decimal_type = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1}
    day = {"type": "int", "logicalType": "date"}
    moment = {"type": "long", "logicalType": "timestamp-micros"}
    for type, text in ((decimal_type, "1.25"), (day, "2024-01-01 or so"), (moment, "12:30")):
        (folder / "a.csv").write_text(text)
        with pytest.raises(StageError, match="Field 'v' must be of type"):
            read(format="csv", schema=schema_text(v=type))
    (folder / "a.csv").write_text("1.20\n")
    assert read(format="csv", schema=schema_text(v=decimal_type)) == [{"v": decimal.Decimal("1.2")}]


def test_a_line_that_is_too_short_for_a_required_field_names_it(read, folder):
    (folder / "a.tsv").write_text("1\n")

    with pytest.raises(StageError, match="Field 'b' must be of type string, but it is missing"):
        read(format="tsv", schema=schema_text(a="int", b="string"))


def test_headers_are_skipped_in_each_file_and_only_there(read, folder):
    for name in ("a", "b", "c"):
        (folder / f"{name}.csv").write_bytes(b"\xef\xbb\xbfk,v\r\nk,v\r\n1," + name.encode())
    with gzip.open(folder / "d.csv.gz", "wt") as file:
        file.write("k,v\n1,d")

    by_spark = read(format="csv", skipHeader="true", schema=schema_text(k="string", v="string"))
    in_python = read(
        format="csv",
        skipHeader="true",
        schema=schema_text(k="string", v="string"),
        fileEncoding="ISO-8859-15",
        fileRegex=r".*/[abc]\.csv",
    )

    expected = [("1", "a"), ("1", "b"), ("1", "c")] + [("k", "v")] * 3
    assert rows(by_spark, "k", "v") == sorted([*expected, ("1", "d")])
    assert rows(in_python, "k", "v") == expected


def test_quoted_values(read, folder):
    lines = [
        'a,"b,c",d',
        '"",plain,x"y,z"',
        '"say ""hi""",  "in blanks"  ,"a""b"',
        "1,2,3",
        '"x",,',
    ]
    (folder / "a.csv").write_text("\n".join(lines))
    names = schema_text(x=["string", "null"], y=["string", "null"], z=["string", "null"])

    records = read(format="csv", enableQuotedValues="true", schema=names)

    assert [tuple(r.values()) for r in records] == [
        ("a", "b,c", "d"),
        (None, "plain", "xy,z"),
        ("say hi", "  in blanks  ", "ab"),
        ("1", "2", "3"),
        ("x", None, None),
    ]
    by_rfc = read(format="csv", enableQuotedValues="true", doubledQuotes="true", schema=names)
    assert tuple(by_rfc[2].values()) == ('say "hi"', "in blanks", 'a"b')
    (folder / "a.csv").write_text('a,"b,c\n')
    with pytest.raises(StageError, match="unenclosed quote"):
        read(format="csv", enableQuotedValues="true", schema=names)


def test_quoted_values_over_several_lines_and_long_delimiters(read, folder):
    (folder / "a.csv").write_text('h1,h2\n1,"a\r\nb"\n2,x""""\n')
    (folder / "b.txt").write_text('1::"x::y"\n2::z')
    pair = schema_text(a="int", b="string")

    multiline = read(
        format="csv",
        enableQuotedValues="true",
        enableMultilineSupport="true",
        skipHeader="true",
        schema=pair,
        path="in/*.csv",
    )
    long_delimiter = read(
        format="delimited", delimiter="::", enableQuotedValues="true", schema=pair, path="in/*.txt"
    )

    assert rows(multiline, "a", "b") == [(1, "a\nb"), (2, "x")]
    assert rows(long_delimiter, "a", "b") == [(1, "x::y"), (2, "z")]


def test_lines_with_their_offsets(read, folder):
    content = "first\r\nzwö\n\nlast".encode()
    (folder / "a.txt").write_bytes(content)
    (folder / "b.txt.gz").write_bytes(gzip.compress(content))
    (folder / "c.txt.bz2").write_bytes(bz2.compress(content))
    (folder / "d.txt.deflate").write_bytes(zlib.compress(content))
    expected = [(0, "first"), (7, "zwö"), (12, ""), (13, "last")]

    for name in ("a.txt", "b.txt.gz", "c.txt.bz2", "d.txt.deflate"):
        assert rows(read(path=f"in/{name}"), "offset", "body") == expected
    many_pieces = read(path="in/a.txt", maxSplitSize="3")
    assert rows(many_pieces, "offset", "body") == expected
    assert rows(read(path="in/a.txt", skipHeader="true"), "offset", "body") == expected[1:]
    assert rows(read(path="in/a.txt", schema=schema_text(body="string")), "body") == sorted(
        (body,) for _, body in expected
    )


def test_text_of_other_encodings_and_separators(read, folder):
    (folder / "a.txt").write_bytes("é\nß".encode("cp1252"))
    (folder / "b.txt").write_bytes("é\nß".encode("utf-16"))
    (folder / "c.xml").write_text("<a>\n</a>`<b/>")

    assert rows(read(path="in/a.txt", fileEncoding="Windows-1252"), "offset", "body") == [
        (0, "é"),
        (2, "ß"),
    ]
    assert [r["body"] for r in read(path="in/b.txt", fileEncoding="UTF-16")] == ["é", "ß"]
    separator = json.dumps({"textinputformat.record.delimiter": "`"})
    assert rows(read(path="in/c.xml", fileSystemProperties=separator), "offset", "body") == [
        (0, "<a>\n</a>"),
        (9, "<b/>"),
    ]


def test_path_fields(read, folder):
    name = "a +b%é[1].csv"
    (folder / name).write_text("1")
    pair = schema_text(v="string", file="string")

    short = read(format="csv", schema=pair, pathField="file", filenameOnly="true")
    long = read(format="csv", schema=pair, pathField="file")
    text = read(
        schema=schema_text(file="string", body="string"), pathField="file", filenameOnly="true"
    )
    python = read(pathField="file")
    blob = read(format="blob", pathField="file", filenameOnly="true")

    assert short == [{"v": "1", "file": name}]
    assert text == [{"file": name, "body": "1"}]
    assert blob == [{"body": b"1", "file": name}]
    assert long == [{"v": "1", "file": f"file:{folder}/{name}"}]
    assert python == [{"offset": 0, "body": "1", "file": f"file:{folder}/{name}"}]


def test_json_objects(read, folder):
    point = {"type": "record", "name": "p", "fields": [{"name": "x", "type": ["int", "null"]}]}
    schema = schema_text(
        a="int",
        b=["string", "null"],
        c=["double", "null"],
        p=[point, "null"],
        l={"type": "array", "items": "long"},
    )
    (folder / "a.json").write_text(
        '{"a": 1, "b": "é", "c": 2, "p": {"x": 3}, "l": [4], "more": 5}\n{"a": 2, "l": []}\n'
    )

    records = read(format="json", schema=schema)

    assert records == [
        {"a": 1, "b": "é", "c": 2.0, "p": {"x": 3}, "l": [4]},
        {"a": 2, "b": None, "c": None, "p": None, "l": []},
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            '{"a": "x", "b": 1}',
            "Values do not fit their fields: 'a' must be of type int, but is \"x\".",
        ),
        ('{"a": 1, "b": {}', "A line is not a JSON object: "),
        ('"x"', "A line is not a JSON object: "),
        ("null", "A line is not a JSON object: "),
        ("[]", "A line is not a JSON object: "),
        ("\n", "A line is not a JSON object: "),
        ("[]x", "A line is not a JSON object: "),
        ('[{"a": 1}, {"a": 2}]', "A line is not a JSON object: "),
        ('{"b": "x"}', "'a' is null or missing, but its schema does not allow null."),
        ('{"a": 1, "b": 2}', "'b' (nullable string) must be a text or null, but is 2."),
    ],
)
def test_json_that_does_not_fit_fails_the_run(read, folder, line, expected):
    (folder / "bad.json").write_text('{"a": 1}\n' + line)

    with pytest.raises(StageError) as failure:
        read(format="json", schema=schema_text(a="int", b=["string", "null"]))

    assert expected in str(failure.value)
    assert "bad.json" in str(failure.value)


@pytest.mark.slow
@pytest.mark.parametrize("line", ["[]x", '{"a": "x", "b": "y"}'])
def test_json_is_checked_also_in_fields_that_nothing_reads(spark, tmp_path, folder, line):
    (folder / "bad.json").write_text('{"a": 1, "b": "x"}\n' + line)
    pipeline = PipelineTester(spark, tmp_path)
    schema = schema_text(a="int", b=["string", "null"])
    source = {"referenceName": "r", "path": "in", "format": "json", "schema": schema}
    pipeline.stage("in", plugin_ref("batchsource", "File"), source)
    pipeline.stage("b", plugin_ref("transform", "Projection"), {"keep": "b"}, ["in"])
    pipeline.sink("out", "b")

    with pytest.raises(StageError, match="line: " + re.escape(line)):
        pipeline.run()


def test_json_of_other_encodings_and_separators(read, folder):
    (folder / "a.json").write_bytes('{"a": "é"}'.encode("utf-16"))
    wide = read(format="json", schema=schema_text(a="string"), fileEncoding="UTF-16")
    (folder / "a.json").write_bytes(b'\xef\xbb\xbf{"a": "x"}\r\n \t{"a": "y"}')
    marked = read(format="json", schema=schema_text(a="string"))

    assert (wide, marked) == ([{"a": "é"}], [{"a": "x"}, {"a": "y"}])


def test_blobs(read, folder):
    (folder / "a.bin").write_bytes(bytes(range(256)))
    (folder / "b.bin").write_bytes(b"")

    assert sorted(r["body"] for r in read(format="blob")) == [b"", bytes(range(256))]


@pytest.mark.slow
@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_columnar_files_that_differ_from_the_schema(read, folder, format):
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import orc

    write = pq.write_table if format == "parquet" else orc.write_table
    one = pa.table(
        {"i": pa.array([1, 2], pa.int32()), "big": pa.array([3, 2**40]), "s": ["x", None]}
    )
    write(one, folder / f"a.{format}")

    wider = read(
        format=format,
        schema=schema_text(i="long", big="double", s=["string", "null"], new=["int", "null"]),
    )
    assert wider == [
        {"i": 1, "big": 3.0, "s": "x", "new": None},
        {"i": 2, "big": 2.0**40, "s": None, "new": None},
    ]
    for fields, expected in (
        ({"s": "string"}, "Field 's' is null"),
        ({"big": "int"}, "Field 'big' must be of type int, but it is 1099511627776."),
        ({"new": "int"}, "field 'new' does not exist in the data"),
        ({"s": "int"}, "field 's' is of type string in the data"),
    ):
        with pytest.raises(StageError, match=expected):
            read(format=format, schema=schema_text(**fields))
    write(
        pa.table({"i": pa.array([9], pa.int32()), "new": pa.array([8], pa.int32())}),
        folder / f"b.{format}",
    )
    both = read(format=format, schema=schema_text(i="int", new=["int", "null"]))
    assert rows(both, "i") == [(1,), (2,), (9,)]


def test_avro_files_that_differ_from_the_schema(read, folder):
    import fastavro

    schema = {
        "type": "record",
        "name": "x.y.z",
        "fields": [
            {"name": "i", "type": "int"},
            {"name": "u", "type": ["null", "string", "int"]},
            {"name": "s", "type": ["null", "string"]},
        ],
    }
    rows_written = [{"i": 1, "u": "t", "s": None}, {"i": 2, "u": 3, "s": "x"}]
    with (folder / "a.avro").open("wb") as file:
        fastavro.writer(file, schema, rows_written, codec="deflate")
    with (folder / "b.avro").open("wb") as file:
        fastavro.writer(file, schema, [])

    found = read(
        format="avro", schema=schema_text(i="long", u=["string", "int", "null"], n=["int", "null"])
    )
    assert found == [{"i": 1, "u": "t", "n": None}, {"i": 2, "u": 3, "n": None}]
    with pytest.raises(StageError, match="Field 's' is null.*a.avro; records 1 to"):
        read(format="avro", schema=schema_text(s="string"))
    (folder / "c.avro").write_text("no avro")
    with pytest.raises(StageError, match="c.avro' cannot be read as Avro"):
        read(format="avro", schema=schema_text(i="long"))


def test_nothing_to_read(read, folder):
    (folder / "_SUCCESS").write_text("")
    for properties, expected in (
        ({"path": "missing"}, "missing' here, does not exist"),
        ({"path": "in/*.csv"}, "matches no file"),
        ({}, "holds no file to read"),
    ):
        with pytest.raises(StageError, match=expected) as failure:
            read(**properties)
        assert "ignoreNonExistingFolders" in failure.value.corrective_action
        assert read(ignoreNonExistingFolders="true", **properties) == []


@pytest.mark.slow
def test_sheets(read, folder):
    book = openpyxl.Workbook()
    book.active.append(["id", "name"])
    book.active.append([1.5, "x"])
    book.save(folder / "a.xlsx")
    schema = schema_text(id=["double", "null"], name=["string", "null"], file="string")
    found = read(format="xls", schema=schema, skipHeader="true", pathField="file")
    assert found == [{"id": 1.5, "name": "x", "file": f"file:{folder}/a.xlsx"}]
    assert read(format="xls", skipHeader="true") == [{"id": 1.5, "name": "x"}]


@pytest.mark.slow
def test_each_task_gets_the_header(read, folder):
    (folder / "a.csv").write_text("id,name\n" + "".join(f"{i},x\n" for i in range(9)))
    (folder / "b.csv").write_text("id,name\n10,y\n")
    (folder / "0.csv").write_text("")

    given = {"format": "text", "copyHeader": "true", "pathField": "file", "filenameOnly": "true"}
    lines = read(maxSplitSize="20", schema=schema_text(body="string", file="string"), **given)

    # The parts of a.csv begin with the header, and so does b.csv, and no part has it as a line of another.
    bodies = [line["body"] for line in lines]
    headers = [line["file"] for line in lines if line["body"] == "id,name"]
    assert sorted(body for body in bodies if body != "id,name") == sorted(
        [*(f"{i},x" for i in range(9)), "10,y"]
    )
    assert headers.count("a.csv") == 3
    assert headers.count("b.csv") == 1
    single = read(path="in/b.csv", **given, schema=schema_text(body="string", file="string"))
    assert [line["body"] for line in single] == ["id,name", "10,y"]
