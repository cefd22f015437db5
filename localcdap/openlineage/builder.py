"""Builds events from what the database knows of a run or a deployed pipeline.

What a pipeline will read and write, as far as its document and the arguments of a run say.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.app.events import RunStatusChanged
from localcdap.api.errors import LocalcdapError, MacroError
from localcdap.api.failures import ArtifactId
from localcdap.api.lineage import find_dataset_name
from localcdap.api.locations import Locations
from localcdap.api.metadata import MetadataEntity
from localcdap.api.pipeline import PipelineSpec, StageSpec
from localcdap.engine.messages.dataset_names import (
    DatasetName,
    Resolve,
    list_dataset_names,
    parse_table_place,
)
from localcdap.engine.messages.flow import SINKS, SOURCE
from localcdap.engine.messages.spool import DatasetAccess, RunStatus
from localcdap.metadata.lineage.column_edges import ColumnEdge
from localcdap.metadata.lineage.field_records import EdgeRecords
from localcdap.metadata.lineage.relations import DatasetId, PlaceRecords
from localcdap.metadata.records import list_inside
from localcdap.metadata.store import MetadataStore
from localcdap.namespaces.connections import is_secret_name
from localcdap.openlineage.model import (
    START,
    Facets,
    Job,
    JobEvent,
    JobRun,
    LineageDataset,
    RunEvent,
    create_column_lineage_facet,
    create_facet,
    create_job_facets,
    create_run_facets,
    create_schema_facet,
    format_time,
    list_tags,
)
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import STREAMING_ARTIFACTS, read_document
from localcdap.pipeline.library import application_records
from localcdap.pipeline.library.application_model import Application
from localcdap.pipeline.macros.evaluation import MacroContext
from localcdap.runs.metadata import list_accesses
from localcdap.runs.model import Run, StageCounts
from localcdap.runs.records import RunRecords
from localcdap.store import table_catalog
from localcdap.store.store import Transaction

_LOG: Final = logging.getLogger(__name__)
_FIELD: Final = "field"
_MOST_EDGES: Final = 20_000
"""The most edges in an event. One with more would have many megabytes, which receivers refuse."""


class UsedDataset(msgspec.Struct, frozen=True):
    """A dataset with all stages that read it, or all that write it."""

    ids: tuple[DatasetId, ...]
    """The reference names or tables by which the stages know it."""
    names: tuple[DatasetName, ...]
    """The names, the first of which is that of the event."""
    accesses: tuple[DatasetAccess, ...]

    @property
    def place(self) -> tuple[str, str]:
        """The namespace and the name in the event."""
        return self.names[0].namespace, self.names[0].name


class DatasetDescriber:
    """Describes what a pipeline reads and writes.

    :param instance: the name of the instance.
    :param database: the file with the tables.
    """

    def __init__(self, metadata: MetadataStore, instance: str, database: Path) -> None:
        self._metadata = metadata
        self._instance = instance
        self._database = database

    def describe(
        self,
        tx: Transaction,
        namespace: str,
        pipeline: str,
        accesses: Iterable[DatasetAccess],
        counts: Mapping[str, StageCounts] | None = None,
    ) -> tuple[list[LineageDataset], list[LineageDataset]]:
        """Return the inputs and the outputs.

        :param counts: the records of the stages of a run that has ended.
        """
        read, written = self._group(namespace, accesses)
        edges = self._list_edges(tx, namespace, pipeline)
        inputs = []
        for each in read:
            dataset = LineageDataset(*each.place, facets=self._create_facets(tx, each))
            rows = _sum_counts(each, counts, is_write=False)
            if rows is not None:
                facet = create_facet("InputStatisticsInputDatasetFacet", rowCount=rows)
                dataset.input_facets = {"inputStatistics": facet}
            inputs.append(dataset)
        outputs = []
        for each in written:
            facets = self._create_facets(tx, each)
            own = [edge for edge in edges if edge.target.dataset in each.ids]
            lineage = create_column_lineage_facet(own, self._map_names(read, own))
            if lineage is not None:
                facets["columnLineage"] = lineage
            dataset = LineageDataset(*each.place, facets=facets)
            rows = _sum_counts(each, counts, is_write=True)
            if rows is not None:
                facet = create_facet("OutputStatisticsOutputDatasetFacet", rowCount=rows)
                dataset.output_facets = {"outputStatistics": facet}
            outputs.append(dataset)
        return inputs, outputs

    def name_job_namespace(self, namespace: str) -> str:
        """Return the namespace of the jobs of a namespace."""
        return f"localcdap://{self._instance}/{namespace}"

    def _group(
        self, namespace: str, accesses: Iterable[DatasetAccess]
    ) -> tuple[list[UsedDataset], list[UsedDataset]]:
        """Return the datasets that are read, and those that are written, each once by its place."""
        found: dict[tuple[bool, DatasetName], UsedDataset] = {}
        for access in accesses:
            names = self._list_names(namespace, access)
            key = (access.is_write, names[0])
            known = found.get(key, UsedDataset((), (), ()))
            found[key] = UsedDataset(
                tuple(dict.fromkeys((*known.ids, DatasetId(namespace, access.dataset)))),
                tuple(dict.fromkeys((*known.names, *names))),
                (*known.accesses, access),
            )
        read = [each for (is_write, _), each in found.items() if not is_write]
        return read, [each for (is_write, _), each in found.items() if is_write]

    def _list_names(self, namespace: str, access: DatasetAccess) -> tuple[DatasetName, ...]:
        """Return where the data lies, and last the name by which the instance knows it."""
        place = f"duckdb://{self._database}"
        tables = [DatasetName(place, f"{namespace}.{table}") for table in access.tables]
        own = [DatasetName(self.name_job_namespace(namespace), access.dataset)]
        if len(tables) > 1 and not access.names:  # none of them is the dataset
            tables, own = own, tables
        return tuple(dict.fromkeys((*access.names, *tables, *own)))

    def _list_edges(self, tx: Transaction, namespace: str, pipeline: str) -> Sequence[ColumnEdge]:
        edges = EdgeRecords(tx).list_edges(namespace, pipeline, _MOST_EDGES + 1)
        if len(edges) <= _MOST_EDGES:
            return edges
        _LOG.warning(
            "The OpenLineage event of pipeline '%s' has no column lineage: it has more than %d edges.",
            pipeline,
            _MOST_EDGES,
        )
        return ()

    def _map_names(
        self, read: Iterable[UsedDataset], edges: Iterable[ColumnEdge]
    ) -> dict[DatasetId, list[tuple[str, str]]]:
        """Return the places of the datasets at which edges begin, those that this run has not read too."""
        places: dict[DatasetId, list[tuple[str, str]]] = {}
        for each in read:
            for id in each.ids:
                places.setdefault(id, []).append(each.place)
        for edge in edges:
            id = edge.source.dataset
            places.setdefault(id, [(self.name_job_namespace(id.namespace), id.dataset)])
        return places

    def _create_facets(self, tx: Transaction, used: UsedDataset) -> Facets:
        facets: Facets = {}
        documents = (access.document for access in used.accesses if access.is_whole)
        schema = create_schema_facet(next(filter(None, documents), None))
        if schema is not None:
            facets["schema"] = schema
        identifiers = [
            {"namespace": each.namespace, "name": each.name, "type": self._name_type(each)}
            for each in used.names[1:]
        ]
        if identifiers:
            facets["symlinks"] = create_facet("SymlinksDatasetFacet", identifiers=identifiers)
        tags = [tag for id in used.ids for tag in self._list_tags(tx, id)]
        if tags:
            facets["tags"] = create_facet("TagsDatasetFacet", tags=tags)
        return facets

    def _name_type(self, name: DatasetName) -> str:
        """Return the type of a symbolic link: ``TABLE``, ``LOCATION``, or ``DATASET`` of the instance."""
        if name.namespace.startswith("duckdb://"):
            return "TABLE"
        return "DATASET" if name.namespace.startswith("localcdap://") else "LOCATION"

    def _list_tags(self, tx: Transaction, id: DatasetId) -> list[dict[str, str]]:
        """Return the tags of a dataset, then those of its fields."""
        entity = id.to_entity()
        fields = list_inside(tx, entity, _FIELD)
        whole, *of_fields = self._metadata.read_all(tx, [entity, *fields])
        tags = list_tags(whole)
        for field, known in zip(fields, of_fields, strict=True):
            tags += list_tags(known, field.name)
        return tags


def _sum_counts(
    used: UsedDataset, counts: Mapping[str, StageCounts] | None, *, is_write: bool
) -> int | None:
    """Return the number of records that stages read or wrote; None when it is not known of each of them."""
    found: list[int | None] = []
    for stage, is_whole in dict.fromkeys((each.stage, each.is_whole) for each in used.accesses):
        of_stage = (counts or {}).get(stage)
        if of_stage is None or not is_whole:
            return None
        found.append(of_stage.records_in if is_write else of_stage.records_out)
    known = [each for each in found if each is not None]
    return sum(known) if len(known) == len(found) else None


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


ENDS: Final = {
    RunStatus.COMPLETED: "COMPLETE",
    RunStatus.FAILED: "FAIL",
    RunStatus.KILLED: "ABORT",
}
"""The events at the end of a run."""


class EventBuilder:
    """Builds events in transactions that only read.

    :param instance: the name of the instance in the namespaces of jobs.
    :param database: the file with the tables.
    :param locations: resolves the paths of pipelines that have not run yet.
    """

    def __init__(
        self,
        records: RunRecords,
        metadata: MetadataStore,
        instance: str,
        database: Path,
        locations: Locations,
    ) -> None:
        self._records = records
        self._metadata = metadata
        self._datasets = DatasetDescriber(metadata, instance, database)
        self._locations = locations

    def build_status_events(self, tx: Transaction, changed: RunStatusChanged) -> list[RunEvent]:
        """Return the events for a status of a run; none for one that OpenLineage does not know.

        A run that ended before it was running has a START event all the same, since the standard requires
        one. Of a run that was removed meanwhile, the events say only what the status event says.
        """
        status = RunStatus(changed.status)
        run = self._records.find_in(tx, changed.run)
        if status is RunStatus.RUNNING:
            return [self._build_start(tx, run, changed)]
        if status not in ENDS:
            return []
        end = self._build_end(tx, run, changed)
        if run is not None and run.start is None:
            return [self._build_start(tx, run, changed), end]
        return [end]

    def build_run_events(self, tx: Transaction, run: Run) -> list[RunEvent]:
        """Return the events of a run so far."""
        events = []
        if run.start is not None or run.status.is_end:
            events.append(self._build_start(tx, run, _to_changed(run)))
        if run.status.is_end:
            events.append(self._build_end(tx, run, _to_changed(run)))
        return events

    def build_job_event(self, tx: Transaction, application: Application) -> JobEvent:
        """Return the event for a deployed pipeline: what it would read and write."""
        spec = application_records.read_spec(tx, application)
        stages = list_spec_stages(spec) if spec is not None else []
        namespace, name = application.namespace, application.name
        tables = _list_tables(tx, namespace, name)
        accesses = plan_accesses(stages, {}, self._locations.resolve, tables)
        inputs, outputs = self._datasets.describe(tx, namespace, name, accesses)
        time = application.change.creation_time_millis
        job = self._build_job(tx, namespace, name, application.artifact, application.description)
        return JobEvent(format_time(time), job, inputs, outputs)

    def _build_start(self, tx: Transaction, run: Run | None, changed: RunStatusChanged) -> RunEvent:
        if run is None:
            return self._build_event(tx, changed, START, changed.time, [], changed.arguments)
        stages = self._plan_stages(tx, run)
        shown = {key: value for key, value in run.arguments.items() if not is_secret_name(key)}
        tables = _list_tables(tx, run.namespace, run.pipeline)
        accesses = plan_accesses(stages, shown, self._locations.resolve, tables)
        time = run.starting if run.start is None else run.start
        return self._build_event(tx, changed, START, time, accesses, run.arguments)

    def _build_end(self, tx: Transaction, run: Run | None, changed: RunStatusChanged) -> RunEvent:
        type = ENDS[RunStatus(changed.status)]
        if run is None:
            return self._build_event(tx, changed, type, changed.time, [], changed.arguments)
        accesses = list_accesses(tx, run.run)
        time = changed.time if run.end is None else run.end
        return self._build_event(tx, changed, type, time, accesses, run.arguments, run)

    def _build_event(
        self,
        tx: Transaction,
        changed: RunStatusChanged,
        type: str,
        time: int,
        accesses: Sequence[DatasetAccess],
        arguments: Mapping[str, str] | None,
        ended: Run | None = None,
    ) -> RunEvent:
        namespace, pipeline = changed.namespace, changed.pipeline
        inputs, outputs = self._datasets.describe(
            tx, namespace, pipeline, accesses, ended.stages if ended is not None else None
        )
        error = ended.error if ended is not None else None
        return RunEvent(
            format_time(time),
            type,
            JobRun(changed.run, create_run_facets(arguments or {}, error)),
            self._build_job(tx, namespace, pipeline, changed.artifact),
            inputs,
            outputs,
        )

    def _build_job(
        self,
        tx: Transaction,
        namespace: str,
        pipeline: str,
        artifact: ArtifactId | None,
        description: str | None = None,
    ) -> Job:
        entity = MetadataEntity.of_application(pipeline, namespace)
        known = self._metadata.read(tx, entity)
        described = description or known.system.properties.get("description")
        is_streaming = artifact is not None and artifact.name.lower() in STREAMING_ARTIFACTS
        return Job(
            self._datasets.name_job_namespace(namespace),
            pipeline,
            create_job_facets(is_streaming, described, known),
        )

    def _plan_stages(self, tx: Transaction, run: Run) -> list[PlannedStage]:
        """Return the stages of the version of the application, or of the document; none when it is gone."""
        try:
            if run.application_version is not None:
                found = application_records.find(
                    tx, run.namespace, run.pipeline, run.application_version
                )
                spec = application_records.read_spec(tx, found)
                if spec is not None:
                    return list_spec_stages(spec)
            return list_document_stages(read_document(self._records.read_document_text(run.run)))
        except LocalcdapError:
            return []


def _list_tables(tx: Transaction, namespace: str, pipeline: str) -> set[str]:
    """Return the tables of a namespace, and those that a pipeline names in its deployment or last run."""
    places = PlaceRecords(tx).list_places(namespace, pipeline)
    named = (parse_table_place(each.place) for each in places)
    tables = set(table_catalog.list_names(tx, namespace))
    return tables | {name for of, name in filter(None, named) if of == namespace}


def _to_changed(run: Run) -> RunStatusChanged:
    return RunStatusChanged(
        run.namespace, run.pipeline, run.run, run.status.value, run.starting, artifact=run.artifact
    )
