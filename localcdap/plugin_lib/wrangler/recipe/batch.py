"""Directives run on rows, in Spark's Python workers and wherever else rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.directive import Directive, DirectiveError, ErrorRow
from localcdap.api.directive.rows import Columns, Row, RowContext
from localcdap.api.errors import LocalcdapError
from localcdap.api.schema import Schema
from localcdap.api.tables import Lookup
from localcdap.plugin_lib.wrangler.recipe.output import Converter
from localcdap.plugin_lib.wrangler.recipe.spark_frame import FAILURE, SENT, failure_prefix

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_TEXT: Final = 4000
"""Characters of a message; values that it quotes may be huge."""


class RowFailure(msgspec.Struct, frozen=True):
    """What became of a record that gave no row."""

    kind: int
    """:data:`FAILURE` or :data:`SENT`."""
    code: int
    message: str


class _NoMetrics:
    def count(self, name: str, delta: int = 1) -> None:
        """Counts of single directives are not kept."""


class Executor:
    """Runs directives on one record after another.

    :param output: the schema that records must have at the end; None to leave rows as they are.
    :param lookups: by name, the tables that the directives name.
    """

    def __init__(
        self,
        directives: Sequence[Directive],
        arguments: Mapping[str, str],
        output: Schema | None = None,
        metrics: Any = None,
        lookups: Mapping[str, Lookup] = MappingProxyType({}),
    ) -> None:
        self.context: Final = RowContext(metrics or _NoMetrics(), arguments, lookups)
        self._directives: Final = list(directives)
        self._converter: Final = None if output is None else Converter(output)
        self._steps: Final = [_step(directive) for directive in directives]
        self._name = ""

    def start(self) -> None:
        """Called once before the first record."""
        for directive in self._directives:
            directive.start(self.context)

    def end(self) -> None:
        """Called once after the last record."""
        for directive in self._directives:
            directive.end()

    def run(self, record: Mapping[str, Any]) -> list[Any] | RowFailure:
        """The rows, or records of the output schema, that a record becomes."""
        self.context.variables.clear()
        try:
            rows = self._rows(Row(record))
            if self._converter is not None:
                self._name = ""
                convert = self._converter.record
                return [convert(row) for row in rows]
        except ErrorRow as error:
            return RowFailure(SENT, error.code, _clean(error.message))
        except DirectiveError as error:
            prefix = failure_prefix(self._name) if self._name else ""
            return _failure(prefix + str(error))
        except (Exception, SystemExit) as error:
            told = str(error) or type(error).__name__
            return _failure(failure_prefix(self._name) + told)
        return rows

    def _rows(self, row: Row) -> list[Row]:
        rows = [row]
        context = self.context
        for name, change, expand in self._steps:
            self._name = name
            if change is not None:
                for each in rows:
                    change(each, context)
                continue
            if len(rows) == 1:
                rows = list(expand(rows[0], context))
            else:
                rows = [made for each in rows for made in expand(each, context)]
            if not rows:
                break
        return rows


def _step(directive: Directive) -> tuple[str, Any, Any]:
    """A directive's name, and how it is called: to change a row where it makes one of one."""
    cls = type(directive)
    changes = cls.expand is Directive.expand
    return cls.directive_name(), directive.change if changes else None, directive.expand


class BatchTask:
    """Turns batches of a frame into batches of the next frame.

    A batch holds the columns of ``given`` by position, then those that are carried: errors, input records.
    What it becomes holds the columns of ``made``, then errors, then input records.

    :param build: makes the directives, in the process where they run.
    :param is_final: whether ``made`` is the declared schema, which values are converted to.
    """

    def __init__(
        self,
        build: Callable[[], Sequence[Directive]],
        given: Schema,
        made: Schema,
        arguments: Mapping[str, str],
        *,
        is_final: bool,
        has_errors: bool,
        has_input: bool,
        lookups: Mapping[str, Lookup] = MappingProxyType({}),
    ) -> None:
        self._build: Final = build
        self._given: Final = given
        self._made: Final = made
        self._arguments: Final = dict(arguments)
        self._is_final: Final = is_final
        self._has_errors: Final = has_errors
        self._has_input: Final = has_input
        self._lookups: Final = dict(lookups)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        output = self._made if self._is_final else None
        directives = self._build()
        columns = Columns((field.name, field.schema) for field in self._given)
        for directive in directives:
            directive.propagate(columns)
        executor = Executor(directives, self._arguments, output, lookups=self._lookups)
        given, made = RecordCodec(self._given), RecordCodec(self._made)
        executor.start()
        for batch in batches:
            yield from _Pass(self, executor, given, made).process(batch)
        executor.end()

    @property
    def carries_errors(self) -> bool:
        return self._has_errors

    @property
    def carries_input(self) -> bool:
        return self._has_input


