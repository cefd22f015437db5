"""Warnings about properties that the plugin lacks, and about those that Data Fusion ignores."""

from __future__ import annotations

from typing import Any

import pytest

from localcdap.api.failures import ADDED_PROPERTY, UNKNOWN_PROPERTY
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.macros.evaluation import MacroContext, evaluate
from localcdap.pipeline.validation.plugins import IndexedPlugins
from localcdap.pipeline.validation.stage_configuration import (
    find_ignored_properties,
    find_name_warnings,
)
from tests.pipeline.shelf import load_shipped

SERVER = {"jdbcPluginName": "mssql", "database": "shop", "query": "SELECT 1"}


@pytest.fixture(scope="module")
def finder() -> IndexedPlugins:
    return IndexedPlugins(load_shipped(), "default")


def stage(type: str, plugin: str, properties: dict[str, str]) -> Any:
    use = {"name": plugin, "type": type, "properties": properties}
    config = {"stages": [{"name": "S", "plugin": use}], "connections": []}
    document = {"name": "p", "artifact": {"name": "cdap-data-pipeline"}, "config": config}
    return read_document(document).stages[0]


@pytest.mark.parametrize(
    ("type", "plugin", "properties", "ignored"),
    [
        ("batchsink", "File", {"enableQuotedValues": "true"}, ["enableQuotedValues"]),
        ("batchsink", "File", {"enableQuotedValues": "False", "path": "x"}, []),
        ("batchsink", "File", {"enableQuotedValues": "${quoted}"}, ["enableQuotedValues"]),
        ("batchsource", "File", {"enableQuotedValues": "true"}, []),
        ("batchsource", "Database", {"columnNameCase": "Upper"}, []),
        ("batchsource", "Mysql", {"columnNameCase": "No change", "replaceWith": ""}, []),
        ("batchsource", "Mysql", {"columnNameCase": "Upper"}, ["columnNameCase"]),
        ("batchsource", "SqlServer", {"workstationID": "here"}, []),
        ("transform", "Missing", {"any": "thing"}, []),
    ],
)
def test_an_addition_is_named_when_its_value_is_not_the_default(
    finder, type: str, plugin: str, properties: dict[str, str], ignored: list[str]
):
    warnings = find_ignored_properties([stage(type, plugin, properties)], finder)
    assert [(warning.stage, warning.field, warning.type) for warning in warnings] == [
        ("S", name, ADDED_PROPERTY) for name in ignored
    ]


def test_a_former_name_works_and_is_named(finder):
    use = stage("action", "SqlServer", {**SERVER, "workstationId": "${here}", "loginTimeout": "5"})
    plugin = finder.find("S", use.plugin).plugin
    declared = finder.properties(plugin)
    (warning,) = find_name_warnings(use, declared)
    assert (warning.type, warning.field) == (UNKNOWN_PROPERTY, "workstationId")
    assert "Data Fusion ignores it" in warning.message
    assert warning.corrective_action == "Did you mean 'workstationID'?"
    assert find_ignored_properties([use], finder) == [warning]

    evaluated = evaluate(use, declared, MacroContext({"here": "desk"}))
    assert evaluated.properties == {**SERVER, "workstationID": "desk", "loginTimeout": "5"}
    later = evaluate(use, declared, MacroContext())
    assert later.macros == ["workstationID"]


def test_an_unknown_name_is_no_matter_of_data_fusion(finder):
    use = stage("batchsink", "File", {"pth": "x", "enableQuotedValues": "true"})
    plugin = finder.find("S", use.plugin).plugin
    names = [warning.field for warning in find_name_warnings(use, finder.properties(plugin))]
    assert names == ["pth", "enableQuotedValues"]
    assert find_ignored_properties([use], finder)[0].field == names[1]
