"""What a change of a pipeline means for its fields, its datasets and the pipelines that read these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from localcdap.api.lineage import EdgeType, StageLineage
from localcdap.api.pipeline import StageSpec
from localcdap.api.schema import Schema
from localcdap.metadata.lineage.column_edges import ColumnEdge
from localcdap.pipeline.rules.graph import SINKS

REMOVED: Final = "removed"
ADDED: Final = "added"
TYPE: Final = "type"
SOURCES: Final = "sources"


class ImpactPipeline(msgspec.Struct):
    """What is compared of a pipeline: its schemas and its lineage."""

    specs: Mapping[str, StageSpec]
    stages: list[StageLineage]
    edges: list[ColumnEdge]

    def list_written(self) -> dict[tuple[str, str], Schema | None]:
        """Return the fields that are written, by dataset and name, with their types."""
        found: dict[tuple[str, str], Schema | None] = {}
        for stage in self.stages:
            if stage.type in SINKS:
                for edge in stage.edges:
                    if edge.field is not None:
                        type = _find_type(self.specs[stage.stage].input_schemas, edge.source)
                        found |= {(dataset, edge.field): type for dataset in stage.datasets}
        return found

    def list_read(self) -> list[tuple[str, str]]:
        """Return the fields that sources read, by dataset and name."""
        read = {
            (dataset, field): None
            for stage in self.stages
            if stage.type not in SINKS
            for dataset in stage.datasets
            for field in stage.outputs
        }
        return list(read)


class StageFieldChange(msgspec.Struct, frozen=True):
    """A field of the output of a stage that changes."""

    stage: str
    field: str
    change: str
    """``removed``, ``added`` or ``type``."""
    before: str | None = None
    """The type."""
    after: str | None = None


class DatasetFieldChange(msgspec.Struct, frozen=True):
    """A field of a dataset that is no longer written, or is written differently."""

    dataset: str
    field: str
    change: str
    """``removed``, ``added``, ``type`` or ``sources``."""
    before: list[str] = []
    """The type, or the fields that it comes from as ``dataset.field``."""
    after: list[str] = []


def compare_stages(before: ImpactPipeline, after: ImpactPipeline) -> list[StageFieldChange]:
    """Return the changes of output fields of stages that both pipelines have, added fields last."""
    found: list[StageFieldChange] = []
    for name, spec in after.specs.items():
        old = before.specs.get(name)
        if old is None:
            continue
        had, has = _list_fields(old), _list_fields(spec)
        if not has and had:
            continue  # the schema is not known before a run
        found += [
            StageFieldChange(name, field, REMOVED, type.display_name)
            for field, type in had.items()
            if field not in has
        ]
        found += [
            StageFieldChange(name, field, TYPE, had[field].display_name, type.display_name)
            for field, type in has.items()
            if field in had and had[field] != type
        ]
        found += [
            StageFieldChange(name, field, ADDED, None, type.display_name)
            for field, type in has.items()
            if field not in had
        ]
    return sorted(found, key=lambda each: each.change == ADDED)


def compare_datasets(before: ImpactPipeline, after: ImpactPipeline) -> list[DatasetFieldChange]:
    """Return the changes of fields that are written, by dataset."""
    had, has = before.list_written(), after.list_written()
    unknown = {dataset for dataset, _ in had} - {dataset for dataset, _ in has}
    open_ends = {name for name, spec in after.specs.items() if None in spec.input_schemas.values()}
    sources = _list_sources(before.edges), _list_sources(after.edges)
    found: list[DatasetFieldChange] = []
    for key in dict.fromkeys([*had, *has]):
        dataset, field = key
        if key not in has:
            if dataset in unknown and open_ends:
                continue  # what is written is not known before a run
            found.append(DatasetFieldChange(dataset, field, REMOVED, _describe(had[key])))
        elif key not in had:
            found.append(DatasetFieldChange(dataset, field, ADDED, [], _describe(has[key])))
        elif had[key] != has[key]:
            found.append(
                DatasetFieldChange(dataset, field, TYPE, _describe(had[key]), _describe(has[key]))
            )
        if key in had and key in has and sources[0].get(key) != sources[1].get(key):
            old, new = (sorted(each.get(key, ())) for each in sources)
            found.append(DatasetFieldChange(dataset, field, SOURCES, old, new))
    return found


def list_unused(pipeline: ImpactPipeline) -> list[tuple[str, str]]:
    """Return the fields that are read though nothing depends on them that is written, by dataset and name."""
    used = {(edge.source.dataset.dataset, edge.source.field) for edge in pipeline.edges}
    if not pipeline.list_written():
        return []
    return [key for key in pipeline.list_read() if key not in used]


def _list_sources(edges: Iterable[ColumnEdge]) -> dict[tuple[str, str], set[str]]:
    """Return the fields whose values go into each written field."""
    found: dict[tuple[str, str], set[str]] = {}
    for edge in edges:
        if edge.target.field is not None and edge.influence.kind.type is EdgeType.DIRECT:
            key = (edge.target.dataset.dataset, edge.target.field)
            found.setdefault(key, set()).add(f"{edge.source.dataset.dataset}.{edge.source.field}")
    return found


def _list_fields(spec: StageSpec) -> dict[str, Schema]:
    schemas = [spec.output_schema, *spec.port_schemas.values()]
    return dict(_iterate_fields(schema for schema in schemas if schema is not None))


def _iterate_fields(schemas: Iterable[Schema]) -> Iterator[tuple[str, Schema]]:
    for schema in schemas:
        yield from ((field.name, field.schema) for field in schema)


def _find_type(schemas: Mapping[str, Schema | None], name: str) -> Schema | None:
    found = dict(_iterate_fields(schema for schema in schemas.values() if schema is not None))
    return found.get(name)


def _describe(type: Schema | None) -> list[str]:
    return [] if type is None else [type.display_name]
