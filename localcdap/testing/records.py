"""Runs records through a plugin of record or batch grain, without Spark and with tables of the test."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from localcdap.api.app.transactions import TransactionRunner
from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import NotFoundError, StageError
from localcdap.api.lineage import FieldOperation
from localcdap.api.metadata import MetadataEntity, MetadataOperation, ScopedMetadata
from localcdap.api.plugin import (
    BatchAggregator,
    BatchReducibleAggregator,
    ErrorTransform,
    Grain,
    Plugin,
    SplitterTransform,
    has_override,
)
from localcdap.api.schema import Schema
from localcdap.api.stage import Emitter, FindTable, Record
from localcdap.api.tables import Partitioning, TableShape
from localcdap.engine.messages.flow import SPLITTER, Stage, Stream, create_plugin
from localcdap.engine.messages.host import TableFiles
from localcdap.engine.messages.samples import AlteredValues
from localcdap.engine.plan.phases import list_read_fields
from localcdap.engine.plan.run_metadata import MetadataAccess, RunMetadata
from localcdap.engine.plan.tables import TableSource, write_lookup_file
from localcdap.engine.tasks.aggregation import decode_key, encode_key
from localcdap.engine.tasks.context import CountingMetrics, StageContextData, WorkerStageContext
from localcdap.engine.tasks.lookups import LookupFile
from localcdap.engine.tasks.pass_plan import error_record_schema
from localcdap.engine.tasks.runners import FailedRecord, conform, copy_value
from localcdap.testing.references import START

_NAMESPACE: Final = "default"


class TableData(msgspec.Struct):
    """A table and its rows.

    >>> GivenTable(PEOPLE, [{"id": "1", "name": "ada"}], key="id")  # doctest: +SKIP
    """

    schema: Schema
    rows: Sequence[Record]
    key: str | None = None
    """The key field; None for a table to which rows are appended."""
    partitioning: Partitioning | None = None
    is_view: bool = False
    """Whether the stage under test sees a view, with these rows as its result."""

    @property
    def shape(self) -> TableShape:
        """The columns of the table."""
        return TableShape(self.schema, self.key, self.partitioning, is_view=self.is_view)


class TableDataSource:
    """A source of the tables of a test.

    :param folder: the folder for snapshots.
    """

    def __init__(self, tables: Mapping[str, TableData], folder: Path) -> None:
        self._tables: Final = dict(tables)
        self._folder: Final = folder
        self._numbers: Final = itertools.count()

    def add(self, name: str, table: TableData) -> None:
        self._tables[name] = table

    def export(self, namespace: str, name: str) -> TableFiles:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = self._tables.get(name)
        if table is None or namespace != _NAMESPACE:
            known = ", ".join(self._tables) or "none"
            raise NotFoundError(
                f"There is no table '{name}'; tables here: {known}.",
                "Add it to 'tables'.",
            )
        file = self._folder / f"table-{next(self._numbers)}.parquet"
        rows = pa.Table.from_batches([RecordCodec(table.schema).encode(table.rows)])
        self._folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, file)
        return TableFiles(table.schema, [str(file)], table.key)

    def find(self, namespace: str, name: str) -> TableShape | None:
        table = self._tables.get(name) if namespace == _NAMESPACE else None
        return None if table is None else table.shape


def build_find_table(tables: TableSource) -> FindTable:
    """Return the function that finds the columns of the tables of a source."""
    return lambda name: tables.find(_NAMESPACE, name)


GivenMetadata: TypeAlias = Mapping[MetadataEntity, ScopedMetadata]
"""The metadata of entities; others have none."""


@dataclasses.dataclass
class StageOutput:
    """The output of a stage; each list is in the order of emission."""

    records: list[Record] = dataclasses.field(default_factory=list)
    ports: dict[str, list[Record]] = dataclasses.field(default_factory=dict)
    """Records by declared port of a splitter, also of ports without records."""
    errors: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """Error records, each with ``record``, ``code``, ``message`` and ``stage``."""
    alerts: list[dict[str, str]] = dataclasses.field(default_factory=list)
    metrics: dict[str, int] = dataclasses.field(default_factory=dict)
    """The counters of the plugin."""
    altered: list[AlteredValues] = dataclasses.field(default_factory=list)
    """The values that the plugin has altered, by kind of change."""
    arguments: dict[str, str] = dataclasses.field(default_factory=dict)
    """The arguments that an action has set."""
    metadata: list[MetadataOperation] = dataclasses.field(default_factory=list)
    """The metadata that ``prepare_run`` emitted, in its order."""
    operations: list[FieldOperation] = dataclasses.field(default_factory=list)
    """The operations on fields that ``prepare_run`` recorded, in its order."""


class FakePreparationContext(MetadataAccess, WorkerStageContext):
    """A :class:`localcdap.api.stage.PrepareContext` whose entities are given by a test."""

    def __init__(
        self, facts: StageContextData, metadata: GivenMetadata, output: StageOutput
    ) -> None:
        WorkerStageContext.__init__(self, facts)
        given = {entity.resolve(self.namespace): each for entity, each in metadata.items()}
        self._run_metadata = RunMetadata(
            lambda entity: given.get(entity, ScopedMetadata()),
            lambda _, operation: output.metadata.append(operation),
        )
        self._operations = output.operations

    @property
    def transactions(self) -> TransactionRunner:
        raise self.fail(
            "there are no datasets here.",
            "Run its pipeline in an instance: with the fixture cdap_instance.",
        )

    def record(self, operations: Sequence[FieldOperation]) -> None:
        self._operations.extend(operations)

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        text = f"Stage '{self.stage_name}': {message}"
        return StageError(text, corrective_action, stage=self.stage_name)


class CollectingSideOutputs:
    """Collects error records and alerts."""

    def __init__(self, stage: str, output: StageOutput) -> None:
        self._stage = stage
        self._output = output

    def error(self, record: Record, code: int, message: str, *, dropped: bool = True) -> None:
        rejected = {
            "record": copy_value(record),
            "code": code,
            "message": message,
            "stage": self._stage,
        }
        self._output.errors.append(rejected)

    def alert(self, payload: Mapping[str, str]) -> None:
        self._output.alerts.append(dict(payload))


class CollectingEmitter(CollectingSideOutputs):
    """A :class:`localcdap.api.stage.Emitter` that collects."""

    def __call__(self, record: Record) -> None:
        self._output.records.append(copy_value(record))


class CollectingPorts(CollectingSideOutputs):
    """A :class:`localcdap.api.stage.PortEmitter` that collects, and drops records of undeclared ports."""

    def __call__(self, port: str, record: Record) -> None:
        records = self._output.ports.get(port)
        if records is not None:
            records.append(copy_value(record))


def run_records(
    cls: type[Plugin],
    stage: Stage,
    records: Sequence[Record],
    arguments: dict[str, str],
    tables: Mapping[str, TableData],
    metadata: GivenMetadata,
) -> StageOutput:
    """Run records through a stage, and return its output, checked against its schemas.

    :raises NotFoundError: when the plugin names a table that the test does not provide.
    :raises StageError: when there is no output schema, or a record does not fit its schema.
    """
    plugin: Any = create_plugin(cls, stage.name, stage.properties)
    output = StageOutput(ports={port: [] for port in stage.port_schemas})
    facts, metrics = build_stage_data(stage, arguments), CountingMetrics()
    given = RecordCodec(_select_read_schema(plugin, stage))
    batch = given.encode(_add_stage_names(plugin, records))
    with tempfile.TemporaryDirectory() as folder:
        facts.lookups = _export_lookups(plugin.lookup_tables(), tables, Path(folder))
        preparation = FakePreparationContext(facts, metadata, output)
        plugin.prepare_run(preparation)
        facts.metadata = preparation.read_all(plugin.metadata_entities(facts.arguments))
        context = WorkerStageContext(facts, metrics)
        plugin.initialize(context)
        context.start_records()
        try:
            if type(plugin).grain() is Grain.BATCH:
                made = RecordCodec(stage.get_schema(Stream(stage.name)))
                for each in plugin.transform_batch(batch):
                    output.records += made.decode(conform(each, made))
            else:
                _emit_all(plugin, given.decode(batch), stage, output)
        finally:
            plugin.destroy()
        plugin.on_run_finish(True, preparation)
    output.metrics = dict(metrics.counts)
    output.altered = [AlteredValues(stage.name, *each) for each in context.altered.take()]
    _check(stage, output)
    return output


def _export_lookups(
    names: Sequence[str], tables: Mapping[str, TableData], folder: Path
) -> list[LookupFile]:
    """Export the tables that a plugin names."""
    given = TableDataSource(tables, folder)
    return [
        write_lookup_file(name, given.export("default", name), folder / str(number))
        for number, name in enumerate(dict.fromkeys(names))
    ]


def _emit_all(plugin: Any, records: list[Record], stage: Stage, output: StageOutput) -> None:
    emit = CollectingEmitter(stage.name, output)
    if isinstance(plugin, SplitterTransform):
        to_port = CollectingPorts(stage.name, output)
        for record in records:
            plugin.transform(record, to_port)
    elif isinstance(plugin, BatchAggregator):
        for key, members in _group_records(plugin, records).items():
            _aggregate(plugin, decode_key(key), members, emit)
    elif isinstance(plugin, ErrorTransform):
        for row in records:
            failed = FailedRecord(row["record"], row["code"], row["message"], row["stage"])
            plugin.transform(failed, emit)
    elif has_override(type(plugin), "transform_records"):
        plugin.transform_records(records, emit)
    else:
        for record in records:
            plugin.transform(record, emit)


def _group_records(plugin: BatchAggregator, records: list[Record]) -> dict[bytes, list[Record]]:
    """Return the records by key, in the order of the first record of each key."""
    groups: dict[bytes, list[Record]] = {}
    for record in records:
        for key in plugin.group_by(record):
            groups.setdefault(encode_key(key), []).append(record)
    return groups


def _aggregate(plugin: BatchAggregator, key: Any, members: list[Record], emit: Emitter) -> None:
    """Emit the result of a group; a reducible aggregator gets it in two parts, as of two tasks."""
    if not isinstance(plugin, BatchReducibleAggregator):
        plugin.aggregate(key, iter(members), emit)
        return
    parts = [_reduce(plugin, part) for part in (members[::2], members[1::2]) if part]
    plugin.finalize(key, functools.reduce(plugin.merge_partitions, parts), emit)


def _reduce(plugin: BatchReducibleAggregator, members: list[Record]) -> Any:
    """Return the value of records as it arrives after the shuffle."""
    first, *others = copy_value(members)
    value = functools.reduce(plugin.merge_values, others, plugin.initialize_aggregate_value(first))
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - made by the line itself


def _select_read_schema(plugin: Plugin, stage: Stage) -> Schema:
    """Return the schema of the plugin's input, with only the fields that it declares to read."""
    source, schema = next(iter(stage.input_schemas.items()))
    if isinstance(plugin, ErrorTransform):
        return error_record_schema(schema)
    wanted = list_read_fields(plugin, stage)[source]
    return Schema.record(schema.name or "record", [f for f in schema if f.name in wanted])


