"""Pipeline documents in the shape that the CDAP studio exports."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any


def schema(name: str, **fields: str | list[str]) -> str:
    """A record schema as the JSON text that stands in a property."""
    listed = [{"name": field, "type": type} for field, type in fields.items()]
    return json.dumps({"type": "record", "name": name, "fields": listed})


def stage(name: str, type: str, plugin: str, **properties: str) -> dict[str, Any]:
    """A stage; its properties as keyword arguments, ``__`` for a dot."""
    return {
        "name": name,
        "plugin": {
            "name": plugin,
            "type": type,
            "label": name,
            "artifact": {"name": "core-plugins", "version": "[2.0.0,3.0.0)", "scope": "SYSTEM"},
            "properties": {key.replace("__", "."): text for key, text in properties.items()},
        },
    }


def pipeline(name: str, stages: list[dict[str, Any]], connections: list[tuple[str, str]]) -> Any:
    """A batch pipeline document."""
    return {
        "name": name,
        "artifact": {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"},
        "config": {
            "engine": "spark",
            "stages": stages,
            "connections": [{"from": source, "to": target} for source, target in connections],
        },
    }


def write(document: Any, path: Path) -> Path:
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


SALES = schema("sale", id="long", customer="int", product="string", quantity="int", price="double")


def sales_pipeline(source: Path, target: Path) -> Any:
    """CSV, projection, totals per customer, Parquet: relational stages only."""
    stages = [
        stage(
            "Sales",
            "batchsource",
            "File",
            referenceName="sales",
            path=str(source),
            format="csv",
            schema=SALES,
        ),
        stage("Slim", "transform", "Projection", keep="customer,quantity,price"),
        stage(
            "Totals",
            "batchaggregator",
            "GroupByAggregate",
            groupByFields="customer",
            aggregates="sales:count(*),quantity:sum(quantity),revenue:sum(price)",
        ),
        stage("Out", "batchsink", "File", referenceName="out", path=str(target), format="parquet"),
    ]
    return pipeline("sales", stages, [("Sales", "Slim"), ("Slim", "Totals"), ("Totals", "Out")])


RECIPE = (
    "parse-as-csv body , false",
    "drop body",
    "drop body_12",
    "fill-null-or-empty body_11 N/A",
    "uppercase body_17",
    "mask-number body_18 xxx###",
    "drop body_6",
    "drop body_7",
    "fill-null-or-empty body_5 N/A",
    "uppercase body_3",
    'filter-row-if-true body_9 =~ "CA"',
    "mask-number body_10 xxx##",
    "mask-shuffle body_4",
)
"""The directives of the original's page on performance."""
DROPPED = (6, 7, 12)


EXPECTATIONS = (
    {"rule": "not-null", "column": "body_5"},
    {"rule": "range", "column": "body_14", "min": "2020-01-01", "max": "2030-01-01"},
    {"rule": "regex", "column": "body_16", "pattern": "[^@]+@[^@]+"},
    {"rule": "in-set", "column": "body_9", "values": ["NY", "TX", "WA", "OR"]},
    {"rule": "row", "condition": "body_2 != body_3"},
)
UNIQUE: dict[str, Any] = {"rule": "unique", "columns": ["body_1"]}


def recipe_pipeline(source: Path, target: Path) -> Any:
    """Lines, Wrangler, Parquet."""
    fields = {f"body_{n}": ["string", "null"] for n in range(1, 19) if n not in DROPPED}
    stages = [
        stage(
            "Lines",
            "batchsource",
            "File",
            referenceName="lines",
            path=str(source),
            format="text",
            schema=schema("line", body="string"),
        ),
        stage(
            "Wrangler",
            "transform",
            "Wrangler",
            field="*",
            directives="\n".join(RECIPE),
            schema=schema("person", **fields),
        ),
        stage("Out", "batchsink", "File", referenceName="out", path=str(target), format="parquet"),
    ]
    stages[1]["plugin"]["artifact"]["name"] = "wrangler-transform"
    stages[1]["plugin"]["artifact"]["version"] = "[4.0.0,5.0.0)"
    return pipeline("recipe", stages, [("Lines", "Wrangler"), ("Wrangler", "Out")])


PYTHON_SCRIPT = """\
def transform(record, emitter, context):
    record["revenue"] = record["quantity"] * record["price"]
    record["product"] = record["product"].upper()
    emitter.emit(record)
"""


WITH_REVENUE = schema(
    "sale",
    id="long",
    customer="int",
    product="string",
    quantity="int",
    price="double",
    revenue="double",
)


def record_pipeline(source: Path, target: Path) -> Any:
    """Parquet, a record-at-a-time Python transform, Parquet."""
    stages = [
        stage(
            "Sales",
            "batchsource",
            "File",
            referenceName="sales",
            path=str(source),
            format="parquet",
            schema=SALES,
        ),
        stage("Revenue", "transform", "PythonEvaluator", script=PYTHON_SCRIPT, schema=WITH_REVENUE),
        stage("Out", "batchsink", "File", referenceName="out", path=str(target), format="parquet"),
    ]
    return pipeline("records", stages, [("Sales", "Revenue"), ("Revenue", "Out")])


def branches_pipeline(source: Path, target: Path, branches: int) -> Any:
    """CSV, and branches that do not depend on each other: a record-at-a-time Python transform, Parquet."""
    stages = [
        stage(
            "Sales",
            "batchsource",
            "File",
            referenceName="sales",
            path=str(source),
            format="csv",
            schema=SALES,
        )
    ]
    connections = []
    for number in range(branches):
        names = ["Sales", f"Revenue {number}", f"Out {number}"]
        properties = {"referenceName": f"out{number}", "path": str(target / str(number))}
        stages += [
            stage(
                names[1], "transform", "PythonEvaluator", script=PYTHON_SCRIPT, schema=WITH_REVENUE
            ),
            stage(names[2], "batchsink", "File", **properties, format="parquet"),
        ]
        connections += itertools.pairwise(names)
    return pipeline("branches", stages, connections)


def long_pipeline(source: Path, target: Path, transforms: int) -> Any:
    """A chain of ``transforms`` projections between a source and a sink, to be validated."""
    stages = [
        stage(
            "Sales",
            "batchsource",
            "File",
            referenceName="sales",
            path=str(source),
            format="csv",
            schema=SALES,
        )
    ]
    names = ["Sales"]
    for number in range(transforms):
        before, after = f"product{number or ''}", f"product{number + 1}"
        names.append(f"Rename {number + 1}")
        stages.append(stage(names[-1], "transform", "Projection", rename=f"{before}:{after}"))
    names.append("Out")
    stages.append(
        stage("Out", "batchsink", "File", referenceName="out", path=str(target), format="parquet")
    )
    return pipeline("long", stages, list(itertools.pairwise(names)))
