"""A stage tried on given records (design "Stage Debugging").

What runs in Python runs in the plugin worker, without Spark, see :func:`try_in_worker`; all else in the
process of a preview.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import logging
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError, StageError
from localcdap.api.record_json import decode_json_records
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.plan.flow import ERROR_TRANSFORM, SPLITTER, Stage, Stream, instantiate
from localcdap.engine.preview.feeds import feed, feed_schema
from localcdap.engine.preview.python_stage import PythonRun, run_in_python
from localcdap.engine.preview.samples import (
    PortSample,
    Problem,
    StageSample,
    shown_errors,
    shown_records,
)
from localcdap.engine.tasks.context import STAGE_LOGGER, StageFacts
from localcdap.engine.tasks.failing import StageFailure
from localcdap.engine.tasks.lookups import LookupFile
from localcdap.engine.tasks.plan import PassStage, error_record_schema
from localcdap.engine.tasks.runners import blamed

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_LINES: Final = 1_000


class Trial(msgspec.Struct):
    """A stage, and the records that it is to be tried on."""

    stage: Stage
    inputs: dict[str, list[Any]]
    """By input stage, as JSON, see :mod:`localcdap.api.record_json`. To an error transform each is an object
    with ``record``, ``code`` and ``message``."""
    shown: int
    """The most records that are shown."""
    namespace: str
    run_id: str
    arguments: dict[str, str]
    logical_start_ms: int
    host_directory: str | None = None
    """The instance's folder, where the host is asked for tables; None when there is none."""


class TrialResult(msgspec.Struct):
    """What came of it."""

    sample: StageSample
    lines: list[str]
    """What the plugin logged and printed."""


def try_in_worker(trial: Trial) -> TrialResult:
    """Try a stage of record or batch grain in this process.

    :raises BadRequestError: when the records do not fit their schema.
    """
    stage, batches = trial.stage, given_batches(trial.stage, trial.inputs)
    streams = input_streams(stage)
    with _heard(stage.name) as lines, tempfile.TemporaryDirectory() as place:
        try:
            with blamed(stage.name):
                plugin: Any = instantiate(load_plugin(stage.plugin), stage.name, stage.properties)
                schema = feed_schema(stage, plugin, streams)
                facts = _facts(trial)
                facts.lookups = _lookups(trial, plugin.lookup_tables(), Path(place))
            made = run_in_python(pass_stage(stage, facts), schema, feed(schema, streams, batches))
        except StageFailure as failure:
            told = failure.failure
            made = PythonRun(problems=[Problem(told.message, told.corrective_action, stage.name)])
    return TrialResult(sample_of(stage, made, trial.shown), lines)


def given_batches(stage: Stage, inputs: dict[str, list[Any]]) -> dict[Stream, pa.RecordBatch]:
    """The given records of each stream that leads to a stage; of a stream without any, none.

    :raises BadRequestError: when they do not fit their schema, or there is no such input stage.
    """
    for name in inputs:
        if name not in stage.input_schemas:
            known = ", ".join(f"'{each}'" for each in stage.input_schemas) or "none"
            raise BadRequestError(
                f"Stage '{stage.name}' has no input stage '{name}'.", f"Its input stages: {known}."
            )
    return {
        stream: _batch(stage, stream, inputs.get(stream.stage, []))
        for stream in input_streams(stage)
    }


def input_streams(stage: Stage) -> list[Stream]:
    """What leads to a stage that stands alone."""
    errors = stage.type == ERROR_TRANSFORM
    return [Stream(name, errors=errors) for name in stage.input_schemas]


def pass_stage(stage: Stage, facts: StageFacts) -> PassStage:
    """A stage as the workers of Spark get it, alone in its pass."""
    return PassStage(stage.plugin, stage.properties, facts, [])


def sample_of(stage: Stage, made: PythonRun, shown: int) -> StageSample:
    """What a stage gave, as it is shown."""
    sample = StageSample(problems=made.problems)
    for stream, batch in made.batches.items():
        schema = stage.schema(stream)
        if stream.errors:
            sample.errors = shown_errors(error_record_schema(schema), batch, shown)
            sample.error_count = batch.num_rows
            continue
        records = shown_records(schema, batch, shown)
        sample.count += batch.num_rows
        if stream.port is None:
            sample.schema, sample.records = schema, records
        else:
            sample.ports[stream.port] = PortSample(schema, records, batch.num_rows)
    if stage.type != SPLITTER and sample.schema is None:
        sample.schema = stage.output_schema
    return sample


def _batch(stage: Stage, stream: Stream, records: list[Any]) -> pa.RecordBatch:
    schema = stage.input_schemas[stream.stage]
    if stream.errors:
        schema = error_record_schema(schema)
        records = [
            {"stage": stream.stage} | each if isinstance(each, dict) else each for each in records
        ]
    try:
        return RecordCodec(schema).encode(decode_json_records(schema, records, stream.stage))
    except StageError as error:
        raise BadRequestError(
            f"The records of '{stream.stage}' do not fit their schema: {error.message}",
            error.corrective_action,
        ) from None


def _facts(trial: Trial) -> StageFacts:
    stage = trial.stage
    start = datetime.datetime.fromtimestamp(trial.logical_start_ms / 1000, datetime.UTC)
    return StageFacts(
        stage_name=stage.name,
        namespace=trial.namespace,
        run_id=trial.run_id,
        arguments=trial.arguments,
        logical_start_time=start,
        input_schemas=stage.input_schemas,
        output_schema=stage.output_schema,
        error_schema=stage.error_schema,
        port_schemas=stage.port_schemas,
    )


def _lookups(trial: Trial, names: Sequence[str], place: Path) -> list[LookupFile]:
    """The tables that a stage looks into, asked for at the host.

    :param place: a folder for them.
    """
    if not names:
        return []
    from localcdap.engine.driver.host_tables import HostTables, NoHostTables
    from localcdap.engine.driver.lookups import lookup_file

    home = trial.host_directory
    tables = NoHostTables() if home is None else HostTables(Path(home), place / "snapshots")
    return [
        lookup_file(name, tables.export(trial.namespace, name), place / str(number))
        for number, name in enumerate(dict.fromkeys(names))
    ]


@contextlib.contextmanager
def _heard(stage: str) -> Iterator[list[str]]:
    """What is printed and what the stage logs, as it comes."""
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
