"""Runs directives on rows, in Spark's Python workers and in processes that have rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.directive import Directive, DirectiveError, ErrorRow
from localcdap.api.directive.rows import Columns, Row, RowContext
from localcdap.api.errors import LocalcdapError
from localcdap.api.record_json import encode_record
from localcdap.api.schema import Schema
from localcdap.api.tables import Lookup
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.wrangler.recipe.output import OutputConverter
from localcdap.plugin_lib.wrangler.recipe.spark_frame import FAILURE, SENT, format_failure_prefix

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_MESSAGE: Final = 4000
"""Characters of a message. Values that it quotes may be huge."""


class RowFailure(msgspec.Struct, frozen=True):
    """The reason why a record gave no row."""

    kind: int
    """:data:`FAILURE` or :data:`SENT`."""
    code: int
    message: str
    record: str | None = None
    """The row as it came to the batches, as JSON; None unless it is kept."""


class _NoMetrics:
    def count(self, name: str, delta: int = 1) -> None:
        """Ignore the count: metrics of single directives are not stored."""


def make_row_context(
    arguments: Mapping[str, str] = MappingProxyType({}),
    metrics: Any = None,
    lookups: Mapping[str, Lookup] = MappingProxyType({}),
) -> RowContext:
    """Return what directives get with a row; without ``metrics``, what they count is ignored."""
    return RowContext(metrics or _NoMetrics(), arguments, lookups)


class RecipeExecutor:
    """Runs directives on one record after another.

    :param output: the schema to which rows are converted at the end; None to leave them as they are.
    :param lookups: the tables that the directives name, by name.
    """

    def __init__(
        self,
        directives: Sequence[Directive],
        arguments: Mapping[str, str],
        output: Schema | None = None,
        metrics: Any = None,
        lookups: Mapping[str, Lookup] = MappingProxyType({}),
    ) -> None:
        self.context: Final = make_row_context(arguments, metrics, lookups)
        self._directives: Final = list(directives)
        self._converter: Final = None if output is None else OutputConverter(output)
        self._steps: Final = [find_calls(directive) for directive in directives]
        self._step: _Calls | None = None
        """The step that runs; None after the last one."""

    @property
    def position(self) -> int:
        """The number, from 1, of the directive at which the last record has failed; 0: after all of them."""
        steps = (number for number, each in enumerate(self._steps, 1) if each is self._step)
        return next(steps, 0)

    @property
    def _name(self) -> str:
        return "" if self._step is None else self._step[0]

    def start(self) -> None:
        """Start the directives, once before the first record."""
        for directive in self._directives:
            directive.start(self.context)

    def end(self) -> None:
        """End the directives, once after the last record."""
        for directive in self._directives:
            directive.end()

    def run(self, record: Mapping[str, Any]) -> list[Any] | RowFailure:
        """Return the rows, or records of the output schema, that a record becomes; or why it fails."""
        self.context.variables.clear()
        try:
            rows = self._apply(Row(record))
            if self._converter is not None:
                self._step = None
                convert = self._converter.convert
                return [convert(row) for row in rows]
        except (Exception, SystemExit) as error:
            return describe_failure(error, self._name)
        return rows

    def _apply(self, row: Row) -> list[Row]:
        rows = [row]
        context = self.context
        for step in self._steps:
            self._step = step
            _, change, expand = step
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


def describe_failure(error: BaseException, directive: str) -> RowFailure:
    """Return what an exception of a directive says of its row.

    :param directive: the name; "" for the conversion to the output.
    """
    if isinstance(error, ErrorRow):
        return RowFailure(SENT, error.code, _shorten(error.message))
    message = str(error)
    if not isinstance(error, DirectiveError):
        message = message or type(error).__name__
    return make_failure(format_failure_prefix(directive) + message)


_Calls = tuple[str, Any, Any]


def find_calls(directive: Directive) -> _Calls:
    """Return a directive's name, its ``change`` if each row becomes one row, and its ``expand``."""
    cls = type(directive)
    changes = cls.expand is Directive.expand
    return cls.directive_name(), directive.change if changes else None, directive.expand


