"""A single stage run on given records (design "Stage Debugging").

Stages of record and batch grain run in the plugin worker, without Spark (:func:`debug_in_worker`); all
others in the process of a preview.

Expectations of the stages of previews and debugging, checked in this process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError, StageError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.record_json import decode_json_records
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.host_client import create_metadata_reader
from localcdap.engine.messages.flow import (
    ERROR_TRANSFORM,
    SINKS,
    SPLITTER,
    Stage,
    Stream,
    create_plugin,
)
from localcdap.engine.messages.host import TableFiles
from localcdap.engine.messages.orders import StageDebugOrder
from localcdap.engine.messages.samples import StageDebugResult, StageProblem
from localcdap.engine.preview.python_stage import run_python_stage
from localcdap.engine.preview.records import (
    PreviewStageOutput,
    add_stage_names,
    create_feed,
    create_sample,
    get_feed_schema,
    get_stream_schema,
    make_nullable,
)
from localcdap.engine.tasks.context import STAGE_LOGGER, EntityMetadata, StageContextData
from localcdap.engine.tasks.error_records import ErrorRecordBuilder
from localcdap.engine.tasks.failures import StageFailure
from localcdap.engine.tasks.lookups import LookupFile
from localcdap.engine.tasks.pass_plan import PassStage, error_record_schema
from localcdap.engine.tasks.runners import plugin_scope
from localcdap.expectations.batches import BatchChecker
from localcdap.expectations.schema_checks import has_diverting_rule
from localcdap.java.unix_time import from_epoch_millis

if TYPE_CHECKING:
    import pyarrow as pa


ExportTable = Callable[[str], TableFiles]
"""Returns the rows of a table of the namespace as files."""


def check_output(
    stage: Stage, output: PreviewStageOutput, export: ExportTable
) -> PreviewStageOutput:
    """Return the output of a stage with the results of its rules; violating records become error records.

    Where the stage has problems, only its error records take the form that the rules give them.

    :raises StageError: when a rule cannot be checked.
    """
    if not stage.expectations or stage.type in (*SINKS, SPLITTER):
        return output
    batches, errors = dict(output.batches), Stream(stage.name, errors=True)
    if errors in batches and has_diverting_rule(stage.expectations):
        batches[errors] = _create_builder(stage, stage.own_error_schema).convert(batches[errors])
    output = dataclasses.replace(output, batches=batches)
    batch = batches.get(Stream(stage.name))
    if batch is None or output.problems:
        return output
    schema = get_stream_schema(stage, Stream(stage.name))
    checker = _create_checker(stage, schema, export)
    violated = checker.check(batch)
    if any(index is not None for index in violated):
        import pyarrow as pa

        batches[Stream(stage.name)] = batch.filter(pa.array([index is None for index in violated]))
        diverted = _create_builder(stage, schema).divert(batch, violated)
        known = [batches[errors]] if errors in batches else []
        batches[errors] = pa.concat_batches([*known, diverted])
    return dataclasses.replace(output, results=checker.get_results())


def _create_builder(stage: Stage, given: Schema | None) -> ErrorRecordBuilder:
    assert given is not None
    wanted = stage.get_schema(Stream(stage.name, errors=True))
    return ErrorRecordBuilder(stage.name, stage.expectations, given, wanted)


def check_input(
    stage: Stage, schema: Schema, batch: pa.RecordBatch, export: ExportTable
) -> PreviewStageOutput:
    """Return an output without records that has the results of a sink's rules for what reaches it.

    :raises StageError: when a rule cannot be checked.
    """
    if not stage.expectations:
        return PreviewStageOutput()
    checker = _create_checker(stage, schema, export)
    checker.check(batch)
    return PreviewStageOutput(results=checker.get_results())


def _create_checker(stage: Stage, schema: Schema, export: ExportTable) -> BatchChecker:
    from localcdap.plugin_lib.jexl.row_conditions import create_row_test

    read_keys = partial(_read_keys, stage.name, export)
    shown = make_nullable(schema)
    return BatchChecker(stage.name, stage.expectations, shown, create_row_test, read_keys)


def _read_keys(stage: str, export: ExportTable, table: str, key: str) -> set[Any]:
    import pyarrow.parquet as pq

    snapshot = export(table)
    if snapshot.schema.field(key) is None:
        raise StageError(
            f"Stage '{stage}': table '{table}' of an expectation has no column '{key}'.",
            f"Its columns are: {', '.join(snapshot.schema.field_names)}.",
            stage=stage,
        )
    found: set[Any] = set()
    for file in snapshot.files:
        found.update(pq.read_table(file, columns=[key]).column(0).unique().to_pylist())
    return found


_MOST_LINES: Final = 1_000


def debug_in_worker(order: StageDebugOrder) -> StageDebugResult:
    """Run a stage of record or batch grain on given records, in this process.

    :raises BadRequestError: when the records do not fit their schema.
    """
    stage, batches = order.stage, encode_inputs(order.stage, order.inputs)
    streams = list_input_streams(stage)
    with _capture_lines(stage.name) as lines, tempfile.TemporaryDirectory() as folder:
        try:
            with plugin_scope(stage.name):
                plugin: Any = create_plugin(load_plugin(stage.plugin), stage.name, stage.properties)
                schema = get_feed_schema(stage, plugin, streams)
                data = _create_stage_data(order)
                data.lookups = _fetch_lookups(order, plugin.lookup_tables(), Path(folder))
                data.metadata = _fetch_metadata(order, plugin.metadata_entities(order.arguments))
            feed = create_feed(schema, streams, batches)
            alone = create_pass_stage(stage, data, has_error_reader=not order.drops_errors)
            output = run_python_stage(alone, schema, feed)
            output = check_output(stage, output, partial(_export_table, order, Path(folder)))
        except StageError as error:
            problem = StageProblem(error.message, error.corrective_action, stage.name)
            output = PreviewStageOutput(problems=[problem])
        except StageFailure as error:
            failure = error.failure
            problem = StageProblem(failure.message, failure.corrective_action, stage.name)
            output = PreviewStageOutput(problems=[problem])
    return StageDebugResult(create_sample(stage, output, order.shown), lines)


def encode_inputs(stage: Stage, inputs: dict[str, list[Any]]) -> dict[Stream, pa.RecordBatch]:
    """Encode the given records of each input stream of a stage; a stream without records is empty.

    :raises BadRequestError: when they do not fit their schema, or there is no such input stage.
    """
    for name in inputs:
        if name not in stage.input_schemas:
            known = ", ".join(f"'{each}'" for each in stage.input_schemas) or "none"
            raise BadRequestError(
                f"Stage '{stage.name}' has no input stage '{name}'.", f"Its input stages: {known}."
            )
    return {
        stream: _encode_input(stage, stream, inputs.get(stream.stage, []))
        for stream in list_input_streams(stage)
    }


def list_input_streams(stage: Stage) -> list[Stream]:
    """Return the input streams of a stage without a pipeline."""
    errors = stage.type == ERROR_TRANSFORM
    return [Stream(name, errors=errors) for name in stage.input_schemas]


def create_pass_stage(
    stage: Stage, data: StageContextData, *, has_error_reader: bool = True
) -> PassStage:
    """Return a stage in the form in which Spark's workers get it, alone in its pass."""
    return PassStage(stage.plugin, stage.properties, data, [], has_error_reader)


