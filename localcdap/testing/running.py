"""Records through a plugin of record or batch grain, without Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from localcdap.api.arrow import RecordCodec
from localcdap.api.plugin import (
    BatchAggregator,
    ErrorTransform,
    Grain,
    Plugin,
    SplitterTransform,
    has_override,
)
from localcdap.api.schema import Schema
from localcdap.api.stage import Record
from localcdap.engine.driver.lookups import lookup_file
from localcdap.engine.plan.fields import read_fields
from localcdap.engine.plan.flow import SPLITTER, Stage, Stream, instantiate
from localcdap.engine.tasks.aggregating import decode_key, encode_key
from localcdap.engine.tasks.chunks import FailedRecord, conform
from localcdap.engine.tasks.context import CountingMetrics, FactsContext, StageFacts
from localcdap.engine.tasks.lookups import LookupFile
from localcdap.engine.tasks.plan import error_record_schema
from localcdap.testing.configuring import START
from localcdap.testing.output import CollectingEmitter, CollectingPorts, StageOutput
from localcdap.testing.tables import GivenTable, GivenTables


def run_records(
    cls: type[Plugin],
    stage: Stage,
    records: Sequence[Record],
    arguments: dict[str, str],
    tables: Mapping[str, GivenTable],
) -> StageOutput:
    """What a stage makes of records, checked against its schemas.

    :raises NotFoundError: when the plugin names a table that is not given.
    :raises StageError: when there is no output schema, or a record does not fit its schema.
    """
    plugin: Any = instantiate(cls, stage.name, stage.properties)
    output = StageOutput(ports={port: [] for port in stage.port_schemas})
    facts, metrics = stage_facts(stage, arguments), CountingMetrics()
    given = RecordCodec(_fed(plugin, stage))
    batch = given.encode(_completed(plugin, records))
    with tempfile.TemporaryDirectory() as folder:
        facts.lookups = _lookups(plugin.lookup_tables(), tables, Path(folder))
        plugin.initialize(FactsContext(facts, metrics))
        try:
            if type(plugin).grain() is Grain.BATCH:
                made = RecordCodec(stage.schema(Stream(stage.name)))
                for each in plugin.transform_batch(batch):
                    output.records += made.decode(conform(each, made))
            else:
                _emit_all(plugin, given.decode(batch), stage, output)
        finally:
            plugin.destroy()
    output.metrics = dict(metrics.counts)
    _check(stage, output)
    return output


def _lookups(
    names: Sequence[str], tables: Mapping[str, GivenTable], folder: Path
) -> list[LookupFile]:
    """The tables that a plugin names."""
    given = GivenTables(tables, folder)
    return [
        lookup_file(name, given.export("default", name), folder / str(number))
        for number, name in enumerate(dict.fromkeys(names))
    ]


def _emit_all(plugin: Any, records: list[Record], stage: Stage, output: StageOutput) -> None:
    emit = CollectingEmitter(stage.name, output)
    if isinstance(plugin, SplitterTransform):
        to_port = CollectingPorts(output)
        for record in records:
            plugin.transform(record, to_port)
    elif isinstance(plugin, BatchAggregator):
        for key, members in _groups(plugin, records).items():
            plugin.aggregate(decode_key(key), iter(members), emit)
    elif isinstance(plugin, ErrorTransform):
        for row in records:
            failed = FailedRecord(row["record"], row["code"], row["message"], row["stage"])
            plugin.transform(failed, emit)
    elif has_override(type(plugin), "transform_records"):
        plugin.transform_records(records, emit)
    else:
        for record in records:
            plugin.transform(record, emit)


def _groups(plugin: BatchAggregator, records: list[Record]) -> dict[bytes, list[Record]]:
    """The records by key, in the order in which the keys appear."""
    groups: dict[bytes, list[Record]] = {}
    for record in records:
        for key in plugin.group_by(record):
            groups.setdefault(encode_key(key), []).append(record)
    return groups


def _fed(plugin: Plugin, stage: Stage) -> Schema:
    """The schema of the records that the plugin gets: only the fields that it says it reads."""
    source, schema = next(iter(stage.input_schemas.items()))
    if isinstance(plugin, ErrorTransform):
        return error_record_schema(schema)
    wanted = read_fields(plugin, stage)[source]
    return Schema.record(schema.name or "record", [f for f in schema if f.name in wanted])


def _completed(plugin: Plugin, records: Sequence[Record]) -> list[Record]:
    if not isinstance(plugin, ErrorTransform):
        return list(records)
    return [{"stage": "input"} | record for record in records]


def _check(stage: Stage, output: StageOutput) -> None:
    """Give all that was emitted the form in which the next stage gets it.

    :raises StageError: when there is no output schema, or a record does not fit.
    """
    if stage.type != SPLITTER:
        output.records = _passed_on(stage.schema(Stream(stage.name)), output.records)
    for port, schema in stage.port_schemas.items():
        output.ports[port] = _passed_on(schema, output.ports[port])
    errors = stage.schema(Stream(stage.name, errors=True))
    output.errors = _passed_on(error_record_schema(errors), output.errors)


def _passed_on(schema: Schema, records: list[Record]) -> list[Record]:
    codec = RecordCodec(schema)
    return codec.decode(codec.encode(records))


def stage_facts(stage: Stage, arguments: dict[str, str]) -> StageFacts:
    """What a stage under test knows of its run."""
    return StageFacts(
        stage_name=stage.name,
        namespace="default",
        run_id="test",
        arguments=dict(arguments),
        logical_start_time=START,
        input_schemas=stage.input_schemas,
        output_schema=stage.output_schema,
        error_schema=stage.error_schema,
        port_schemas=stage.port_schemas,
    )