class BatchTask:
    """Turns batches of a frame into batches of the next frame.

    An input batch holds the columns of ``given`` by position, then the carried ones: errors, input records.
    An output batch holds the columns of ``made``, then errors, then input records.

    :param build: builds the directives, in the process where they run.
    :param is_final: whether ``made`` is the declared schema, to which values are converted.
    :param blank_texts: the columns of ``made``, in lower case, whose blank texts become null if it is not.
    :param keeps_record: whether errors hold the row at fault as JSON.
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
        blank_texts: frozenset[str] = frozenset(),
        lookups: Mapping[str, Lookup] = MappingProxyType({}),
        keeps_record: bool = False,
    ) -> None:
        self._build: Final = build
        self._given: Final = given
        self._made: Final = made
        self._arguments: Final = dict(arguments)
        self._is_final: Final = is_final
        self._has_errors: Final = has_errors
        self._has_input: Final = has_input
        self._blank_texts: Final = [] if is_final else sorted(blank_texts)
        self._lookups: Final = dict(lookups)
        self._keeps_record: Final = keeps_record

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        output = self._made if self._is_final else None
        directives = self._build()
        columns = Columns((field.name, field.schema) for field in self._given)
        for directive in directives:
            directive.propagate(columns)
        executor = RecipeExecutor(directives, self._arguments, output, lookups=self._lookups)
        given, made = RecordCodec(self._given), RecordCodec(self._made)
        executor.start()
        for batch in batches:
            yield from _BatchRun(self, executor, given, made).process(batch)
        executor.end()

    @property
    def carries_errors(self) -> bool:
        return self._has_errors

    @property
    def keeps_record(self) -> bool:
        return self._keeps_record

    @property
    def carries_input(self) -> bool:
        return self._has_input

    def remove_blank_texts(self, rows: Iterable[Row]) -> None:
        """Make the texts null that ``set-type`` has left, in columns that Spark holds as another type."""
        for name, row in product(self._blank_texts, rows):
            value = row.value(name)
            if isinstance(value, str) and not value.strip(TRIM_CHARACTERS):
                row.put(name, None)


def _widen_floats(column: pa.Array) -> pa.Array:
    """Return 32-bit floats as the doubles with the same text, as which directives handle them."""
    import pyarrow as pa

    if not pa.types.is_float32(column.type):
        return column
    return column.cast(pa.string()).cast(pa.float64())


class _BatchRun:
    """A batch that the directives process one after the other."""

    def __init__(
        self, task: BatchTask, executor: RecipeExecutor, given: RecordCodec, made: RecordCodec
    ) -> None:
        self._task = task
        self._executor = executor
        self._given = given
        self._made = made
        self.records: list[Any] = []
        self.origins: list[int] = []
        self.failures: list[tuple[int, RowFailure]] = []
        self._rows: list[dict[str, Any]] = []

    def process(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        width = len(self._given.schema.field_names)
        columns = batch.columns
        rows = self._rows = self._decode(columns[:width], batch.num_rows)
        before = columns[width].to_pylist() if self._task.carries_errors else None
        run = self._executor.run
        for index, row in enumerate(rows):
            if before is not None and before[index] is not None:
                self.failures.append((index, RowFailure(**before[index])))
                continue
            made = run(row)
            if isinstance(made, RowFailure):
                self.failures.append((index, self._add_record(made, index)))
            else:
                self._task.remove_blank_texts(made)
                self.records += made
                self.origins += [index] * len(made)
        inputs = columns[-1] if self._task.carries_input else None
        yield from self._encode(self.records, self.origins, inputs)
        if self.failures:
            yield self._make_failed_batch(inputs)

    def _add_record(self, failure: RowFailure, index: int) -> RowFailure:
        if not self._task.keeps_record:
            return failure
        return msgspec.structs.replace(failure, record=encode_record(self._rows[index]))

    def _decode(self, columns: list[Any], rows: int) -> list[dict[str, Any]]:
        import pyarrow as pa

        if not columns:
            return [{} for _ in range(rows)]
        names = self._given.schema.field_names
        widened = [_widen_floats(column) for column in columns]
        return self._given.decode(pa.RecordBatch.from_arrays(widened, names=names))

    def _encode(
        self, records: list[Any], origins: list[int], inputs: Any
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches of records. A record that does not match the schema fails alone."""
        import pyarrow as pa

        if not records:
            return
        try:
            batch = self._made.encode(records)
        except (LocalcdapError, pa.ArrowException, ValueError, OverflowError, TypeError) as error:
            half = _find_boundary(origins)
            if not half:
                message = error.message if isinstance(error, LocalcdapError) else str(error)
                failure = self._add_record(make_failure(message), origins[0])
                self.failures.append((origins[0], failure))
                return
            yield from self._encode(records[:half], origins[:half], inputs)
            yield from self._encode(records[half:], origins[half:], inputs)
            return
        yield self._make_batch(batch.columns, [None] * len(records), origins, inputs)

    def _make_failed_batch(self, inputs: Any) -> pa.RecordBatch:
        import pyarrow as pa

        failed = dict(
            self.failures
        )  # a record fails once, also if another of its rows does not fail
        columns: list[Any] = [pa.nulls(len(failed), field.type) for field in self._made.arrow]
        errors = [msgspec.structs.asdict(each) for each in failed.values()]
        return self._make_batch(columns, errors, list(failed), inputs)

    def _make_batch(
        self, columns: list[Any], errors: list[Any], origins: list[int], inputs: Any
    ) -> pa.RecordBatch:
        import pyarrow as pa

        arrays = [*columns, pa.array(errors, make_error_type())]
        if inputs is not None:
            arrays.append(inputs.take(pa.array(origins, pa.int32())))
        return pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))])


def _find_boundary(origins: list[int]) -> int:
    """Return where to split, near the middle, so that a record's rows stay together; 0 for one record."""
    middle = len(origins) // 2
    cuts = chain(range(middle, 0, -1), range(middle + 1, len(origins)))
    for cut in cuts:
        if origins[cut - 1] != origins[cut]:
            return cut
    return 0


def make_failure(message: str) -> RowFailure:
    """Return the failure of a record, with a message of limited length."""
    return RowFailure(FAILURE, 0, _shorten(message))


def _shorten(message: str) -> str:
    """Return a message of at most :data:`_MAX_MESSAGE` characters that Arrow can hold."""
    cut = message if len(message) <= _MAX_MESSAGE else message[: _MAX_MESSAGE - 1] + "…"
    return cut.encode("utf-8", "replace").decode("utf-8")


def make_error_type() -> pa.DataType:
    """Return the Arrow type of errors."""
    import pyarrow as pa

    return pa.struct(
        [
            ("kind", pa.int32()),
            ("code", pa.int32()),
            ("message", pa.string()),
            ("record", pa.string()),
        ]
    )
