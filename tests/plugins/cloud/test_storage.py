"""GCSFile, GCS and S3: paths of the cloud, and the folders that stand for buckets."""

from __future__ import annotations

import json
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from localcdap.api import Schema
from localcdap.api.failures import ValidationFailure
from localcdap.api.pipeline import PipelineValidation
from localcdap.pipeline.service import PipelineRequest
from localcdap.plugin_lib.files.inputs import get_base_folders
from localcdap.plugin_lib.files.readers.lines import PathField
from localcdap.testing.instance import TemporaryInstance

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}],
    }
)
WITH_PATH = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [{"name": name, "type": "string"} for name in "abc"],
    }
)
SETTINGS = """
[locations]
"gs://known" = "data/known"
"gs://known/deep/er" = "elsewhere"
"s3://known" = "s3"
"""


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        made.settings(SETTINGS)
        yield made


def pipeline(source: dict[str, Any], sink: dict[str, Any]) -> str:
    stages = [{"name": "In", "plugin": source}, {"name": "Out", "plugin": sink}]
    config = {"stages": stages, "connections": [{"from": "In", "to": "Out"}]}
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    return json.dumps({"name": "p", "artifact": artifact, "config": config})


def gcs_source(**more: str) -> dict[str, Any]:
    properties = {"path": "gs://known/in", "format": "csv", "schema": SCHEMA, "project": "p"} | more
    return {"type": "batchsource", "name": "GCSFile", "properties": properties}


def gcs_sink(**more: str) -> dict[str, Any]:
    properties = {"path": "gs://known/out", "format": "json", "referenceName": "o"} | more
    return {"type": "batchsink", "name": "GCS", "properties": properties}


def s3(type: str, path: str) -> dict[str, Any]:
    properties = {"referenceName": "r", "path": path, "format": "csv", "schema": SCHEMA}
    return {"type": type, "name": "S3", "properties": properties}


def validate(
    instance: TemporaryInstance, source: dict[str, Any], sink: dict[str, Any]
) -> PipelineValidation:
    return instance.cdap.studio.validate_pipeline(PipelineRequest(pipeline(source, sink)))


def describe(failure: ValidationFailure) -> tuple[str | None, str, str | None, list[str]]:
    places = [cause.attributes.get("stageConfig", "") for cause in failure.causes]
    return failure.stage, failure.message, failure.corrective_action, places


def test_known_buckets_are_valid_and_say_so_without_warnings(instance):
    answer = validate(instance, gcs_source(), gcs_sink(suffix="yyyy-MM-dd", location="us"))
    assert (answer.errors, answer.warnings) == ([], [])


def test_unknown_buckets_are_failures_that_name_the_line_to_add(instance):
    answer = validate(
        instance, gcs_source(path="gs://other/in"), s3("batchsink", "s3a://known/out")
    )
    action = "Say where it is under [locations] in localcdap.toml: "
    assert [describe(failure) for failure in answer.errors] == [
        (
            "In",
            "'gs://other/in' does not lie on this machine.",
            f'{action}"gs://other" = "data/folder"',
            ["path"],
        ),
        (
            "Out",
            "'s3a://known/out' does not lie on this machine.",
            f'{action}"s3a://known" = "data/folder"',
            ["path"],
        ),
    ]


@pytest.mark.parametrize("path", ["gs://Bucket/x", "gs://", "gs://a b/x", "/"])
def test_what_is_no_bucket_is_reported(instance, path):
    answer = validate(instance, gcs_source(path=path), gcs_sink())
    assert [failure.message for failure in answer.errors] == [
        f"Invalid bucket name in path '{path}'."
    ]


def test_what_is_no_path_of_s3_is_reported(instance):
    answer = validate(instance, s3("batchsource", "known/in"), gcs_sink())
    assert [failure.message for failure in answer.errors] == ["Invalid path 'known/in'."]


def test_encrypted_objects_are_refused_and_macros_are_waited_for(instance):
    answer = validate(
        instance, gcs_source(path="${in}", encrypted="true"), gcs_sink(path="gs://${bucket}/x")
    )
    assert [failure.message for failure in answer.errors] == [
        "Encrypted objects cannot be read here."
    ]


def test_names_of_files_that_are_not_given_are_warned_of(instance):
    answer = validate(instance, gcs_source(), gcs_sink(outputFileNameBase="orders"))
    assert [(each.stage, each.message) for each in answer.warnings] == [
        ("Out", "The files are not called 'orders…' here: their names begin with 'part'.")
    ]
    assert validate(instance, gcs_source(), gcs_sink(outputFileNameBase="part")).warnings == []


def test_their_descriptions_say_that_they_are_local(instance):
    for type, name in (("batchsource", "GCSFile"), ("batchsink", "GCS"), ("batchsink", "S3")):
        detail = instance.cdap.artifacts.get_plugin("default", type, name)
        assert detail.description.startswith("Local:")
        assert "mode_native" in detail.capabilities


FILE_SET = {"basePath": "s3://known/sets", "accessID": "i", "accessKey": "k", "schema": SCHEMA}
"""What S3BatchSink of CDAP 3.2 and its successors have in common."""