def _as_printed(column: pa.Array) -> pa.Array:
    """Floats of 32 bits as the doubles that print alike, which directives take them for."""
    import pyarrow as pa

    if not pa.types.is_float32(column.type):
        return column
    return column.cast(pa.string()).cast(pa.float64())


class _Pass:
    """The way of one batch through the directives."""

    def __init__(
        self, task: BatchTask, executor: Executor, given: RecordCodec, made: RecordCodec
    ) -> None:
        self._task = task
        self._executor = executor
        self._given = given
        self._made = made
        self.records: list[Any] = []
        self.origins: list[int] = []
        self.failures: list[tuple[int, RowFailure]] = []

    def process(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        width = len(self._given.schema.field_names)
        columns = batch.columns
        rows = self._decoded(columns[:width], batch.num_rows)
        before = columns[width].to_pylist() if self._task.carries_errors else None
        run = self._executor.run
        for index, row in enumerate(rows):
            if before is not None and before[index] is not None:
                self.failures.append((index, RowFailure(**before[index])))
                continue
            made = run(row)
            if isinstance(made, RowFailure):
                self.failures.append((index, made))
            else:
                self.records += made
                self.origins += [index] * len(made)
        inputs = columns[-1] if self._task.carries_input else None
        yield from self._encoded(self.records, self.origins, inputs)
        if self.failures:
            yield self._failed(inputs)

    def _decoded(self, columns: list[Any], rows: int) -> list[dict[str, Any]]:
        import pyarrow as pa

        if not columns:
            return [{} for _ in range(rows)]
        names = self._given.schema.field_names
        printed = [_as_printed(column) for column in columns]
        return self._given.decode(pa.RecordBatch.from_arrays(printed, names=names))

    def _encoded(
        self, records: list[Any], origins: list[int], inputs: Any
    ) -> Iterator[pa.RecordBatch]:
        """Batches of records; those that do not fit the schema fail alone."""
        import pyarrow as pa

        if not records:
            return
        try:
            batch = self._made.encode(records)
        except (LocalcdapError, pa.ArrowException, ValueError, OverflowError, TypeError) as error:
            half = _boundary(origins)
            if not half:
                message = error.message if isinstance(error, LocalcdapError) else str(error)
                self.failures.append((origins[0], _failure(message)))
                return
            yield from self._encoded(records[:half], origins[:half], inputs)
            yield from self._encoded(records[half:], origins[half:], inputs)
            return
        yield self._whole(batch.columns, [None] * len(records), origins, inputs)

    def _failed(self, inputs: Any) -> pa.RecordBatch:
        import pyarrow as pa

        failed = dict(self.failures)  # a record fails once, whatever became of its other rows
        columns: list[Any] = [pa.nulls(len(failed), field.type) for field in self._made.arrow]
        told = [msgspec.structs.asdict(each) for each in failed.values()]
        return self._whole(columns, told, list(failed), inputs)

    def _whole(
        self, columns: list[Any], told: list[Any], origins: list[int], inputs: Any
    ) -> pa.RecordBatch:
        import pyarrow as pa

        arrays = [*columns, pa.array(told, error_type())]
        if inputs is not None:
            arrays.append(inputs.take(pa.array(origins, pa.int32())))
        return pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))])


def _boundary(origins: list[int]) -> int:
    """Where to cut, near the middle, so that the rows of one record stay together; 0 for one record."""
    middle = len(origins) // 2
    cuts = chain(range(middle, 0, -1), range(middle + 1, len(origins)))
    for cut in cuts:
        if origins[cut - 1] != origins[cut]:
            return cut
    return 0


def _failure(message: str) -> RowFailure:
    return RowFailure(FAILURE, 0, _clean(message))


def _clean(message: str) -> str:
    """A message of bearable length that Arrow can hold."""
    cut = message if len(message) <= _MOST_TEXT else message[: _MOST_TEXT - 1] + "…"
    return cut.encode("utf-8", "replace").decode("utf-8")


def error_type() -> pa.DataType:
    """The Arrow type of errors."""
    import pyarrow as pa

    return pa.struct([("kind", pa.int32()), ("code", pa.int32()), ("message", pa.string())])
