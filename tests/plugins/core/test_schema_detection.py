"""Schemas taken from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.api.schema import Schema
from localcdap.files.types import detect_column_type
from tests.plugins.core.support import configure, messages, record, schema_text


def detect(path: Path, **properties: str):
    given = {"referenceName": "r", "path": str(path)} | properties
    return configure("batchsource", "File", given, connected=True)


def test_delimited_values_suggest_types(tmp_path: Path):
    """The row of CDAP's FileTest: colorado, 100, 0.001, 1111111111111."""
    file = tmp_path / "a.csv"
    file.write_text(
        "state,n,x,big,flag,mixed,empty\ncolorado,100,0.001,1111111111111,true,1,\nutah,1,2,3,FALSE,x\n"
    )

    result = detect(file, format="csv", skipHeader="true", pathField="file")

    assert result.output_schema.same_shape(
        record(
            state="string",
            n="int",
            x="double",
            big="long",
            flag="boolean",
            mixed="string",
            empty=["string", "null"],
            file="string",
        )
    )


def test_names_overrides_and_samples(tmp_path: Path):
    file = tmp_path / "a.tsv"
    file.write_text("1\t2\n3\tx\n")

    result = detect(file, format="tsv", override="body_0:long,body_1:timestamp")
    sampled = detect(file, format="tsv", sampleSize="1")
    quoted = tmp_path / "q.csv"
    quoted.write_text('"a,b",1\n')

    assert result.output_schema.field("body_0").schema == Schema.LONG
    assert result.output_schema.field("body_1").schema == Schema.TIMESTAMP
    assert sampled.output_schema.field("body_1").schema == Schema.INT
    assert detect(quoted, format="csv", enableQuotedValues="true").output_schema.same_shape(
        record(body_0="string", body_1="int")
    )
    quoted.write_text('n,"m"\n"1",2\n')
    assert detect(
        quoted, format="csv", enableQuotedValues="true", skipHeader="true"
    ).output_schema.same_shape(record(n="string", m="int"))


@pytest.mark.parametrize(
    ("texts", "type"),
    [
        (["2147483647", "-2147483648"], "int"),
        (["2147483648"], "long"),
        (["-9223372036854775808"], "long"),
        (["9223372036854775808"], "string"),
        (["1", "2.5"], "double"),
        (["true", "1"], "boolean"),
        (["2024-01-01"], "string"),
        (["", "1"], ["int", "null"]),
        (["", " "], ["string", "null"]),
    ],
)
def test_the_narrowest_type_wins(texts, type):
    assert detect_column_type(texts) == record(v=type).field("v").schema


def test_json_objects_are_merged(tmp_path: Path):
    file = tmp_path / "a.json"
    file.write_text(
        '{"a": 1, "p": {"x": 1}, "l": [1, null]}\n{"a": 1.5, "b": "x", "p": {"y": true}, "l": []}\n'
    )

    schema = detect(file, format="json").output_schema

    assert schema.field("a").schema == Schema.DOUBLE
    assert schema.field("b").schema == Schema.STRING.as_nullable
    assert [f.name for f in schema.field("p").schema] == ["x", "y"]
    assert schema.field("l").schema.items == Schema.LONG.as_nullable


