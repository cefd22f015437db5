"""The service ``impact``: what a change of a pipeline breaks, before it is deployed or run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.failures import ValidationFailure
from localcdap.api.lineage import EdgeKind, EdgeType, StageLineage, find_dataset_name
from localcdap.api.pipeline import StageSpec
from localcdap.api.schema import Schema
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField
from localcdap.metadata.lineage.pipeline_lineage import (
    DesignedLineage,
    StageFieldLineage,
    trace_stage_field,
)
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.metadata.lineage.store import LineageStore
from localcdap.metadata.lineage.traversal import VisibleLineage, find_visible
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.rules.graph import SINKS, SOURCES
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.security.access import SwitchedAuthorizer, of_namespace, requires
from localcdap.security.authorizer import ALLOW_ALL

REMOVED: Final = "removed"
ADDED: Final = "added"
TYPE: Final = "type"
STORED_SOURCES: Final = "sources"


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
            found.append(DatasetFieldChange(dataset, field, STORED_SOURCES, old, new))
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


_MOST_HOPS: Final = 100
"""Further than any real chain of pipelines."""


class ImpactRequest(msgspec.Struct, rename="camel"):
    """A changed pipeline."""

    document: Any
    """JSON text, or decoded JSON."""
    namespace: str = "default"
    file: str | None = None
    """The file of the document, for error messages."""
    against: str | None = None
    """The deployed pipeline to compare with, as NAME or NAME@VERSION; by default that of the same name."""
    against_document: Any = None
    """A pipeline to compare with instead, as JSON text."""
    arguments: dict[str, str] = {}
    """Values of macros."""


class FieldReader(msgspec.Struct, frozen=True):
    """A pipeline that depends on a field that changes."""

    pipeline: str
    dataset: str
    field: str
    """The field that it reads."""
    stage: str | None = None
    """The source that reads it, of a deployed pipeline; None for a pipeline behind that one."""
    target: str | None = None
    """The field that it writes because of it, as ``dataset.field``; ``*`` for all fields. None where it reads
    the field only."""
    kind: EdgeKind | None = None


class ImpactReport(msgspec.Struct):
    """What a change means."""

    pipeline: str
    """The name of the changed pipeline; empty when its document has none."""
    against: str | None
    """What it was compared with; None when no pipeline of its name is deployed."""
    errors: list[ValidationFailure]
    """Failures of the changed pipeline: the report covers what is known in spite of them."""
    stages: list[StageFieldChange]
    datasets: list[DatasetFieldChange]
    readers: list[FieldReader]
    """The other pipelines that read a changed field, and those behind them."""
    unused: list[tuple[str, str]]
    """The fields, as dataset and field, that the pipeline reads and that nothing depends on."""
    unwritten: list[tuple[str, str]]
    """The fields that a dataset has, and that neither this pipeline nor a run has written."""

    @property
    def breaks(self) -> bool:
        """Whether a dataset loses a field, gets another type, or another pipeline depends on a change."""
        return bool(self.readers) or any(each.change != ADDED for each in self.datasets)


class ImpactService:
    """Compares pipelines. Threads may share it."""

    def __init__(
        self,
        resolver: PipelineResolver,
        designed: DesignedLineage,
        lineage: LineageStore,
        applications: ApplicationService,
        authorizer: SwitchedAuthorizer = ALLOW_ALL,
    ) -> None:
        """Create it.

        :param authorizer: decides which other pipelines the caller sees.
        """
        self._resolver = resolver
        self._designed = designed
        self._lineage = lineage
        self._applications = applications
        self._authorizer = authorizer

    @requires(of_namespace("request.namespace"))
    def assess(self, request: ImpactRequest) -> ImpactReport:
        """Return what a changed pipeline means for the fields of its stages and datasets, and for others.

        Without a pipeline to compare with, all of it is new.

        :raises DocumentError: when a document is not a pipeline.
        :raises NotFoundError: when there is no such namespace, or no such pipeline as ``against`` names.
        """
        document = read_document(request.document, request.file)
        name = document.name or ""
        against, old_text = self._find_former(request, name)
        after, errors = self._read(request, request.document, request.file)
        before = ImpactPipeline({}, [], [])
        if old_text is not None:
            before, _ = self._read(request, old_text, against)
        datasets = [] if old_text is None else compare_datasets(before, after)
        changed = {(each.dataset, each.field) for each in datasets if each.change != ADDED}
        own = name if request.against is None else request.against.partition("@")[0]
        return ImpactReport(
            name,
            against,
            errors,
            [] if old_text is None else compare_stages(before, after),
            datasets,
            list(dict.fromkeys(self._find_readers(request.namespace, {own, name}, changed))),
            list_unused(after),
            self._list_unwritten(request.namespace, after),
        )

    @requires(of_namespace("namespace"))
    def find_readers(
        self, namespace: str, dataset: str, fields: Collection[str]
    ) -> list[FieldReader]:
        """Return the pipelines that read fields of a dataset, and those behind them.

        Deployed pipelines are found by the schemas of their sources, others by what their runs recorded.

        :raises NotFoundError: when there is no such namespace.
        """
        changed = {(dataset, each) for each in fields}
        return list(dict.fromkeys(self._find_readers(namespace, (), changed)))

    @requires(of_namespace("request.namespace"))
    def trace_field(self, request: ImpactRequest, stage: str, field: str) -> StageFieldLineage:
        """Return where a field of a stage of a pipeline comes from, and where it goes.

        :raises DocumentError: when the document is not a pipeline.
        :raises BadRequestError: when its stages form a cycle.
        :raises NotFoundError: when there is no such namespace.
        """
        traced, _ = self._designed.build(
            self._resolve(request, request.document, request.file), request.namespace
        )
        return trace_stage_field(traced.stages, traced.connections, request.namespace, stage, field)

    def _find_former(self, request: ImpactRequest, name: str) -> tuple[str | None, Any]:
        """Return what is compared with, and its text."""
        if request.against_document is not None:
            return request.against or "the given document", request.against_document
        asked, _, version = (request.against or name).partition("@")
        if not asked:
            raise BadRequestError(
                "The document has no name, so nothing is known to compare it with.",
                "Name the deployed pipeline: --against NAME",
            )
        try:
            detail = self._applications.describe(request.namespace, asked, version or None)
        except NotFoundError:
            if request.against is not None:
                raise
            return None, None
        text = self._applications.export(request.namespace, asked, detail.version)
        return f"'{asked}' version {detail.number}", text

    def _read(
        self, request: ImpactRequest, text: Any, file: str | None
    ) -> tuple[ImpactPipeline, list[ValidationFailure]]:
        resolved = self._resolve(request, text, file)
        traced, found = self._designed.build(resolved, request.namespace)
        return ImpactPipeline(resolved.stages, traced.stages, found.edges), resolved.errors

    def _resolve(self, request: ImpactRequest, text: Any, file: str | None) -> ResolvedPipeline:
        environment = self._resolver.environments.create(request.namespace)
        document = read_document(text, file)
        arguments = environment.merge_arguments(document.name, request.arguments)
        return self._resolver.resolve_for_run(
            document, environment, arguments, runtime=False, use_suggested=True
        )

    def _find_readers(
        self, namespace: str, own: Collection[str], changed: Collection[tuple[str, str]]
    ) -> Iterator[FieldReader]:
        """Yield the deployed pipelines that read changed fields, then what lies behind these fields."""
        if not changed:
            return
        visible = find_visible(self._authorizer)
        yield from self._find_sources(namespace, own, changed, visible)
        for dataset, field in sorted(changed):
            start = DatasetField(DatasetId(namespace, dataset), field)
            graph = self._lineage.trace_fields(
                start, upstream=False, hops=_MOST_HOPS, visible=visible
            )
            for edge in graph.edges:
                if edge.application not in own:
                    source, target = edge.source, edge.target
                    yield FieldReader(
                        edge.application,
                        source.dataset.dataset,
                        source.field or "*",
                        None,
                        f"{target.dataset.dataset}.{target.field or '*'}",
                        edge.influence.kind,
                    )

    def _find_sources(
        self,
        namespace: str,
        own: Collection[str],
        changed: Collection[tuple[str, str]],
        visible: VisibleLineage,
    ) -> Iterator[FieldReader]:
        """Yield the sources of deployed pipelines that read changed fields, under any name of a dataset."""
        datasets = {DatasetId(namespace, dataset) for dataset, _ in changed}
        find_same = visible.select_same(self._lineage.find_same)
        names = {each.dataset: {each.dataset} for each in datasets}
        for dataset, others in find_same(datasets).items():
            for other in (each for each in others if each.namespace == namespace):
                names.setdefault(other.dataset, set()).add(dataset.dataset)
        for name, spec in self._applications.list_specs_with(namespace, names).items():
            if name in own or not visible.shows_application(namespace, name):
                continue
            for stage in spec.stages:
                read = _find_dataset(stage) or ""
                for field in stage.output_schema.field_names if stage.output_schema else ():
                    if any((each, field) in changed for each in names.get(read, ())):
                        yield FieldReader(name, read, field, stage.name)

    def _list_unwritten(self, namespace: str, pipeline: ImpactPipeline) -> list[tuple[str, str]]:
        written = set(pipeline.list_written())
        found = []
        for name in dict.fromkeys(dataset for dataset, _ in written):
            fields = self._lineage.list_fields(DatasetId(namespace, name), include_current=True)
            found += [
                (name, each.name)
                for each in fields
                if not each.lineage and (name, each.name) not in written
            ]
        return found


def _find_dataset(stage: StageSpec) -> str | None:
    """Return the dataset that a source reads, as far as its properties say."""
    if stage.plugin.type not in SOURCES:
        return None
    return find_dataset_name(stage.plugin.properties)