def test_older_sinks_of_s3_have_a_format_each(instance):
    def failures(name: str, **more: str) -> list[str]:
        sink = {"type": "batchsink", "name": name, "properties": FILE_SET | more}
        return [failure.message for failure in validate(instance, gcs_source(), sink).errors]

    assert [failures(name) for name in ("S3Avro", "S3BatchSink", "S3Parquet")] == [[], [], []]
    assert failures("S3Parquet", basePath="s3n://other/x", schema=WITH_PATH) == [
        "Field 'a' has type mismatch with input schema type 'int'.",
        "Field 'c' is present in output schema but not present in input schema.",
        "'s3n://other/x' does not lie on this machine.",
    ]
    assert failures("S3Avro", schema="") == ["Required property 'schema' has no value."]


@pytest.mark.spark
def test_older_sinks_of_s3_write_into_a_folder_of_the_time(instance, cdap_engine_directory):
    given = instance.home.path / "data" / "known" / "sets"
    given.mkdir(parents=True)
    (given / "f.csv").write_text("1,x\n2,y\n")
    properties = FILE_SET | {"pathFormat": "'at'"}
    sink = {"type": "batchsink", "name": "S3Parquet", "properties": properties}
    run = instance.run(pipeline(gcs_source(path="gs://known/sets"), sink))
    assert run.error is None
    (folder,) = (instance.home.path / "s3" / "sets").iterdir()
    assert folder.name == "at"
    assert pq.read_table(folder).to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


@pytest.mark.spark
def test_records_go_from_bucket_to_bucket(instance, cdap_engine_directory):
    given = instance.home.path / "elsewhere" / "in"
    given.mkdir(parents=True)
    (given / "f.csv").write_text("1,x\n2,y\n")
    document = pipeline(
        gcs_source(path="known/deep/er/in/*.csv", pathField="c", schema=WITH_PATH),
        s3("batchsink", "s3://known/out"),
    )

    run = instance.run(document)

    assert run.error is None
    files = sorted((instance.home.path / "s3" / "out").iterdir())
    shown = "gs://known/deep/er/in/f.csv"
    assert "".join(file.read_text() for file in files) == f"1,x,{shown}\n2,y,{shown}\n"


def test_the_path_field_has_the_name_that_the_file_has_in_the_cloud():
    folder = get_base_folders("/data//known/in/*.txt", "gs://known/in/*.txt")
    path = PathField("c", filename_only=False, folder=folder)
    assert path.format_path("/data/known/in/a b.txt") == "gs://known/in/a b.txt"
    assert path.format_path("/data//known/in/a.txt") == "gs://known/in/a.txt"
    assert path.format_path("/elsewhere/a.txt") == "file:/elsewhere/a.txt"
    assert PathField("c", filename_only=True, folder=folder).format_path("/data/known/in/a") == "a"


def text_sink(**more: str) -> dict[str, Any]:
    properties = {"bucket": "known", "path": "/texts", "type": "Text Pipe Separated"} | more
    return {"type": "batchsink", "name": "GCSText", "properties": properties}


def test_text_files_have_a_type_and_a_bucket(instance):
    answer = validate(instance, gcs_source(), text_sink(type="Xml", bucket="other"))
    assert [failure.message for failure in answer.errors] == [
        "Invalid file type 'Xml'.",
        "'gs://other' does not lie on this machine.",
    ]


@pytest.mark.spark
def test_texts_are_written_into_the_bucket(instance, cdap_engine_directory):
    given = instance.home.path / "data" / "known" / "in"
    given.mkdir(parents=True)
    (given / "f.csv").write_text("1,x\n")
    assert instance.run(pipeline(gcs_source(), text_sink())).error is None
    files = list((instance.home.path / "data" / "known" / "texts").iterdir())
    assert "".join(file.read_text() for file in files) == "1|x\n"


def multi(**more: str) -> dict[str, Any]:
    given = {"path": "gs://known/multi", "format": "csv", "splitField": "b", "location": "us"}
    return {"type": "batchsink", "name": "GCSMultiFiles", "properties": given | more}


def test_several_folders_are_distinguished_by_a_text(instance):
    codec = {"referenceName": "r", "compressionCodec": "None", "delimiter": ",", "project": "p"}
    answer = validate(instance, gcs_source(), multi(suffix="yyyy-MM-dd-HH-mm", **codec))
    assert (answer.errors, answer.warnings) == ([], [])
    wrong = multi(splitField="a", format="xml", path="gs://other/x")
    assert [failure.message for failure in validate(instance, gcs_source(), wrong).errors] == [
        "Invalid format 'xml'. The value must be one of avro, csv, delimited, json, orc, parquet, tsv",
        "Field 'a' is not a string.",
        "'gs://other/x' does not lie on this machine.",
    ]


