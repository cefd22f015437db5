"""The field lineage of one stage, as its plugin records it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from localcdap.api.lineage import (
    EdgeKind,
    FieldEdge,
    FieldOperation,
    LineageRecorder,
    StageLineage,
    assume_edges,
    build_lookup_edges,
)
from localcdap.api.plugin import BatchJoiner, BatchSink, BatchSource, Plugin, has_override
from localcdap.api.schema import Schema
from localcdap.api.stage import StageConfigurer
from localcdap.api.tables import TableShape, keep_table
from localcdap.artifacts.loading import UsedPlugins, load_plugin
from localcdap.decoders import convert
from localcdap.sandbox.stage_configuration import ConfigureRequest


class LineageRequest(msgspec.Struct):
    """A valid stage whose lineage is asked for."""

    configured: ConfigureRequest
    """How the stage was configured."""
    output_schema: Schema | None = None
    error_schema: Schema | None = None
    port_schemas: dict[str, Schema] = {}
    tables: dict[str, TableShape] = {}
    """The columns of tables for lookups, by name, as far as they are known."""

    def create_configurer(self) -> StageConfigurer:
        """Return the stage as its plugin has configured it."""
        given, ports = self.configured, list(self.port_schemas)
        stage = StageConfigurer(given.stage, given.input_schemas, output_ports=ports)
        stage.output_schema = self.output_schema
        stage.error_schema = self.error_schema
        stage.port_schemas = self.port_schemas
        return stage


def trace_stage(request: LineageRequest) -> StageLineage:
    """Return the lineage of a stage in this process; it is assumed where the plugin raises.

    :raises MemoryError: when it takes more memory than there is.
    """
    given = request.configured
    stage = request.create_configurer()
    asked: dict[str, None] = {}

    def find_table(name: str) -> TableShape | None:
        asked[name] = None
        return keep_table(request.tables.get(name))

    stage.find_table = find_table
    try:
        cls = load_plugin(given.plugin)
        stage.find_plugin = UsedPlugins(given.plugin.uses)
        plugin = cls(cls.Config.build(given.properties, stage.failures, given.macros))
        found = record_lineage(plugin, given.plugin.type, stage)
        return msgspec.structs.replace(found, tables=list(asked))
    except MemoryError:
        raise
    except (Exception, SystemExit):
        return assume_lineage(given.plugin.type, stage)


def record_lineage(
    plugin: Plugin, type_name: str, stage: StageConfigurer, recorded: Sequence[FieldOperation] = ()
) -> StageLineage:
    """Return the lineage of a stage with the operations and edges that its plugin records.

    Where the plugin records nothing, all is assumed, within the fields that it reads.

    :param type_name: the plugin type.
    :param recorded: what the plugin recorded in ``prepare_run``.
    :raises Exception: what the plugin raises, and for what it recorded with wrong types.
    """
    recorder = LineageRecorder(stage)
    plugin.record_lineage(recorder)
    recorder.record(*recorded)
    is_end = isinstance(plugin, BatchSource | BatchSink)
    if is_end or recorder.operations or has_override(type(plugin), "record_lineage"):
        edges = recorder.list_edges()
    else:
        edges = assume_edges(_list_read_fields(plugin, recorder), recorder.outputs)
        edges += _assume_lookups(plugin, recorder)
    if isinstance(plugin, BatchSink) and not edges:
        edges = _list_written(plugin, recorder)
    found = StageLineage(
        stage.name,
        type_name,
        recorder.operations,
        edges,
        recorder.inputs,
        recorder.outputs,
        recorder.datasets,
        derived=bool(recorder.operations) and not recorder.has_edges,
    )
    return convert(msgspec.to_builtins(found), StageLineage)


def assume_lineage(type_name: str, stage: StageConfigurer) -> StageLineage:
    """Return the lineage of a stage of which nothing is known."""
    recorder = LineageRecorder(stage)
    edges = assume_edges(recorder.inputs, recorder.outputs)
    return StageLineage(stage.name, type_name, [], edges, recorder.inputs, recorder.outputs)


def pass_fields(type_name: str, stage: StageConfigurer) -> StageLineage:
    """Return the lineage of a stage that changes no record, such as a condition."""
    recorder = LineageRecorder(stage)
    fields = recorder.input_fields
    edges = [FieldEdge(name, name, EdgeKind.IDENTITY) for name in fields]
    return StageLineage(stage.name, type_name, [], edges, recorder.inputs, fields)


def _list_written(sink: BatchSink, recorder: LineageRecorder) -> list[FieldEdge]:
    """Return the edges of a sink that records none: it writes the fields of its schema, if it has one."""
    declared = getattr(sink.config, "schema", None)
    names = recorder.input_fields
    written = declared.field_names if isinstance(declared, Schema) else names
    return [FieldEdge(name, name, EdgeKind.IDENTITY) for name in names if name in written]


def _assume_lookups(plugin: Plugin, recorder: LineageRecorder) -> list[FieldEdge]:
    """Return the edges to each output field, and to the records, from the tables that a plugin looks into."""
    list_tables = getattr(plugin, "lookup_tables", None)
    names = () if list_tables is None else list_tables()
    shapes = {name: recorder.find_table(name) for name in names}
    edges: list[FieldEdge] = []
    for table, shape in shapes.items():
        for output in recorder.outputs:
            edges += build_lookup_edges(output, table, shape, assumed=True)
        edges += [
            FieldEdge(name, None, EdgeKind.FILTER, dataset=table, assumed=True)
            for name in shape.schema.field_names
        ]
    return edges


def _list_read_fields(plugin: Plugin, recorder: LineageRecorder) -> dict[str, list[str]]:
    """Return the fields that a plugin reads of each input: its output depends on no others."""
    inputs, stage = recorder.inputs, recorder.stage
    if isinstance(plugin, BatchJoiner):
        return inputs | (plugin.input_fields_by_stage(stage) or {})
    list_fields = getattr(plugin, "input_fields", None)
    names = list_fields(stage) if list_fields is not None else None
    if names is None:
        return inputs
    return {each: [name for name in fields if name in names] for each, fields in inputs.items()}