def _encode_input(stage: Stage, stream: Stream, records: list[Any]) -> pa.RecordBatch:
    schema = stage.input_schemas[stream.stage]
    if stream.errors:
        schema = error_record_schema(schema)
        records = add_stage_names(stream, records)
    try:
        return RecordCodec(schema).encode(decode_json_records(schema, records, stream.stage))
    except StageError as error:
        raise BadRequestError(
            f"The records of '{stream.stage}' do not fit their schema: {error.message}",
            error.corrective_action,
        ) from None


def _create_stage_data(order: StageDebugOrder) -> StageContextData:
    stage = order.stage
    return StageContextData(
        stage_name=stage.name,
        namespace=order.namespace,
        run_id=order.run_id,
        arguments=order.arguments,
        logical_start_time=from_epoch_millis(order.logical_start_ms),
        input_schemas=stage.input_schemas,
        output_schema=stage.output_schema,
        error_schema=stage.error_schema,
        port_schemas=stage.port_schemas,
        pipeline_version=stage.pipeline_version,
    )


def _fetch_metadata(
    order: StageDebugOrder, entities: Sequence[MetadataEntity]
) -> list[EntityMetadata]:
    """Fetch the metadata that a stage declares to read from the host."""
    resolved = [entity.resolve(order.namespace) for entity in entities]
    read = create_metadata_reader(order.host_directory)
    return [EntityMetadata(entity, read(entity)) for entity in resolved]


def _fetch_lookups(order: StageDebugOrder, names: Sequence[str], folder: Path) -> list[LookupFile]:
    """Fetch the tables that a stage looks into from the host, as files in a folder."""
    if not names:
        return []
    from localcdap.engine.plan.tables import write_lookup_file

    return [
        write_lookup_file(name, _export_table(order, folder, name), folder / str(number))
        for number, name in enumerate(dict.fromkeys(names))
    ]


def _export_table(order: StageDebugOrder, folder: Path, name: str) -> TableFiles:
    """Return the rows of a table, which the host copies into files below a folder."""
    from localcdap.engine.host_client import HostTables, NoHostTables

    home = order.host_directory
    tables = NoHostTables() if home is None else HostTables(Path(home), folder / "snapshots")
    return tables.export(order.namespace, name)


@contextlib.contextmanager
def _capture_lines(stage: str) -> Iterator[list[str]]:
    """Collect what is printed and what the stage logs, in order."""
    lines: list[str] = []
    logger, printed = logging.getLogger(STAGE_LOGGER + stage), io.StringIO()
    handler = logging.StreamHandler(printed)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        lines += printed.getvalue().splitlines()[:_MOST_LINES]