def _add_stage_names(plugin: Plugin, records: Sequence[Record]) -> list[Record]:
    if not isinstance(plugin, ErrorTransform):
        return list(records)
    return [{"stage": "input"} | record for record in records]


def _check(stage: Stage, output: StageOutput) -> None:
    """Convert the output to the form in which the next stage gets it.

    :raises StageError: when there is no output schema, or a record does not fit.
    """
    if stage.type != SPLITTER:
        output.records = _conform(stage.get_schema(Stream(stage.name)), output.records)
    for port, schema in stage.port_schemas.items():
        output.ports[port] = _conform(schema, output.ports[port])
    errors = stage.get_schema(Stream(stage.name, errors=True))
    output.errors = _conform(error_record_schema(errors), output.errors)


def _conform(schema: Schema, records: list[Record]) -> list[Record]:
    codec = RecordCodec(schema)
    return codec.decode(codec.encode(records))


def build_stage_data(stage: Stage, arguments: dict[str, str]) -> StageContextData:
    """Return the context data of a stage under test."""
    return StageContextData(
        stage_name=stage.name,
        namespace="default",
        pipeline="test",
        run_id="test",
        arguments=dict(arguments),
        logical_start_time=START,
        input_schemas=stage.input_schemas,
        output_schema=stage.output_schema,
        error_schema=stage.error_schema,
        port_schemas=stage.port_schemas,
    )
