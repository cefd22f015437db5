"""What the studio shows is what runs: for every shipped plugin the planned DataFrame has the propagated
schema. Running a stage through the kit makes the engine compare the two and fail where they differ.

A new plugin fails this test until it has a sample here, or runs with a server that has a test of its own.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Schema
from localcdap.artifacts.directories.artifact_paths import find_system_artifacts
from localcdap.artifacts.directories.contents import compute_digest
from localcdap.artifacts.loading import load_artifact
from localcdap.engine.local.launch import find_spark_home
from localcdap.runs.preview.model import DebugRequest, GivenRecords
from localcdap.testing import artifact_ref, run_stage
from localcdap.testing.instance import TemporaryInstance
from tests.plugins.core.workbooks import write_workbook
from tests.plugins.database.support import DATABASE
from tests.plugins.hub.properties import DATES, HUB_PROPERTIES
from tests.plugins.pdf.documents import write_pdf
from tests.plugins.sample_tables import PARTITIONS, TWO, OneTable, avro_file, parquet_file
from tests.plugins.samples import ONE_BYTES, ONE_NULLABLE, ONE_TEXT, RECORDS, TEXT, WIDE, Sample
from tests.plugins.spark_models.properties import NEEDS_A_MODEL, PAIRS, TEXT_PROPERTIES, WORDS
from tests.plugins.transform.encryption_keys import ENCRYPTED, KEYSTORE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from localcdap.host import Cdap
    from localcdap.testing.pipeline import StageRun

PLUGINS = Path(__file__).resolve().parents[2] / "plugins_dir"
LONG_AGO_S = 1_421_786_520
(DERBY_JAR,) = (find_spark_home() / "jars").glob("derby-*.jar")
PLACES = {"gs://bucket": "bucket", "s3a://bucket": "bucket", "jdbc://derby": str(DERBY_JAR)}
ON_WIDE = {"in": (WIDE, RECORDS)}
NEEDS_A_SERVER = {
    (type, name)
    for type in ("batchsource", "batchsink")
    for name in (
        *("Mysql", "Postgres", "CloudSQLMySQL", "CloudSQLPostgreSQL", "SqlServer", "Oracle"),
        "Kafka",
        "FTP",
    )
} - {("batchsink", "FTP")} | {("batchsink", "GooglePublisher")}
"""Those of databases differ from Database by their URL alone; database/test_real_servers.py runs those of
MySQL and PostgreSQL at real servers. kafka/test_kafka_batch.py runs Kafka, ftp/test_ftp_source.py FTP, and
cloud/test_publisher.py GooglePublisher, which needs the host of an instance."""


def make_timed_sample(partition: Callable[[Path], object]) -> Sample:
    return Sample({"name": "t", "duration": "9999d", "schema": TWO}, partition=partition)


def text(*bodies: str) -> Mapping[str, tuple[Schema, list[dict[str, Any]]]]:
    return {"in": (TEXT, [{"body": body} for body in bodies])}


SAMPLES: dict[tuple[str, str], Sample] = {
    ("batchsource", "File"): Sample(
        {"referenceName": "r", "path": "in.csv", "format": "csv", "schema": TWO},
        files={"in.csv": "x,1\ny,\n"},
    ),
    ("batchsource", "GCSFile"): Sample(
        {"path": "gs://bucket/in.csv", "format": "csv", "schema": TWO},
        files={"bucket/in.csv": "x,1\ny,\n"},
    ),
    ("batchsource", "S3"): Sample(
        {"referenceName": "r", "path": "s3a://bucket/in.csv", "format": "csv", "schema": TWO},
        files={"bucket/in.csv": "x,1\ny,\n"},
    ),
    ("batchsource", "BigQueryTable"): Sample(
        {"dataset": "d", "table": "t", "filter": "a IS NOT NULL", "schema": TWO}
    ),
    ("batchsink", "BigQueryTable"): Sample({"dataset": "d", "table": "t"}, ON_WIDE),
    ("batchsink", "BigQueryMultiTable"): Sample(
        {"dataset": "d", "splitField": "name"},
        ON_WIDE,
        arguments={"multisink.ann": str(Schema.record("r", [("id", Schema.INT)]))},
    ),
    ("batchsink", "GCSMultiFiles"): Sample(
        {"path": "gs://bucket/many", "format": "json", "splitField": "name"},
        ON_WIDE,
        arguments={"multisink.ann": str(Schema.record("r", [("id", Schema.INT)]))},
    ),
    **{
        ("batchsink", f"GCSMulti{name}"): Sample(
            {"referenceName": "r", "path": "gs://bucket/o", "bucket": "b", "splitField": "name"},
            ON_WIDE,
            arguments={"multisink.db:ann": str(Schema.record("r", [("id", Schema.INT)]))},
        )
        for name in ("Avro", "Format", "Formats")
    },
    ("batchsink", "GCSText"): Sample(
        {"bucket": "bucket", "path": "texts", "type": "Json"}, ON_WIDE
    ),
    ("batchsource", "MongoDB"): Sample(
        {
            "referenceName": "r",
            "host": "h",
            "database": "d",
            "collection": "c",
            "schema": ONE_NULLABLE,
        }
    ),
    ("batchsink", "MongoDB"): Sample(
        {"referenceName": "r", "host": "h", "database": "d", "collection": "c"}, text("a document")
    ),
    ("batchsink", "Firestore"): Sample(
        {"referenceName": "r", "collection": "c"}, text("a document")
    ),
    ("batchsink", "GCS"): Sample({"path": "gs://bucket/out", "format": "json"}, ON_WIDE),
    ("batchsink", "S3"): Sample(
        {"referenceName": "r", "path": "s3a://bucket/out", "format": "parquet"}, ON_WIDE
    ),
    **{
        ("batchsink", name): Sample({"basePath": "s3a://bucket/out", "schema": str(WIDE)}, ON_WIDE)
        for name in ("S3Avro", "S3BatchSink", "S3Parquet")
    },
    **{
        ("batchsource", f"TPFS{name}"): make_timed_sample(write)
        for name, write in PARTITIONS.items()
    },
    ("batchsource", "SnapshotAvro"): Sample({"name": "t", "schema": TWO}, partition=avro_file),
    ("batchsource", "SnapshotParquet"): Sample(
        {"name": "t", "schema": TWO}, partition=parquet_file
    ),
    ("batchsource", "SnapshotText"): Sample(
        {"name": "t"}, partition=lambda path: path.write_text("a line\n")
    ),
    ("batchsource", "Stream"): Sample(
        {"name": "s", "duration": "9999d", "format": "csv", "schema": TWO},
        files={"streams/default/s/a.csv": "x,1\ny,2\n"},
    ),
    **{
        ("batchsink", name): Sample({"name": "t"}, ON_WIDE)
        for name in ("TPFSAvro", "TPFSParquet", "SnapshotAvro", "SnapshotParquet")
    },
    **{
        ("batchsink", name): Sample({"name": "t"}, {"in": (Schema.parse_record(TWO), [{"a": "x"}])})
        for name in ("TPFSOrc", "SnapshotText")
    },
    ("batchsource", "Table"): Sample({"name": "t", "schema": TWO}),
    ("batchsource", "KVTable"): Sample({"name": "t"}),
    ("batchsource", "Firestore"): Sample(
        {
            "referenceName": "r",
            "collection": "c",
            "schema": ONE_NULLABLE,
        }
    ),
    ("batchsource", "Database"): Sample(
        DATABASE
        | {
            "importQuery": "SELECT 'x' AS a, 1 AS b FROM sysibm.sysdummy1",
            "columnNameCase": "Lower",
            "schema": TWO,
        }
    ),
    ("batchsource", "MultiTableDatabase"): Sample(
        DATABASE
        | {
            "referenceName": "r",
            "dataSelectionMode": "sql-statements",
            "sqlStatements": "SELECT 'x' AS a, 1 AS b FROM sysibm.sysdummy1",
        }
    ),
    ("batchsink", "Database"): Sample(
        DATABASE | {"tableName": "t"}, {"in": (Schema.parse_record(TWO), [{"a": "x", "b": 1}])}
    ),
    ("batchsource", "XMLReader"): Sample(
        {
            "referenceName": "r",
            "path": "in.xml",
            "nodePath": "/x/a",
            "reprocessingRequired": "Yes",
        },
        files={"in.xml": "<x><a>1</a><a>2</a></x>"},
    ),
    ("batchsource", "Excel"): Sample(
        {
            "referenceName": "r",
            "filePath": "filesets/default/t/*/part",
            "sheetValue": "s",
            "outputSchema": "A:string,B:int",
        },
        partition=lambda path: write_workbook(path, {"s": [["x", 1]]}),
    ),
    ("batchsink", "File"): Sample(
        {"referenceName": "r", "path": "out", "format": "parquet"}, ON_WIDE
    ),
    ("batchsink", "Table"): Sample(
        {"name": "t", "schema.row.field": "a"},
        {"in": (Schema.parse_record(TWO), [{"a": "x", "b": 1}, {"a": "y"}])},
    ),
    ("batchsink", "KVTable"): Sample(
        {"name": "t", "key.field": "raw", "value.field": "name"}, {"in": (WIDE, RECORDS[:1])}
    ),
    ("batchsink", "Cube"): Sample(
        {
            "name": "c",
            "dataset.cube.aggregations": "by:name,flag",
            "cubeFact.timestamp.field": "at",
            "cubeFact.measurements": "price:GAUGE;big:COUNTER",
        },
        {"in": (WIDE, RECORDS[:1])},
    ),
    ("batchsink", "Trash"): Sample({"referenceName": "r"}, ON_WIDE),
    ("batchsink", "FailPipeline"): Sample({"referenceName": "r"}, {"in": (WIDE, [])}),
    ("transform", "Placeholder"): Sample({"schema": ONE_TEXT}, ON_WIDE),
    ("transform", "RecipeRows"): Sample(
        {"numberField": "id", "directives": "uppercase :name", "schema": ONE_TEXT}, ON_WIDE
    ),
    ("transform", "Projection"): Sample(
        {"drop": "raw", "convert": "id:long,price:string", "rename": "name:label"}, ON_WIDE
    ),
    ("transform", "JavaScript"): Sample({"script": "function transform(i, e){e.emit(i)}"}, ON_WIDE),
    ("transform", "Script"): Sample(
        {"script": "function transform(input, context) { return input; }"}, ON_WIDE
    ),
    ("transform", "ScriptFilter"): Sample(
        {"script": "function shouldFilter(input, context) { return input.id > 7; }"}, ON_WIDE
    ),
    ("transform", "Validator"): Sample(
        {
            "validators": "core",
            "validationScript": "function isValid() { return {isValid: true}; }",
        },
        ON_WIDE,
    ),
    ("transform", "PythonEvaluator"): Sample(
        {"script": "def transform(record, emitter, context):\n    emitter.emit(record)"}, ON_WIDE
    ),
    ("transform", "Wrangler"): Sample(
        {
            "field": "*",
            "precondition": "id > 7",
            "directives": "uppercase name\nset-column :more exp:{id + 1}\ndrop raw,either\n"
            "filter-row-if-true price > 100\nfill-null-or-empty name -\ncut-character name initial 1",
        },
        ON_WIDE,
    ),
    ("transform", "CSVParser"): Sample(
        {"field": "body", "format": "DEFAULT", "schema": TWO}, text("x,1", 'y,"2"')
    ),
    ("transform", "JSONParser"): Sample(
        {"field": "body", "mapping": "a:$.p.a,b:$.b", "schema": TWO},
        text('{"p": {"a": "x"}, "b": 1}'),
    ),
    ("sparkcompute", "NGramTransform"): Sample(PAIRS, WORDS),
    ("transform", "CSVFormatter"): Sample({"format": "EXCEL", "schema": ONE_TEXT}, ON_WIDE),
    ("transform", "JSONFormatter"): Sample({"schema": ONE_TEXT}, ON_WIDE),
    ("transform", "Hasher"): Sample({"hash": "SHA256", "fields": "name"}, ON_WIDE),
    ("transform", "DateTransform"): Sample(DATES, text("2026")),
    ("transform", "Encryptor"): Sample(KEYSTORE | {"encryptFields": "body"}, text("x")),
    ("transform", "Decryptor"): Sample(
        KEYSTORE | {"decryptFields": "body", "schema": ONE_TEXT},
        {"in": (Schema.parse_record(ONE_BYTES), [{"body": ENCRYPTED}])},
    ),
    ("transform", "CloneRecord"): Sample({"copies": "3"}, ON_WIDE),
    ("transform", "Encoder"): Sample({"encode": "body:BASE64", "schema": ONE_TEXT}, text("x")),
    ("transform", "Decoder"): Sample({"decode": "body:HEX", "schema": ONE_TEXT}, text("78")),
    ("transform", "Compressor"): Sample(
        {"compressor": "body:GZIP", "schema": ONE_BYTES}, text("x", "y")
    ),
    ("transform", "Decompressor"): Sample(
        {"decompressor": "body:GZIP", "schema": ONE_TEXT},
        {"in": (Schema.parse_record(ONE_BYTES), [{"body": gzip.compress(b"x")}])},
    ),
    ("transform", "PDFExtractor"): Sample(
        {"sourceFieldName": "body", "continueOnError": "false"},
        {"in": (Schema.parse_record(ONE_BYTES), [{"body": write_pdf("x", Title="t")}])},
    ),
    ("transform", "XMLParser"): Sample(
        {"input": "body", "xPathMappings": "a:/x/a", "fieldTypeMapping": "a:int"},
        text("<x><a>1</a></x>"),
    ),
    ("transform", "XMLMultiParser"): Sample(
        {"field": "body", "xPath": "/x/r", "schema": TWO}, text("<x><r><a>1</a></r></x>")
    ),
    ("transform", "XMLToJSON"): Sample(
        {"inputField": "body", "outputField": "json_str"}, text("<x><a>1</a></x>")
    ),
    ("transform", "LogParser"): Sample(
        {"inputName": "body", "logFormat": "CLF"},
        text('1.2.3.4 - - [05/Nov/2014:10:11:12 +0100] "GET / HTTP/1.1" 200 5 "-" "-"'),
    ),
    ("transform", "ValueMapper"): Sample(
        {"mapping": "name:t:label", "defaults": "name:unknown"}, ON_WIDE
    ),
    ("transform", "Normalize"): Sample(
        {
            "fieldMapping": "id:id",
            "fieldNormalizing": "name:type:value,price:type:value",
            "outputSchema": json.dumps(
                Schema.record("n", [(f, Schema.STRING) for f in ("id", "type", "value")]).to_json()
            ),
        },
        ON_WIDE,
    ),
    ("batchaggregator", "GroupByAggregate"): Sample(
        {
            "groupByFields": "flag",
            "aggregates": "n:count(*),ids:sum(id),mean:avg(price),all:collectList(name),"
            "most:max(amount),different:countDistinct(name)",
        },
        ON_WIDE,
    ),
    ("batchaggregator", "Sampling"): Sample(
        {"samplingType": "Systematic", "sampleSize": "2", "totalRecords": "2", "random": "1"},
        ON_WIDE,
    ),
    ("batchaggregator", "Distinct"): Sample({"fields": "flag,name"}, ON_WIDE),
    ("batchaggregator", "Deduplicate"): Sample(
        {"uniqueFields": "flag", "filterOperation": "id:max"}, ON_WIDE
    ),
    ("batchaggregator", "RowDenormalizer"): Sample(
        {"keyField": "a", "nameField": "n", "valueField": "v", "outputFields": "x,y"},
        {
            "in": (
                Schema.record("kv", [(f, Schema.STRING) for f in ("a", "n", "v")]),
                [{"a": "1", "n": "x", "v": "2"}],
            )
        },
    ),
    **{each: Sample(p, ON_WIDE) for each, p in (HUB_PROPERTIES | TEXT_PROPERTIES).items()},
    ("batchjoiner", "Joiner"): Sample(
        {
            "joinKeys": "left.id=right.id",
            "requiredInputs": "left",
            "selectedFields": "left.id as id,left.either as either,right.price as price,right.name as name",
        },
        {"left": (WIDE, RECORDS), "right": (WIDE, RECORDS)},
    ),
    ("splittertransform", "UnionSplitter"): Sample({"unionField": "either"}, ON_WIDE),
    ("splittertransform", "NullFieldSplitter"): Sample({"field": "name"}, ON_WIDE),
    ("errortransform", "ErrorCollector"): Sample(
        {"messageField": "m", "codeField": "c", "stageField": "s"},
        {"in": (TEXT, [{"record": {"body": "x"}, "code": 1, "message": "bad"}])},
    ),
}


def list_shipped_plugins() -> dict[tuple[str, str], Path]:
    """The artifact of every shipped plugin that handles records, by type and name."""
    found = {}
    for place in find_system_artifacts(PLUGINS):
        for cls in load_artifact(str(place.path), compute_digest(place.path)):
            type, name, _ = cls.__localcdap_plugin__  # type: ignore[attr-defined]
            if type not in ("action", "condition", "postaction", "connector", "alertpublisher"):
                found[type, name] = place.path
    return found


SHIPPED = list_shipped_plugins()


def test_every_shipped_plugin_has_a_sample():
    assert set(SAMPLES) | NEEDS_A_SERVER | NEEDS_A_MODEL == set(SHIPPED)


Ran = Callable[[tuple[str, str]], "StageRun"]


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Runs the sample of a plugin on Spark, each once."""
    options = {
        "url": DATABASE["connectionString"],
        "query": "SELECT 1 AS one FROM sysibm.sysdummy1",
        "driver": "org.apache.derby.jdbc.EmbeddedDriver",
        "sessionInitStatement": "CREATE TABLE t (a VARCHAR(9), b INT)",
    }
    spark.read.format("jdbc").options(**options).load().collect()

    @cache
    def run(plugin: tuple[str, str]) -> StageRun:
        sample, folder = SAMPLES[plugin], tmp_path_factory.mktemp(plugin[1])
        for name, content in sample.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
            os.utime(folder / name, (LONG_AGO_S, LONG_AGO_S))
        if sample.partition is not None:
            place = folder / "filesets" / "default" / "t" / str(LONG_AGO_S * 1000)
            place.mkdir(parents=True)
            sample.partition(place / "part")
        return run_stage(
            spark,
            artifact_ref(SHIPPED[plugin], *plugin),
            sample.properties,
            sample.inputs,
            directory=folder,
            locations=PLACES,
            tables=None if plugin[0] == "batchsink" else OneTable(folder),
            arguments=sample.arguments,
        )

    return run


