"""Where a value failed: a second, small evaluation after a job has failed.

Spark computes all stages of a pipeline in one job. Its error says what went wrong with a value; it names
neither the record nor the field, and of some errors not even the expression (sums of decimals, Python
functions, what a reader meets in a file or a database). After the failure, stages are therefore computed
once more: the outputs one after the other until one fails, which is that of the stage at fault, and then that
stage alone, on fewer and fewer of its input records and with fewer and fewer of its output fields.

All of it together takes :data:`_LIMIT_S` at most; after a longer job up to :data:`_MOST_LIMIT_S`. What is
not found by then is left out of the message.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.record_json import encode_record
from localcdap.api.schema import Schema
from localcdap.api.sql_names import quote_column
from localcdap.engine.messages.flow import DATA_TYPES, Flow, Stage
from localcdap.engine.plan.error_attribution import (
    describe_place,
    find_failing_stage,
    find_root,
    is_attributed,
    stage_scope,
    to_stage_error,
)
from localcdap.engine.plan.spark_errors import get_error_kind
from localcdap.engine.plan.spark_types import spark_schema
from localcdap.engine.plan.streams import AppliedStage, Plan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_LIMIT_S: Final = 30.0
_MOST_LIMIT_S: Final = 60.0
_MOST_ROWS: Final = 50_000
"""A stage with more input records than this is not computed again."""
_MOST_BYTES: Final = 64 * 1024 * 1024
_TAG: Final = "localcdap-error-search"


def explain_error(
    error: StageError, plan: Plan, flow: Flow, spark: SparkSession, took_s: float
) -> StageError:
    """Return the error of a job with the stage, the field and the record at fault, as far as they are found.

    :param error: of a sink, raised from what Spark has raised.
    :param took_s: the seconds that the job took until it failed.
    """
    cause = find_root(error)
    kind = None if cause is error or is_attributed(cause) else get_error_kind(cause)
    if kind is None:
        return error
    limit = min(max(_LIMIT_S, 3 * took_s), _MOST_LIMIT_S)
    search = _Search(plan, flow, spark, kind, limit)
    try:
        return search.explain(error, cause)
    except Exception:  # what is known already is better than the failure of a search
        return error
    finally:
        search.end()


class _Search:
    """One search; its jobs are interrupted when the time is over.

    :param kind: of the error that is searched, see :func:`~.spark_errors.get_error_kind`.
    """

    def __init__(
        self, plan: Plan, flow: Flow, spark: SparkSession, kind: str, limit_s: float
    ) -> None:
        self._plan: Final = plan
        self._flow: Final = flow
        self._spark: Final = spark
        self._kind: Final = kind
        self._end: Final = time.monotonic() + limit_s
        spark.addTag(_TAG)
        self._timer: Final = threading.Timer(limit_s, self._interrupt)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """Interrupt nothing from now on."""
        self._timer.cancel()
        with suppress(Exception):
            self._spark.removeTag(_TAG)

    def _interrupt(self) -> None:
        with suppress(Exception):
            self._spark.interruptTag(_TAG)

    def explain(self, error: StageError, cause: BaseException) -> StageError:
        stage = find_failing_stage(cause, self._flow.stages)
        if stage is None:
            stage, found = self._find_stage(error.stage)
            if stage is None:
                return error
            cause = found or cause
        field, record = self._find_value(self._flow.get_stage(stage))
        explained = to_stage_error(
            cause,
            stage,
            place=describe_place(cause, field),
            plugin=self._plan.plugins.get(stage),
        )
        explained.record = record
        return explained

    def _find_stage(self, sink: str | None) -> tuple[str | None, BaseException | None]:
        """Return the first stage whose output cannot be computed, and its error.

        :param sink: the stage whose job has failed.
        """
        for stage in self._list_before(sink):
            for stream, frame in self._plan.frames.items():
                if stream.stage == stage.name and not stream.errors:
                    raised = self._fails(frame)
                    if raised is not None:
                        return stage.name, raised
        return None, None

    def _list_before(self, sink: str | None) -> list[Stage]:
        """Return the data stages from which records reach a stage, in topological order."""
        wanted = {sink}
        for stage in reversed(self._flow.stages):
            if stage.name in wanted:
                wanted.update(stream.stage for stream in self._flow.list_inputs(stage.name))
        return [s for s in self._flow.stages if s.name in wanted and s.type in DATA_TYPES]

    def _find_value(self, stage: Stage) -> tuple[str | None, str | None]:
        """Return the output field and the JSON of the input record at fault; None: not found."""
        applied = self._plan.applied.get(stage.name)
        if applied is None:
            return None, None
        tables = self._read_inputs(applied)
        if tables is None:
            return None, None
        probe = _Probe(applied, tables, self)
        with suppress(TimeoutError):
            if probe.fails():
                record = probe.find_record()
                return probe.find_field(), record
        return None, None

    def _read_inputs(self, applied: AppliedStage) -> dict[str, pa.Table] | None:
        """Return the input records of a stage; None when they are too many, or cannot be computed."""
        tables = {}
        for name, frame in applied.inputs.items():
            try:
                table = frame.limit(_MOST_ROWS + 1).toArrow()
            except Exception:
                return None
            if table.num_rows > _MOST_ROWS or table.nbytes > _MOST_BYTES:
                return None
            tables[name] = table
        return tables

    def _fails(self, frame: DataFrame) -> BaseException | None:
        """Return the error of computing a DataFrame if it is the one that is searched.

        :raises TimeoutError: when the time is over.
        """
        if time.monotonic() > self._end:
            raise TimeoutError
        try:
            frame.write.format("noop").mode("overwrite").save()
        except Exception as error:
            if time.monotonic() > self._end:
                raise TimeoutError from error
            return error if get_error_kind(error) == self._kind else None
        return None

    def fails_on(
        self, applied: AppliedStage, tables: Mapping[str, pa.Table], fields: Sequence[str] | None
    ) -> bool:
        """Return whether a stage fails on some records when only some of its fields are computed.

        :param fields: None for all.
        """
        with stage_scope(applied.stage.name):
            # In one part: the order stays, and the optimizer does not compute fields that nobody reads.
            inputs = {
                name: self._spark.createDataFrame(
                    table, spark_schema(applied.schemas[name], nullable=True)
                ).coalesce(1)
                for name, table in tables.items()
            }
            try:
                kept = None if fields is None else [quote_column(each) for each in fields]
                for frame in applied.apply(inputs):
                    part = frame if kept is None else frame.selectExpr(*kept or ["1 AS one"])
                    if self._fails(part) is not None:
                        return True
            except TimeoutError:
                raise
            except Exception:
                return False
        return False


class _Probe:
    """The stage at fault with the records on which it fails, ever fewer."""

    def __init__(self, applied: AppliedStage, tables: dict[str, pa.Table], search: _Search) -> None:
        self._applied: Final = applied
        self._tables: Final = tables
        self._search: Final = search

    def fails(self, fields: Sequence[str] | None = None) -> bool:
        return self._search.fails_on(self._applied, self._tables, fields)

    def find_record(self) -> str | None:
        """Leave as few records as make the stage fail, and return the last one of the first input.

        Of an aggregation this is the record with which it fails, after those before it.
        """
        with suppress(TimeoutError):
            for name in self._tables:
                self._cut(name)
            for name, table in self._tables.items():
                if table.num_rows > 1:
                    self._try(name, table.slice(table.num_rows - 1))
        name, table = next(iter(self._tables.items()))
        if not table.num_rows:
            return None
        return _encode(self._applied, name, table.slice(table.num_rows - 1))

    def _cut(self, name: str) -> None:
        """Leave the fewest of the first records of an input that make the stage fail."""
        table = self._tables[name]
        fails, passes = table.num_rows, -1
        while fails - passes > 1:
            middle = (fails + passes) // 2
            if self._try(name, table.slice(0, middle)):
                fails = middle
            else:
                passes = middle

    def _try(self, name: str, table: pa.Table) -> bool:
        """Replace the records of an input if the stage fails on the new ones, too; return whether it does."""
        before = self._tables[name]
        self._tables[name] = table
        is_kept = False
        try:
            is_kept = self.fails()
        finally:
            if not is_kept:
                self._tables[name] = before
        return is_kept

    def find_field(self) -> str | None:
        """Return the output field that cannot be computed; None when it is a condition or several fields."""
        schema = self._applied.stage.output_schema
        with suppress(TimeoutError):
            if schema is None or self._applied.stage.port_schemas or self.fails([]):
                return None
            return _find_one(schema.field_names, self.fails)
        return None


def _find_one(names: Sequence[str], fails: Callable[[Sequence[str]], bool]) -> str | None:
    """Return one of the names, of which all together fail, that fails alone; None when there is none."""
    while len(names) > 1:
        half = names[: len(names) // 2]
        names = half if fails(half) else names[len(half) :]
    return names[0] if names and fails(names) else None


def _encode(applied: AppliedStage, name: str, row: pa.Table) -> str | None:
    """Return the JSON of the only row of a table."""
    fields = [(field.name, field.schema.as_nullable) for field in applied.schemas[name]]
    codec = RecordCodec(Schema.record("record", fields))
    with suppress(Exception):
        batch = row.cast(codec.arrow).combine_chunks().to_batches()[0]
        return encode_record(codec.decode(batch)[0])
    return None