@pytest.mark.spark
def test_records_go_into_the_folders_that_arguments_name(instance, cdap_engine_directory):
    given = instance.home.path / "data" / "known" / "many"
    given.mkdir(parents=True)
    (given / "f.csv").write_text("1,x\n2,y\n3,x\n4,z\n5,\n")
    source = gcs_source(path="gs://known/many")

    def schema(**fields: Schema) -> str:
        return str(Schema.record("r", list(fields.items())))

    arguments = {
        "multisink.x": schema(a=Schema.LONG),
        "multisink.y": schema(b=Schema.STRING, a=Schema.INT.as_nullable),
        "multisink.none": schema(a=Schema.INT),
    }
    run = instance.run(pipeline(source, multi(format="parquet")), arguments)
    assert run.error is None
    assert run.stages["Out"].records_in == 5
    folder = instance.home.path / "data" / "known" / "multi"
    assert sorted(each.name for each in folder.iterdir()) == ["none", "x", "y"]
    x, y, none = (pq.read_table(folder / name) for name in ("x", "y", "none"))
    assert (x.to_pylist(), y.to_pylist(), none.num_rows) == (
        [{"a": 1}, {"a": 3}],
        [{"b": "y", "a": 2}],
        0,
    )
    assert str(x.schema.field("a").type) == "int64"

    other = {"multisink.x": schema(c=Schema.INT)}
    for given_arguments, reported in ((other, "'c' of folder 'x' is missing"), ({}, "no argument")):
        failed = instance.run(pipeline(source, multi(path="gs://known/no")), given_arguments)
        assert failed.error is not None
        assert reported in failed.error.message
    assert not (instance.home.path / "data" / "known" / "no").exists()


@pytest.mark.slow
@pytest.mark.spark
def test_all_records_are_written_with_a_flexible_schema(instance, cdap_engine_directory):
    given = instance.home.path / "data" / "known" / "flexible"
    given.mkdir(parents=True)
    (given / "f.csv").write_text("1,x\n2,y\n")
    sink = multi(path="gs://known/whole", format="json", allowFlexibleSchema="on")
    arguments = {"multisink.y": str(Schema.record("r", [("a", Schema.INT)]))}

    run = instance.run(pipeline(gcs_source(path="gs://known/flexible"), sink), arguments)

    assert run.error is None
    assert run.stages["Out"].records_in == 2
    folder = instance.home.path / "data" / "known" / "whole"
    rows = {each.name: [f.read_text() for f in each.iterdir()] for each in folder.iterdir()}
    assert rows == {"x": ['{"a":1,"b":"x"}\n'], "y": ['{"a":2,"b":"y"}\n']}

    (given / "f.csv").write_text("1,x\n2,\n")
    nameless = instance.run(pipeline(gcs_source(path="gs://known/flexible"), sink))
    assert nameless.error is not None
    assert "is empty in a record" in nameless.error.message


def former(name: str, **more: str) -> dict[str, Any]:
    given = {"path": "gs://known/old", "bucket": "known", "splitField": "b", "referenceName": "o"}
    return {"type": "batchsink", "name": name, "properties": given | more}


def test_former_sinks_of_folders_say_what_is_wrong(instance):
    right = former("GCSMultiFormat", codec="None", delimiter="\t", suffix="yyyy-MM-dd-HH-mm")
    assert validate(instance, gcs_source(), right).errors == []
    wrong = former("GCSMultiAvro", codec="GZip", path="known/old", splitField="a", suffix="bad")
    assert [failure.message for failure in validate(instance, gcs_source(), wrong).errors] == [
        "Path must start with gs://.",
        "Field 'a' is not a string.",
        "Codec 'GZip' cannot be used for the format 'avro'.",
        "Invalid suffix: Illegal pattern character 'b'.",
    ]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "more", "found"),
    [
        ("GCSMultiAvro", {"codec": "Snappy"}, None),
        ("GCSMultiFormats", {"outputFormat": "parquet", "codec": "GZip"}, None),
        ("GCSMultiFormat", {"delimiter": "|"}, "1|x\n"),
    ],
)
def test_former_sinks_write_folders(instance, cdap_engine_directory, name, more, found):
    given = instance.home.path / "data" / "known" / "before"
    given.mkdir(parents=True, exist_ok=True)
    (given / "f.csv").write_text("1,x\n2,y\n")
    schema = str(Schema.record("r", [("a", Schema.INT), ("b", Schema.STRING)]))
    arguments = {"multisink.db:x": schema, "multisink.y": schema}
    sink = former(name, path=f"gs://known/{name}", suffix="yyyy", **more)

    run = instance.run(pipeline(gcs_source(path="gs://known/before"), sink), arguments)

    assert run.error is None
    folder = instance.home.path / "data" / "known" / name
    assert [each.name[4:] for each in sorted(folder.iterdir())] == ["_db_x", "_y"]
    (file,) = next(each for each in folder.iterdir() if each.name.endswith("x")).iterdir()
    if found is not None:
        assert file.read_text() == found
    else:
        rows = (
            list(fastavro.reader(file.open("rb")))
            if name == "GCSMultiAvro"
            else pq.read_table(file).to_pylist()
        )
        assert rows == [{"a": 1, "b": "x"}]