@pytest.mark.spark
@pytest.mark.parametrize("plugin", SAMPLES, ids=lambda p: f"{p[0]} {p[1]}")
def test_the_schema_shown_is_the_schema_run(ran: Ran, plugin: tuple[str, str]):
    sample, run = SAMPLES[plugin], ran(plugin)

    is_sink = plugin[0] == "batchsink"
    assert run.counts.in_ == sum(len(records) for _, records in sample.inputs.values())
    assert is_sink or run.counts.out > 0


@pytest.fixture(scope="module")
def cdap(cdap_engine_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cdap]:
    """The services of an instance that has the shipped plugins."""
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as instance:
        places = (f'"{foreign}" = "{folder}"' for foreign, folder in PLACES.items())
        instance.settings("\n".join(["[locations]", *places]))
        _make_table(instance)
        yield instance.cdap


def _make_table(instance: TemporaryInstance) -> None:
    """A table 't' as :class:`OneTable` has it."""
    (instance.home.path / "in.csv").write_text("x,1\ny,\n")
    source = {"referenceName": "r", "path": "in.csv", "format": "csv", "schema": TWO}
    sink = {"name": "t", "schema.row.field": "a"}
    stages = [("batchsource", "File", source), ("batchsink", "Table", sink)]
    plugins = [{"type": type, "name": name, "properties": p} for type, name, p in stages]
    named = [{"name": each["name"], "plugin": each} for each in plugins]
    config = {"stages": named, "connections": [{"from": "File", "to": "Table"}]}
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    assert instance.run({"name": "p", "artifact": artifact, "config": config}).error is None


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    "plugin", [p for p, sample in SAMPLES.items() if sample.inputs], ids=lambda p: f"{p[0]} {p[1]}"
)
def test_a_stage_that_is_debugged_gives_what_it_gives_in_a_run(
    ran: Ran, cdap: Cdap, plugin: tuple[str, str]
):
    sample = SAMPLES[plugin]
    stage = {"type": plugin[0], "name": plugin[1], "properties": sample.properties}
    given = [
        GivenRecords(source, encode_json_record(records), schema.to_json())
        for source, (schema, records) in sample.inputs.items()
    ]

    answer = cdap.debugging.debug(DebugRequest({"name": "stage", "plugin": stage}, given))

    assert answer.errors == []
    if plugin[0] == "batchsink":
        assert answer.output is not None
        assert len(answer.output.records) == len(given[0].records)
        return
    run = ran(plugin)
    output = answer.output.records if answer.output else []
    errors = [(e.record, e.code, e.message) for e in answer.error_records]
    ports = {port: each.records for port, each in answer.ports.items()}
    assert in_any_order(output) == in_any_order(encode_json_record(run.records))
    assert ports == encode_json_record(run.ports)
    assert errors == [
        (encode_json_record(e["record"]), e["code"], e["message"]) for e in run.errors
    ]


def in_any_order(records: list[Any]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in records)