def test_files_that_know_their_schema(tmp_path: Path):
    import fastavro
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import orc

    table = pa.table(
        {
            "a": pa.array([1], pa.int32()),
            "t": pa.array([0], pa.timestamp("us", "UTC")),
            "l": pa.array([[1.5]], pa.list_(pa.float64())),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    orc.write_table(table.drop_columns("t"), tmp_path / "a.orc")
    avro = {
        "type": "record",
        "name": "ns.r",
        "fields": [
            {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
            {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
            {"name": "f", "type": {"type": "fixed", "name": "ns.f", "size": 2}},
        ],
    }
    with (tmp_path / "a.avro").open("wb") as file:
        fastavro.writer(file, avro, [])
    moment = {"type": "long", "logicalType": "timestamp-millis"}

    parquet = detect(tmp_path / "a.parquet", format="parquet").output_schema
    assert parquet.field("a").schema == Schema.INT.as_nullable
    assert parquet.field("t").schema == Schema.TIMESTAMP.as_nullable
    assert parquet.field("l").schema.non_nullable.items == Schema.DOUBLE.as_nullable
    assert detect(tmp_path / "a.orc", format="orc").output_schema.field_names == ["a", "l"]
    assert detect(tmp_path / "a.avro", format="avro").output_schema.same_shape(
        record(id="string", at=["null", moment], f="bytes")
    )


def test_what_cannot_be_detected_is_said(tmp_path: Path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "odd.csv").write_text("a b,c\n1,2\n")
    (tmp_path / "no.parquet").write_text("no")

    def only(name: str, **properties: str) -> str:
        (message,) = messages(detect(tmp_path / name, **properties))
        return message

    assert "Check if the data file has any rows" in only("empty.csv", format="csv")
    assert "does not exist" in only("missing.csv", format="csv")
    assert "cannot be taken from the file" in only("no.parquet", format="parquet")
    assert "Field x is not present" in only("odd.csv", format="csv", override="x:int")


@pytest.mark.parametrize(
    ("line", "properties", "names"),
    [
        # The cases of CDAP's DataTypeDetectorUtilsTest.
        ("column_A;column_B;column_C", {"delimiter": ";"}, "column_A column_B column_C"),
        ("column_A|column_B|column_C", {"delimiter": "|"}, "column_A column_B column_C"),
        (
            '"column_A";"column_B";"column_C"',
            {"delimiter": ";", "enableQuotedValues": "true"},
            "column_A column_B column_C",
        ),
        (
            '"column_A"|"column_B"|"column_C"',
            {"delimiter": "|", "enableQuotedValues": "true"},
            "column_A column_B column_C",
        ),
        ("John|Doe|27", {"delimiter": "|", "skipHeader": "false"}, "body_0 body_1 body_2"),
        ("John;Doe;27", {"delimiter": ";", "skipHeader": "false"}, "body_0 body_1 body_2"),
        (
            (
                '"column-1", "1column", "1234", " column#a", "", ",", " ", "_", "column_1", "column_1", '
                '"column_1_2", " s p a c e s ", "1!)@#*$%&!@"'
            ),
            {"enableQuotedValues": "true"},
            (
                "column_1 col_1column col_1234 column_a BLANK _ BLANK_2 __2 column_1_2 column_1_3 "
                "column_1_2_2 s_p_a_c_e_s col_1_"
            ),
        ),
        # A case of its own: the last name is blank.
        ("id,name,name,", {}, "id name name_2 BLANK"),
        ("Größe,\u00a0x,A,a", {}, "Gr_e _x A a_2"),
    ],
)
def test_names_of_columns(tmp_path: Path, line: str, properties: dict[str, str], names: str):
    (tmp_path / "a.txt").write_text(f"{line}\n{line}\n")
    given = {"format": "delimited", "skipHeader": "true"} | properties

    assert detect(tmp_path / "a.txt", **given).output_schema.field_names == names.split()


def test_quoted_text_is_split_as_it_is_read(tmp_path: Path):
    (tmp_path / "a.csv").write_text('a,b\n1,"x\ny"\n2,"z\n')
    given = {"format": "csv", "skipHeader": "true", "enableQuotedValues": "true"}

    lines = detect(tmp_path / "a.csv", **given, enableMultilineSupport="true", sampleSize="4")

    assert lines.output_schema.same_shape(record(a="int", b="string"))
    (message,) = messages(detect(tmp_path / "a.csv", **given))
    assert "unenclosed quote" in message


@pytest.mark.parametrize("plugin", ["File", "Excel"])
def test_missing_files_are_found(tmp_path: Path, plugin: str):
    (tmp_path / "in").mkdir()
    schema = schema_text(a="string")
    more = (
        {"format": "csv", "schema": schema}
        if plugin == "File"
        else {"filePattern": ".*", "sheet": "Sheet Number", "sheetValue": "0", "columnList": "A"}
    )
    name = "path" if plugin == "File" else "filePath"

    def check(path: str, **other: str) -> list[str]:
        result = configure(
            "batchsource",
            plugin,
            {"referenceName": "r", name: path} | more | other,
            connected=True,
            locations={"file:///moved": str(tmp_path)},
        )
        assert all(each.field == name for each in result.failures)
        return [f"{each.message} {each.corrective_action}" for each in result.failures]

    (missing,) = check("file:/moved/none.csv")
    assert (
        f"'file:/moved/none.csv', which is '{tmp_path}/none.csv' here, does not exist." in missing
    )
    assert f"'{name}' property, and [locations] in localcdap.toml." in missing
    (empty,) = check("/moved/in")
    assert "holds no file to read" in empty
    (tmp_path / "in" / "a").write_text("x\n")
    assert check("/moved/in") == []
    if plugin == "File":
        assert check("/moved/none", ignoreNonExistingFolders="true") == []
        assert "matches 'b'" in check("/moved/in", fileRegex="b")[0]


def test_a_field_of_json_that_no_type_holds_is_said(tmp_path: Path):
    file = tmp_path / "a.json"
    file.write_text('{"a": 1}\n{"a": null}\n{"a": "x"}\n')

    stage = detect(file, format="json")

    (failure,) = stage.failures
    assert "'a' (nullable string) must be a text or null, but is 1" in failure.message

    file.write_text('{"a": 1}\n{"a": "x"}\n')
    assert detect(file, format="json").output_schema.field("a").schema == Schema.STRING
