"""What a pipeline will read and write, as far as its document and the arguments of a run say."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

import msgspec

from localcdap.api.errors import MacroError
from localcdap.api.lineage import find_dataset_name
from localcdap.api.pipeline import PipelineSpec, StageSpec
from localcdap.engine.messages.dataset_names import DatasetName, Resolve, list_dataset_names
from localcdap.engine.messages.flow import SINKS, SOURCE
from localcdap.engine.messages.spool import DatasetAccess
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.macros.evaluation import MacroContext


class PlannedStage(msgspec.Struct, frozen=True):
    """A stage with what is known of it before the run."""

    name: str
    type: str
    plugin: str
    properties: Mapping[str, str]
    document: str | None = None
    """The schema of the records that it reads or writes."""


def list_spec_stages(spec: PipelineSpec) -> list[PlannedStage]:
    """Return the stages of a deployed pipeline."""
    return [
        PlannedStage(
            each.name,
            each.plugin.type,
            each.plugin.name,
            each.plugin.properties,
            _find_schema(each),
        )
        for each in spec.stages
    ]


def list_document_stages(document: PipelineDocument) -> list[PlannedStage]:
    """Return the stages of a document."""
    return [
        PlannedStage(each.name, each.plugin.type, each.plugin.name, each.plugin.properties)
        for each in document.stages
    ]


def plan_accesses(
    stages: Iterable[PlannedStage],
    arguments: Mapping[str, str],
    resolve: Resolve,
    tables: Container[str] = (),
) -> list[DatasetAccess]:
    """Return the accesses of sources and sinks.

    Those whose name depends on a macro without a value are left out: a run will know it.

    :param arguments: the values of macros.
    :param tables: the known tables of the namespace.
    """
    context = MacroContext(arguments)
    return [
        access
        for stage in stages
        if stage.type in (SOURCE, *SINKS)
        for access in _list_accesses(stage, _evaluate(stage.properties, context), resolve, tables)
    ]


def _list_accesses(
    stage: PlannedStage, properties: Mapping[str, str], resolve: Resolve, known: Container[str]
) -> Iterator[DatasetAccess]:
    names: tuple[DatasetName, ...] = tuple(list_dataset_names(stage.plugin, properties, resolve))
    named = find_dataset_name(properties)
    table = _find_table(named, properties, known)
    dataset = named or table
    is_known = bool(names or table) or not any("${" in each for each in properties.values())
    if dataset and is_known and "${" not in dataset:
        tables = (table,) if table else ()
        is_write = stage.type in SINKS
        yield DatasetAccess(stage.name, dataset, is_write, stage.document, names, tables, True)


def _find_table(
    dataset: str | None, properties: Mapping[str, str], known: Container[str]
) -> str | None:
    """Return the table of the instance that a stage reads or writes, as far as it is known.

    :param known: the tables that there are, and those that plugins named when the pipeline was deployed.
    """
    table: str | None = None
    if properties.get("dataset") and properties.get("table"):
        table = f"{properties['dataset'].strip()}.{properties['table'].strip()}"
    elif dataset in known:
        table = dataset
    return table if table and "${" not in table else None


def _evaluate(properties: Mapping[str, str], context: MacroContext) -> dict[str, str]:
    """Return the properties with the macros expanded that have a value."""
    evaluated = dict(properties)
    for name, value in properties.items():
        if "${" in value:
            try:
                evaluated[name] = context.get_parser(False).parse(value) or ""
            except MacroError:
                continue
    return evaluated


def _find_schema(stage: StageSpec) -> str | None:
    first = next(iter(stage.input_schemas.values()), None)
    schema = first if stage.plugin.type in SINKS else stage.output_schema
    return None if schema is None else str(schema)
