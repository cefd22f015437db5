"""The pipeline that predicts with a model: its experiment's data and recipe, MLPredictor, a file set."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, Final

from localcdap.tui.screens.analytics.answers import Algorithm, Experiment, Model, Split
from localcdap.tui.screens.analytics.sources import TABLE

_FIELD: Final = "prediction"


def build_pipeline(
    experiment: Experiment, split: Split, model: Model, algorithm: Algorithm
) -> dict[str, Any]:
    """Return a pipeline that adds the predictions of a model to the data of its experiment.

    It writes the prepared columns, and the prediction, into a file set: a table would need a key.
    """
    prepared = split.schema
    name = _FIELD
    while name in [each["name"] for each in prepared["fields"]]:
        name += "_"
    type = "double" if algorithm.is_regression else "string"
    predicted = {
        **prepared,
        "fields": [*prepared["fields"], {"name": name, "type": [type, "null"]}],
    }
    written = json.dumps(predicted)
    predictor = {
        "experimentId": experiment.name,
        "modelId": model.id,
        "predictionField": name,
        "schema": written,
    }
    target = "".join(each if each.isalnum() else "_" for each in f"{model.name}_predictions")
    sink = {"name": target, "schema": written}
    stages = _build_source(experiment, json.dumps(prepared))
    stages += [
        _build_stage("Predict", "MLPredictor", "sparkcompute", predictor, written),
        _build_stage("Sink", "SnapshotParquet", "batchsink", sink, written),
    ]
    names = [each["name"] for each in stages]
    return {
        "name": target,
        "artifact": {"name": "cdap-data-pipeline", "version": "6.10.1", "scope": "SYSTEM"},
        "config": {
            "stages": stages,
            "connections": [{"from": one, "to": other} for one, other in pairwise(names)],
        },
    }


def _build_source(experiment: Experiment, prepared: str) -> list[dict[str, Any]]:
    properties = dict(experiment.source_properties)
    if experiment.srcpath.startswith(TABLE):
        plugin = "Table"
        properties["name"] = experiment.srcpath.removeprefix(TABLE)
        properties.setdefault("schema", prepared)
    else:
        plugin = "File"
        properties |= {"path": experiment.srcpath, "referenceName": "experiment"}
        properties.setdefault("format", "text" if experiment.directives else "csv")
    read = _build_stage("Source", plugin, "batchsource", properties, properties.get("schema"))
    if not experiment.directives:
        return [read]
    recipe = {
        "field": "*",
        "precondition": "false",
        "directives": "\n".join(experiment.directives),
        "schema": prepared,
    }
    return [read, _build_stage("Prepare", "Wrangler", "transform", recipe, prepared)]


def _build_stage(
    name: str, plugin: str, type: str, properties: dict[str, str], schema: str | None
) -> dict[str, Any]:
    stage: dict[str, Any] = {
        "name": name,
        "plugin": {"name": plugin, "type": type, "label": name, "properties": properties},
    }
    if schema is not None:
        stage["outputSchema"] = [{"name": "etlSchemaBody", "schema": schema}]
    return stage
