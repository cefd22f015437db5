"""Recipes compiled: column expressions of Spark as far as it has equals, one pass of batches for the rest.

A recipe becomes native directives, then those that run in batches, then native ones again, where the
columns behind the batches are known. Native directives between two that run in batches join them: a second
pass through Python costs more than they would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from localcdap.api.directive import Directive, NoNativeFormError
from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema
from localcdap.api.tables import Lookup
from localcdap.plugin_lib.wrangler.recipe.batch import BatchTask
from localcdap.plugin_lib.wrangler.recipe.column_usage import named_behind, variables_read
from localcdap.plugin_lib.wrangler.recipe.native_output import convert
from localcdap.plugin_lib.wrangler.recipe.propagation import is_known
from localcdap.plugin_lib.wrangler.recipe.spark_frame import ERROR, INPUT, SparkFrame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ERROR_SCHEMA: Final = Schema.record(
    "error", [("kind", Schema.INT), ("code", Schema.INT), ("message", Schema.STRING)]
)
_NOTHING_NATIVE: Final = "it has no native form"


class Placed(msgspec.Struct):
    """Where a directive runs, and why."""

    source: str
    """As the recipe has it."""
    is_native: bool
    reason: str = ""
    """Why it runs in batches, a clause; empty for a native one."""


class Compiled(msgspec.Struct):
    """A recipe as a DataFrame."""

    frame: DataFrame
    """The columns of the output schema under their names, then those that are carried."""
    carried: tuple[str, ...]
    """:data:`ERROR` where rows can fail, :data:`INPUT` where the records are kept for error records."""
    placed: list[Placed]


class InBatches(Protocol):
    """Runs a task on the batches of a DataFrame; the result has the columns of the schema."""

    def __call__(self, df: DataFrame, run: BatchTask, schema: Schema) -> DataFrame: ...


class Job(msgspec.Struct):
    """What is compiled."""

    directives: list[Directive]
    sources: list[str]
    """For each directive, as the recipe has it."""
    columns: list[Columns]
    """For each directive what is known of the columns before it, and last of those at the end."""
    given: Schema
    """Of the DataFrame, whose columns are these by position, and then :data:`INPUT` if it is kept."""
    declared: Schema
    build: Callable[[int, int], Callable[[], Sequence[Directive]]]
    """Makes, picklable, what makes the directives from one place to another where they run."""
    arguments: Mapping[str, str] = {}
    lookups: Mapping[str, Lookup] = {}
    """By name, the tables that the directives name; can be pickled."""
    input: Schema | None = None
    """Of the input records, where they are kept for error records: their fields go by position."""


class Plan(msgspec.Struct):
    """Which directives run where: those before ``first`` and from ``last`` on are native."""

    first: int
    last: int
    reasons: dict[int, str]
    is_converted_natively: bool
    before: SparkFrame


def compile_recipe(df: DataFrame, job: Job, in_batches: InBatches) -> Compiled:
    """Build the DataFrame of a recipe's output. Nothing is read."""
    return _Compiler(df, job, in_batches).compile()


