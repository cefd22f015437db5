"""The artifacts as a whole: what they contain, and that using them stays light."""

from __future__ import annotations

import hashlib
import importlib
import json
import subprocess
import sys

from localcdap.api import Schema
from localcdap.artifacts.inspection import inspect_artifact
from localcdap.artifacts.model import PluginClass
from tests.conftest import REPOSITORY
from tests.plugins.transform.support import configure, messages, record

PLUGINS = REPOSITORY / "plugins_dir"
EXPECTED = {
    "transform-plugins": {
        ("transform", "CSVParser", "record"),
        ("transform", "JSONParser", "record"),
        ("transform", "Normalize", "record"),
        ("splittertransform", "NullFieldSplitter", "dataframe"),
        ("splittertransform", "UnionSplitter", "dataframe"),
    },
    "core-plugins": {
        ("transform", "JavaScript", "record"),
        ("transform", "PythonEvaluator", "record"),
        ("transform", "Projection", "dataframe"),
        ("batchaggregator", "GroupByAggregate", "dataframe"),
        ("batchaggregator", "Distinct", "dataframe"),
        ("batchaggregator", "Deduplicate", "dataframe"),
        ("batchaggregator", "RowDenormalizer", "dataframe"),
        ("batchjoiner", "Joiner", "dataframe"),
        ("errortransform", "ErrorCollector", "record"),
    },
}
LIGHT = """
import json, sys
from pathlib import Path
from localcdap.api import FailureCollector, Schema, StageConfigurer
from core_plugins.aggregators.group_by_aggregate import GroupByAggregate
from core_plugins.joins.joiner import Joiner
from core_plugins.projection import Projection
from core_plugins.scripts.python_evaluator import PythonEvaluator
from transform_plugins.csv.parser import CSVParser
from transform_plugins.json import JSONParser
from transform_plugins.splitters import UnionSplitter

schema = Schema.record("r", [("a", Schema.STRING), ("n", Schema.INT)])
for cls, properties in (
    (GroupByAggregate, {"groupByFields": "a", "aggregates": "t:sumIf(n):condition(n > 1)"}),
    (Projection, {"convert": "n:long"}),
    (CSVParser, {"field": "a", "schema": str(schema)}),
    (JSONParser, {"field": "a", "schema": str(schema), "mapping": "n:$.n"}),
    (PythonEvaluator, {"script": "def transform(r, e, c): e.emit(r)"}),
    (UnionSplitter, {}),
):
    stage = StageConfigurer("s", {"in": schema})
    cls(cls.Config.build(properties, stage.failures)).configure(stage)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def inspect_shipped(artifact: str) -> list[PluginClass]:
    digest = hashlib.sha256(artifact.encode()).hexdigest()
    inspection = inspect_artifact(str(PLUGINS / artifact), digest)
    assert inspection.errors == []
    return inspection.plugins


def test_plugins_and_their_grains():
    for artifact, expected in EXPECTED.items():
        found = {(p.type, p.name, p.grain) for p in inspect_shipped(artifact)}

        assert expected <= found


def test_every_property_explains_itself():
    names = {name for plugins in EXPECTED.values() for _, name, _ in plugins}
    for artifact in EXPECTED:
        for plugin in inspect_shipped(artifact):
            if plugin.name not in names:
                continue
            assert plugin.description.endswith((".", ")."))
            for each in plugin.properties:
                assert len(each.description) > 20, (plugin.name, each.name)
                assert each.description.endswith((".", '".')), (plugin.name, each.name)


def test_a_stage_without_any_property_is_refused_and_nothing_breaks():
    schema = record(a=Schema.STRING)
    for artifact, expected in EXPECTED.items():
        package = artifact.replace("-", "_")
        for plugin in inspect_shipped(artifact):
            if (plugin.type, plugin.name, plugin.grain) in expected:
                module, _, name = plugin.class_name.rpartition(".")
                cls = getattr(importlib.import_module(module), name)
                stage = configure(cls, {}, named={"x": schema, "y": schema})
                needed = [p.name for p in plugin.properties if p.required]

                assert module.startswith(package)
                for each in needed:
                    assert f"Required property '{each}' has no value." in messages(stage)


def test_configuring_loads_no_heavy_library():
    path = [str(REPOSITORY), *(str(PLUGINS / artifact) for artifact in EXPECTED)]
    code = f"import sys; sys.path[:0] = {path!r}\n{LIGHT}"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert {"pyspark", "pyarrow", "pandas", "numpy", "duckdb"}.isdisjoint(json.loads(done.stdout))
