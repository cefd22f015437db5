"""The data of an experiment, and the pipeline that predicts with a model on such data.

A file, a table or a workspace of the prep area tells about its columns. The pipeline has the data and
the recipe of the experiment, MLPredictor, and a file set.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.host.cdap import Cdap
from localcdap.tui.routes import ExperimentTarget
from localcdap.tui.screens.analytics.calls import Algorithm, Experiment, Model, Split
from localcdap.tui.screens.prep.exports import build_source
from localcdap.tui.screens.prep.source import (
    PrepRequest,
    PrepSource,
    close_session,
    read_records,
    read_view,
)
from localcdap.workspace_views import WorkspaceView

TABLE: Final = "table:"
USABLE: Final = ("boolean", "string", "int", "long", "float", "double")
"""The types of columns that models know."""
_NUMBERS: Final = ("long", "double")
_WHOLE: Final = re.compile(r"[+-]?(0|[1-9]\d{0,17})")
_NUMBER: Final = re.compile(r"[+-]?(0|[1-9]\d*)?(\.\d*)?(?<=\d)([eE][+-]?\d+)?|[+-]?\d+\.")
"""Numbers without leading zeros, which only codes have."""
_MOST_CLASSES: Final = 20
"""The most different whole numbers that may be classes."""


@dataclass(frozen=True)
class DataColumn:
    """A column of the prepared data.

    :param type: a simple type in lower case; of another kind for a column that models do not know.
    """

    name: str
    type: str

    @property
    def kind(self) -> str:
        """The type as JSON."""
        return self.type if self.type.startswith(("{", "[")) else json.dumps(self.type)

    @property
    def is_usable(self) -> bool:
        return self.type in USABLE


@dataclass(frozen=True)
class DataDescription:
    """What an experiment reads.

    :param srcpath: a path, or ``table:NAME``.
    :param properties: of the source File; empty for a table.
    :param records: a sample after the directives.
    """

    srcpath: str
    directives: list[str]
    properties: dict[str, str]
    columns: list[DataColumn]
    records: list[dict[str, Any]]

    def make_schema(self, left_out: Sequence[str] = ()) -> dict[str, Any]:
        """Return the schema of the columns that models know, without some."""
        return {
            "type": "record",
            "name": "prepared",
            "fields": [
                {"name": each.name, "type": [each.type, "null"]}
                for each in self.columns
                if each.is_usable and each.name not in left_out
            ],
        }

    @property
    def is_typed_when_read(self) -> bool:
        """Whether the source gives the columns their types: a file of texts without a recipe."""
        return self.properties.get("format") == "delimited" and not self.directives

    def may_be_classes(self, column: DataColumn) -> bool:
        """Return whether a column has few whole numbers, which may be classes."""
        if column.type not in ("int", "long"):
            return False
        return len({each.get(column.name) for each in self.records}) <= _MOST_CLASSES

    def with_class(self, name: str) -> DataDescription:
        """Return the same data with a column of numbers as one of classes."""
        columns = [replace(e, type="string") if e.name == name else e for e in self.columns]
        records = [
            {**each, name: None if each.get(name) is None else str(each[name])}
            for each in self.records
        ]
        found = replace(self, columns=columns, records=records)
        if self.is_typed_when_read:
            return found.with_typed_file()
        return replace(found, directives=[*self.directives, f"set-type :{name} string"])

    def with_typed_file(self) -> DataDescription:
        """Return the same data, read from a file with the types of the columns."""
        fields = [{"name": e.name, "type": [json.loads(e.kind), "null"]} for e in self.columns]
        schema = {"type": "record", "name": "file", "fields": fields}
        return replace(self, properties={**self.properties, "schema": json.dumps(schema)})


def describe_target(
    cdap: Cdap, namespace: str, target: ExperimentTarget, *, infers: bool = True
) -> DataDescription:
    """Read a sample of data, and say what it has.

    :param infers: whether columns of texts in which all values are numbers become numbers: where a file of
        texts without a recipe is read, else by further directives.

    :raises BadRequestError: when the data cannot be read, or the recipe has mistakes.
    """
    source = PrepSource(path=target.path, table=target.table)
    for name, value in target.options:
        source = replace(source, **{name: value})
    session = str(uuid.uuid4())
    request = PrepRequest(source, session, namespace, list(target.directives))
    try:
        return _describe(cdap, request, infers=infers)
    finally:
        close_session(cdap, session, namespace)


def describe_experiment(cdap: Cdap, namespace: str, experiment: Experiment) -> DataDescription:
    """Read a sample of the data of an experiment.

    :raises BadRequestError: as :func:`describe_target`.
    """
    target, infers = make_target(experiment), not experiment.directives
    return describe_target(cdap, namespace, target, infers=infers)


def make_target(experiment: Experiment) -> ExperimentTarget:
    """Return where the data of an experiment are, and how they are read."""
    directives = tuple(experiment.directives)
    if experiment.srcpath.startswith(TABLE):
        return ExperimentTarget(table=experiment.srcpath.removeprefix(TABLE), directives=directives)
    given = experiment.source_properties
    options: list[tuple[str, Any]] = []
    if not given and directives:
        # Without properties the application reads a file as lines, as the original does.
        options = [("format", "text")]
    elif given.get("format") == "delimited":
        options = [
            ("format", "csv"),
            ("delimiter", given.get("delimiter", ",")),
            ("header", given.get("skipHeader") == "true"),
            ("skip_lines", 0),
        ]
    return ExperimentTarget(path=experiment.srcpath, directives=directives, options=tuple(options))


def _describe(cdap: Cdap, request: PrepRequest, *, infers: bool) -> DataDescription:
    before = read_view(cdap, replace(request, directives=[]))
    after = read_view(cdap, request)
    if after.errors:
        raise BadRequestError(f"The recipe has mistakes: {after.errors[0].message}")
    if after.schema is None:
        raise BadRequestError(
            "The data has no columns.", "Change the recipe, or choose other data."
        )
    records = read_records(cdap, request, request.source.limit).made
    types = {each["name"]: _get_type(each) for each in after.schema.to_json()["fields"]}
    columns = [DataColumn(*each) for each in types.items()]
    if infers:
        columns = [_find_number(each, records) for each in columns]
    source = request.source
    found = DataDescription(
        source.path or f"{TABLE}{source.table}",
        list(request.directives),
        {} if source.table else _read_properties(request, before),
        columns,
        [_convert(each, columns) for each in records],
    )
    if found.is_typed_when_read:
        return found.with_typed_file()
    steps = [f"set-type :{e.name} {e.type}" for e in columns if e.type != types[e.name]]
    return replace(found, directives=[*found.directives, *steps])


def _read_properties(request: PrepRequest, before: WorkspaceView) -> dict[str, str]:
    """Return the properties with which the source File reads the data."""
    _, _, found = build_source(request, before)
    return {name: value for name, value in found.items() if name not in ("path", "referenceName")}


def _get_type(field: dict[str, Any]) -> str:
    found = field["type"]
    if isinstance(found, list):
        found = next((each for each in found if each != "null"), "null")
    return found if isinstance(found, str) else json.dumps(found)


def _find_number(column: DataColumn, records: Sequence[dict[str, Any]]) -> DataColumn:
    """Return a column of texts that are all numbers as one of numbers."""
    if column.type != "string":
        return column
    return DataColumn(column.name, _find_number_type([each.get(column.name) for each in records]))


def _find_number_type(values: Sequence[Any]) -> str:
    """Return ``long`` or ``double`` when all texts are such numbers, else ``string``."""
    known = [each for each in values if each not in (None, "")]
    if not known:
        return "string"
    for type, form in (("long", _WHOLE), ("double", _NUMBER)):
        if all(form.fullmatch(str(each)) for each in known):
            return type
    return "string"


def _convert(record: dict[str, Any], columns: Sequence[DataColumn]) -> dict[str, Any]:
    """Return a record with numbers where texts are read as numbers."""
    found = dict(record)
    for each in columns:
        value = found.get(each.name)
        if isinstance(value, str) and each.type in _NUMBERS:
            found[each.name] = (
                (float(value) if each.type == "double" else int(value)) if value else None
            )
    return found


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