class _Compiler:
    def __init__(self, df: DataFrame, job: Job, in_batches: InBatches) -> None:
        self.job: Final = job
        self.in_batches: Final = in_batches
        self.wanted: Final = named_behind(job.directives, job.declared)
        self.reasons: Final[dict[int, str]] = {}
        self.frame: Final = self._beginning(df)
        self.held: Final = self._held_by_variables()

    def compile(self) -> Compiled:
        count = len(self.job.directives)
        frame, first = self._native_from(0, self.frame)
        if first == count:
            ended = self._converted(frame)
            if ended is not None:
                return self._compiled(ended, first, count)
        last, behind = self._ending(first)
        frame = self._batches(frame, first, last, is_final=behind is None)
        if behind is not None:
            frame, _ = self._native_from(last, frame)
            ended = self._converted(frame)
            assert ended is not None  # the rehearsal was the same
            frame = ended
        return self._compiled(frame, first, last)

    # -- where directives run ---------------------------------------------------------------

    def _native_from(self, start: int, frame: SparkFrame) -> tuple[SparkFrame, int]:
        """The frame behind as many directives as can be native, and the first one that cannot."""
        for index in range(start, len(self.job.directives)):
            made = self._native(index, frame)
            if made is None:
                return frame, index
            frame = made
        return frame, len(self.job.directives)

    def _native(self, index: int, frame: SparkFrame) -> SparkFrame | None:
        directive = self.job.directives[index]
        if index in self.held:
            self.reasons[index] = self.held[index]
            return None
        tried = frame.copy()
        tried.wanted = self.wanted[index]
        tried.directive = directive.directive_name()
        try:
            directive.native(tried)
        except NoNativeFormError as error:
            self.reasons[index] = str(error) or _NOTHING_NATIVE
            return None
        return tried

    def _ending(self, first: int) -> tuple[int, Columns | None]:
        """From where on directives are native again behind the batches, and the columns there.

        No columns: the batches go on to the end, and make the output themselves.
        """
        count = len(self.job.directives)
        last = count
        for index in range(count - 1, first - 1, -1):
            if index in self.held or not self._may_be_native(index):
                break
            last = index
        for start in range(max(last, first + 1), count + 1):
            columns = self.job.columns[start]
            if is_known(columns) and self._is_native_from(start, columns):
                return start, columns
        return count, None

    def _may_be_native(self, index: int) -> bool:
        cls = type(self.job.directives[index])
        return cls.native is not Directive.native

    def _is_native_from(self, start: int, columns: Columns) -> bool:
        """Whether all directives from here on, and the conversion, are native. Tried on no data."""
        frame = self._frame_of(self.frame.settled().limit(0), columns, carried=())
        frame, reached = self._native_from(start, frame)
        return reached == len(self.job.directives) and self._converted(frame) is not None

    def _held_by_variables(self) -> dict[int, str]:
        """Directives that must run in one pass because of transient variables."""
        setting = [i for i, each in enumerate(self.job.directives) if any(each.sets_variables())]
        names = {name for i in setting for name in self.job.directives[i].sets_variables()}
        reading = [i for i, each in enumerate(self.job.directives) if variables_read(each) & names]
        if not reading:
            return {}
        held = range(setting[0], max([*setting, *reading]) + 1)
        return dict.fromkeys(
            held, f"the transient variable '{min(names)}' is set and read in batches"
        )

    # -- frames -----------------------------------------------------------------------------

    def _beginning(self, df: DataFrame) -> SparkFrame:
        names = self.job.given.field_names
        physical = {name: f"w{index}" for index, name in enumerate(names)}
        carried = [] if self.job.input is None else [INPUT]
        renamed = df.toDF(*physical.values(), *carried)
        columns = Columns((field.name, field.schema) for field in self.job.given)
        return SparkFrame(renamed, columns, physical, carried=carried, first_free=len(names))

    def _frame_of(self, df: DataFrame, columns: Columns, carried: Sequence[str]) -> SparkFrame:
        physical = {name: f"w{index}" for index, name in enumerate(columns)}
        return SparkFrame(df, columns.copy(), physical, carried=carried, first_free=len(physical))

    def _batches(self, frame: SparkFrame, first: int, last: int, *, is_final: bool) -> SparkFrame:
        given = frame.columns.record()
        made = self.job.declared if is_final else self.job.columns[last].record()
        task = BatchTask(
            self.job.build(first, last),
            given,
            made if is_final else _nullable(made),
            self.job.arguments,
            is_final=is_final,
            has_errors=ERROR in frame.carried,
            has_input=INPUT in frame.carried,
            lookups=self.job.lookups,
        )
        columns = [(f"w{i}", field.schema.as_nullable) for i, field in enumerate(made)]
        columns.append((ERROR, ERROR_SCHEMA.as_nullable))
        if INPUT in frame.carried:
            assert self.job.input is not None
            columns.append((INPUT, _by_position(self.job.input)))
        df = frame.settled()
        order = [*frame.physical, *(c for c in (ERROR, INPUT) if c in frame.carried)]
        ran = self.in_batches(df.select(*order), task, Schema.record("row", columns))
        known = Columns(
            (field.name, field.schema) for field in (made if is_final else _nullable(made))
        )
        carried = [name for name, _ in columns if name in (ERROR, INPUT)]
        return self._frame_of(ran, known, carried)

    def _converted(self, frame: SparkFrame) -> SparkFrame | None:
        made = frame.copy()
        try:
            convert(made, self.job.declared)
        except NoNativeFormError as error:
            self.reasons[len(self.job.directives)] = str(error)
            return None
        return made

    def _compiled(self, frame: SparkFrame, first: int, last: int) -> Compiled:
        from pyspark.sql import functions as f

        df = frame.settled()
        physical = dict(zip((n.lower() for n in frame.columns), frame.physical, strict=True))
        names = [(field.name, physical[field.name.lower()]) for field in self.job.declared]
        selected = [f.col(own).alias(name) for name, own in names]
        placed = [
            Placed(
                source,
                not first <= index < last,
                self._reason(index) if first <= index < last else "",
            )
            for index, source in enumerate(self.job.sources)
        ]
        if first == last == len(placed) and len(placed) in self.reasons:
            placed.append(Placed("(output schema)", False, self.reasons[len(placed)]))
        return Compiled(df.select(*selected, *frame.carried), frame.carried, placed)

    def _reason(self, index: int) -> str:
        return self.reasons.get(index, "it stands between directives that run in batches")


def _by_position(schema: Schema) -> Schema:
    members = [(f"f{i}", field.schema.as_nullable) for i, field in enumerate(schema)]
    return Schema.record("input", members).as_nullable


def _nullable(schema: Schema) -> Schema:
    return Schema.record(schema.name or "row", [(f.name, f.schema.as_nullable) for f in schema])
