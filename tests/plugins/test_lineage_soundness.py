"""Lineage is sound: what it does not connect with a field stays when the values of the field change."""

from __future__ import annotations

import gzip
import inspect
import random
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hierarchy_to_relational.hierarchy import HierarchyToRelational

from localcdap.api import BatchSink, ErrorTransform, Plugin, Schema, Type
from localcdap.api.lineage import StageLineage
from localcdap.api.plugin import Grain
from localcdap.testing import PipelineTester, StageTester, artifact_ref
from localcdap.testing.records import StageOutput
from tests.conftest import REPOSITORY
from tests.plugins.test_lineage import CASES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLUGINS = REPOSITORY / "plugins_dir"
Rows = dict[str, list[dict[str, Any]]]
"""Records by input stage."""

TEXTS = [
    "a",
    "b",
    "ab",
    "12",
    '{"a": "x"}',
    "1,x,y",
    "x,y,z",
    "YWI=",
    "<a><b>1</b></a>",
    "<a><b>2</b><b>3</b></a>",
    '1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 23 "-" "x"',
]
VALUES: dict[Type, list[Any]] = {
    Type.STRING: TEXTS,
    Type.BYTES: [gzip.compress(text, mtime=0) for text in (b"a", b"ab")] + [b"a"],
    Type.INT: [0, 1, 2, 7],
    Type.LONG: [0, 1, 2, 2**40],
    Type.DOUBLE: [0.5, 1.5, 9.0],
}
LARGEST = 9
RECORD_CASES = [
    case
    for case in CASES
    if not issubclass(case[0], BatchSink | ErrorTransform) and case[0].grain() is Grain.RECORD
]
SPARK_CASES = [
    case
    for case in CASES
    if case[0].grain() is Grain.DATAFRAME
    and not issubclass(case[0], BatchSink)
    and case[0] is not HierarchyToRelational  # random parents and children have cycles
]


def make_rows(schemas: Mapping[str, Schema], chance: random.Random, count: int = LARGEST) -> Rows:
    return {
        stage: [
            {field.name: chance.choice(VALUES[field.schema.type]) for field in schema}
            for _ in range(count)
        ]
        for stage, schema in schemas.items()
    }


def change(rows: Rows, stage: str, field: str, schema: Schema, chance: random.Random) -> Rows:
    found = schema.field(field)
    assert found is not None
    values = VALUES[found.schema.type]
    return rows | {stage: [row | {field: chance.choice(values)} for row in rows[stage]]}


def find_unaffected(lineage: StageLineage, stage: str, field: str) -> list[str]:
    """The output fields that a field has no influence on; none where it decides about the records."""
    reached = {
        edge.field
        for edge in lineage.edges
        if edge.source == field and edge.stage in (None, stage) and edge.dataset is None
    }
    return [] if None in reached else [name for name in lineage.outputs if name not in reached]


def project(records: list[dict[str, Any]], names: list[str]) -> list[str]:
    return sorted(repr([record.get(name) for name in names]) for record in records)


def list_emitted(output: StageOutput) -> list[dict[str, Any]]:
    return [*output.records, *(each for records in output.ports.values() for each in records)]


def find_artifact(plugin: type[Plugin]) -> Path:
    return PLUGINS / Path(inspect.getfile(plugin)).relative_to(PLUGINS).parts[0]


def to_inputs(inputs: Any) -> dict[str, Schema]:
    return {"input": inputs} if isinstance(inputs, Schema) else dict(inputs)


def name_case(value: Any) -> str:
    return getattr(value, "__name__", "")


def run_records(stage: StageTester, records: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Return what a stage emits; None when the run fails, after which nothing can be compared."""
    try:
        return list_emitted(stage.run(records))
    except Exception:
        return None


@pytest.mark.parametrize(("plugin", "properties", "inputs", "_"), RECORD_CASES, ids=name_case)
def test_records(plugin: type[Plugin], properties: dict[str, str], inputs: Any, _: Any) -> None:
    stage = StageTester(plugin, properties, inputs)
    lineage, chance = stage.trace(), random.Random(plugin.__name__)
    made = 0
    for number in range(30):
        # A single record that a parser does not take would make the whole run fail.
        rows = make_rows(to_inputs(inputs), chance, LARGEST if number < 10 else 1)
        for name, schema in to_inputs(inputs).items():
            before = run_records(stage, rows[name])
            if before is None:
                continue
            made += len(before)
            for field in schema.field_names:
                unaffected = find_unaffected(lineage, name, field)
                if not unaffected:
                    continue
                after = run_records(stage, change(rows, name, field, schema, chance)[name])
                if after is not None:
                    assert project(before, unaffected) == project(after, unaffected), field
    assert made, "without records the test would show nothing"


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(("plugin", "properties", "inputs", "_"), SPARK_CASES, ids=name_case)
def test_frames(
    spark: SparkSession,
    tmp_path: Path,
    plugin: type[Plugin],
    properties: dict[str, str],
    inputs: Any,
    _: Any,
) -> None:
    """All variants of the records are branches of one run."""
    schemas, chance = to_inputs(inputs), random.Random(plugin.__name__)
    type_name, name, _description = vars(plugin)["__localcdap_plugin__"]
    reference = artifact_ref(find_artifact(plugin), type_name, name)
    ports = ["null", "nonnull"] if type_name == "splittertransform" else []
    rows = make_rows(schemas, chance)
    variants = {
        (stage, field): change(rows, stage, field, schema, chance)
        for stage, schema in schemas.items()
        for field in schema.field_names
    }
    names = Schema.record("n", [("key", Schema.STRING), ("value", Schema.STRING)])
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.table("names", names, [{"key": each, "value": each * 2} for each in TEXTS], "key")
    outlets: dict[Any, list[str]] = {}
    for number, (key, variant) in enumerate([("", rows), *variants.items()]):
        renamed = {stage: f"{stage}{number}" for stage in schemas}
        for stage, schema in schemas.items():
            pipeline.source(renamed[stage], schema, variant[stage])
        given = {key: _rename(text, schemas, number) for key, text in properties.items()}
        pipeline.stage(f"stage{number}", reference, given, list(renamed.values()), ports=ports)
        outlets[key] = [f"stage{number}{f'.{port}' if port else ''}" for port in ports or [""]]
        for outlet in outlets[key]:
            pipeline.sink(f"out {outlet}", outlet)
    pipeline.run(counts=False)
    lineage = StageTester(plugin, properties, inputs, ports=ports).trace()
    compared = 0
    for key in variants:
        unaffected = find_unaffected(lineage, *key)
        for one, other in zip(outlets[""], outlets[key], strict=True):
            before, after = pipeline.read(f"out {one}"), pipeline.read(f"out {other}")
            assert before or outlet_is_empty(one), "without records the test would show nothing"
            if unaffected:
                compared += 1
                assert project(before, unaffected) == project(after, unaffected), key
    assert compared or plugin.__name__ == "Distinct"


def outlet_is_empty(outlet: str) -> bool:
    """Whether it is the port of records with nulls, of which there are none here."""
    return outlet.endswith(".null")


def _rename(text: str, schemas: Mapping[str, Schema], number: int) -> str:
    """Give the inputs of a joiner the names of the branch."""
    if len(schemas) > 1:
        for stage in schemas:
            text = text.replace(f"{stage}.", f"{stage}{number}.").replace(
                f"{stage}=", f"{stage}{number}="
            )
            text = ",".join(
                f"{stage}{number}" if part == stage else part for part in text.split(",")
            )
    return text
