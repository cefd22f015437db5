"""Compiles recipes to Spark: column expressions where Spark has equivalent ones, Python batches for the rest.

A compiled recipe has three parts: native directives, then directives that run in one pass of Python batches,
then native directives again if the columns after the batches are known. A native directive between two that
run in batches joins them: a second pass through Python costs more than the directive.

Finds where the blank texts that ``set-type`` leaves in a column make a difference.

``set-type`` leaves a blank text as it is (wrangler ``ColumnConverter.convertType``), so that later directives
read it as text; the output makes it null in every field that is not a text (``RecordConvertor``). A column
of Spark has one type, and holds null there. The two agree unless a later directive reads the column, or its
field of the output is a text: these directives and ``set-type`` itself run in batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from localcdap.api.directive import Directive, NoNativeFormError
from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema, Type
from localcdap.api.tables import Lookup
from localcdap.plugin_lib.wrangler.directives.columns import Drop, Keep, Rename
from localcdap.plugin_lib.wrangler.directives.types import SetType
from localcdap.plugin_lib.wrangler.recipe.batch import BatchTask
from localcdap.plugin_lib.wrangler.recipe.output import convert_output
from localcdap.plugin_lib.wrangler.recipe.propagation import (
    is_known,
    list_named_columns,
    list_needed_columns,
    list_variables_read,
)
from localcdap.plugin_lib.wrangler.recipe.spark_frame import ERROR, INPUT, SparkFrame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class BlankTexts(msgspec.Struct):
    """Where blank texts may be, and which directives read them."""

    columns: list[frozenset[str]]
    """The columns that may hold blank texts though their type is another, in lower case: before each
    directive, and last after the recipe."""
    reasons: dict[int, str]
    """Why directives must run in batches, by index; that of the output is one more than the last."""


def find_blank_texts(
    directives: Sequence[Directive], columns: Sequence[Columns], output: Schema
) -> BlankTexts:
    """Follow the blank texts from each ``set-type`` of a text through the recipe.

    :param columns: the known columns before each directive, and last those after the recipe.
    """
    made = BlankTexts([frozenset()], {})
    origins: dict[str, int] = {}  # the index of the set-type, by column in lower case
    for index, directive in enumerate(directives):
        before, after = columns[index], columns[index + 1]
        read = _list_read(directive, origins)
        if read:
            first = min(origins[name] for name in read)
            _force(made, first, index + 1, min(read))
            for name in _list_made(directive, before, after):
                origins.setdefault(name, first)
        origins = dict(_move(directive, index, origins, before))
        origins = {name: first for name, first in origins.items() if not after.is_missing(name)}
        made.columns.append(frozenset(origins))
    for field in output:
        first = origins.get(field.name.lower(), -1)
        if first >= 0 and field.schema.non_nullable.type is Type.STRING:
            _force(made, first, len(directives) + 1, field.name.lower())
    return made


def _force(made: BlankTexts, first: int, end: int, name: str) -> None:
    for index in range(first, end):
        made.reasons.setdefault(index, f"set-type leaves blank texts, which are read from '{name}'")


def _list_read(directive: Directive, origins: Mapping[str, int]) -> set[str]:
    """Return the columns with blank texts that a directive reads, and not just moves or removes."""
    if isinstance(directive, Drop | Keep | Rename | SetType):
        return set()
    named = list_named_columns(directive)
    if named is None:
        return set(origins)
    return {name.lower() for name in named} & origins.keys()


def _list_made(directive: Directive, before: Columns, after: Columns) -> Iterator[str]:
    """Yield the columns that a directive may have written, except texts."""
    named = {name.lower() for name in list_named_columns(directive) or ()}
    for name, schema in after.items():
        is_text = schema is not None and schema.non_nullable == Schema.STRING
        is_new = before.find(name) is None or before.schema(name) != schema
        if not is_text and (is_new or name.lower() in named):
            yield name.lower()


def _move(
    directive: Directive, index: int, origins: Mapping[str, int], before: Columns
) -> Iterator[tuple[str, int]]:
    """Yield the columns with blank texts after a directive."""
    for name, first in origins.items():
        if isinstance(directive, Rename) and directive.source.lower() == name:
            yield directive.target.lower(), first
        else:
            yield name, first
    if isinstance(directive, SetType) and directive.leaves_blank_texts(before):
        name = directive.column.lower()
        yield name, origins.get(name, index)


ERROR_SCHEMA: Final = Schema.record(
    "error",
    [
        ("kind", Schema.INT),
        ("code", Schema.INT),
        ("message", Schema.STRING),
        ("record", Schema.STRING.as_nullable),
    ],
)
_NO_NATIVE_FORM: Final = "it has no native form"


class DirectivePlacement(msgspec.Struct):
    """Where a directive of a compiled recipe runs, and why."""

    source: str
    """The text of the directive."""
    is_native: bool
    reason: str = ""
    """Why the directive runs in batches, as a clause; empty for a native directive."""


class CompiledRecipe(msgspec.Struct):
    """A recipe compiled to a DataFrame."""

    frame: DataFrame
    """The columns of the output schema under their names, then the carried ones."""
    carried: tuple[str, ...]
    """:data:`ERROR` if rows can fail, :data:`INPUT` if the input records are kept for error records."""
    placements: list[DirectivePlacement]


class RecipeBatchRunner(Protocol):
    """Runs a task on the batches of a DataFrame, such as :meth:`SparkContext.in_batches`.

    The result has the columns of the schema.
    """

    def __call__(self, df: DataFrame, run: BatchTask, schema: Schema) -> DataFrame: ...


class CompileInput(msgspec.Struct):
    """The input of the compiler: a recipe, its columns and its schemas."""

    directives: list[Directive]
    sources: list[str]
    """The text of each directive."""
    columns: list[Columns]
    """The known columns before each directive, and last those after the recipe."""
    row_schema: Schema
    """The schema of the DataFrame, whose columns are these by position, then :data:`INPUT` if it is kept."""
    declared: Schema
    make_builder: Callable[[int, int], Callable[[], Sequence[Directive]]]
    """Makes the picklable builder of the directives from one index up to another, for where they run."""
    arguments: Mapping[str, str] = {}
    lookups: Mapping[str, Lookup] = {}
    """The tables that the directives name, by name; can be pickled."""
    keeps_record: bool = False
    """Whether errors hold the row at fault as JSON."""
    record_schema: Schema | None = None
    """The schema of the input records if they are kept for error records, whose fields go by position."""


def compile_recipe(
    df: DataFrame, recipe: CompileInput, in_batches: RecipeBatchRunner
) -> CompiledRecipe:
    """Build the DataFrame of a recipe's output. Nothing is read."""
    return _RecipeCompiler(df, recipe, in_batches).compile()


class _RecipeCompiler:
    def __init__(self, df: DataFrame, recipe: CompileInput, in_batches: RecipeBatchRunner) -> None:
        self.recipe: Final = recipe
        self.in_batches: Final = in_batches
        self.wanted: Final = list_needed_columns(recipe.directives, recipe.declared)
        self.reasons: Final[dict[int, str]] = {}
        self.frame: Final = self._start_frame(df)
        self.blank_texts: Final = find_blank_texts(
            recipe.directives, recipe.columns, recipe.declared
        )
        self.forced_batches: Final = self._find_variable_users() | self.blank_texts.reasons
        """Why directives must run in batches, by index; that of the output is one more than the last."""

    def compile(self) -> CompiledRecipe:
        count = len(self.recipe.directives)
        frame, first = self._apply_native_from(0, self.frame)
        if first == count:
            ended = self._convert(frame)
            if ended is not None:
                return self._finish(ended, first, count)
        last, columns_after = self._find_native_end(first)
        frame = self._run_batches(frame, first, last, is_final=columns_after is None)
        if columns_after is not None:
            frame, _ = self._apply_native_from(last, frame)
            ended = self._convert(frame)
            assert ended is not None  # _is_native_from has tried the same
            frame = ended
        return self._finish(frame, first, last)

    # -- where directives run ---------------------------------------------------------------

    def _apply_native_from(self, start: int, frame: SparkFrame) -> tuple[SparkFrame, int]:
        """Return the frame after as many native directives as possible, and the index of the next one."""
        for index in range(start, len(self.recipe.directives)):
            made = self._apply_native(index, frame)
            if made is None:
                return frame, index
            frame = made
        return frame, len(self.recipe.directives)

    def _apply_native(self, index: int, frame: SparkFrame) -> SparkFrame | None:
        directive = self.recipe.directives[index]
        if index in self.forced_batches:
            self.reasons[index] = self.forced_batches[index]
            return None
        tried = frame.copy()
        tried.wanted = self.wanted[index]
        tried.directive = directive.directive_name()
        try:
            directive.native(tried)
        except NoNativeFormError as error:
            self.reasons[index] = str(error) or _NO_NATIVE_FORM
            return None
        return tried

    def _find_native_end(self, first: int) -> tuple[int, Columns | None]:
        """Return the index from which directives are native again after the batches, and the columns there.

        Without columns the batches extend to the end, and make the output themselves.
        """
        count = len(self.recipe.directives)
        last = count
        for index in range(count - 1, first - 1, -1):
            if index in self.forced_batches or not self._may_be_native(index):
                break
            last = index
        for start in range(max(last, first + 1), count + 1):
            columns = self.recipe.columns[start]
            may_fail = not any(map(_may_multiply, self.recipe.directives[first:start]))
            if is_known(columns) and self._is_native_from(start, columns, may_fail=may_fail):
                return start, columns
        return count, None

    def _may_be_native(self, index: int) -> bool:
        cls = type(self.recipe.directives[index])
        return cls.native is not Directive.native

    def _is_native_from(self, start: int, columns: Columns, *, may_fail: bool) -> bool:
        """Whether all directives from an index on, and the conversion, are native. Tried without data.

        :param may_fail: whether a row may fail without the other rows of its record. In the original
            (wrangler ``RecipePipelineExecutor``) the record fails, which only batches know.
        """
        frame = self._make_frame(self.frame.to_dataframe().limit(0), columns, carried=())
        frame, reached = self._apply_native_from(start, frame)
        ended = self._convert(frame) if reached == len(self.recipe.directives) else None
        return ended is not None and (may_fail or ERROR not in ended.carried)

    def _find_variable_users(self) -> dict[int, str]:
        """Find the directives that must run in one pass because they share transient variables."""
        setting = [i for i, each in enumerate(self.recipe.directives) if any(each.sets_variables())]
        names = {name for i in setting for name in self.recipe.directives[i].sets_variables()}
        reading = [
            i for i, each in enumerate(self.recipe.directives) if list_variables_read(each) & names
        ]
        if not reading:
            return {}
        forced = range(setting[0], max([*setting, *reading]) + 1)
        return dict.fromkeys(
            forced, f"the transient variable '{min(names)}' is set and read in batches"
        )

    # -- frames -----------------------------------------------------------------------------

    def _start_frame(self, df: DataFrame) -> SparkFrame:
        names = self.recipe.row_schema.field_names
        physical = {name: f"w{index}" for index, name in enumerate(names)}
        carried = [] if self.recipe.record_schema is None else [INPUT]
        renamed = df.toDF(*physical.values(), *carried)
        columns = Columns((field.name, field.schema) for field in self.recipe.row_schema)
        return SparkFrame(
            renamed,
            columns,
            physical,
            carried=carried,
            first_free=len(names),
            keeps_record=self.recipe.keeps_record,
        )

    def _make_frame(self, df: DataFrame, columns: Columns, carried: Sequence[str]) -> SparkFrame:
        physical = {name: f"w{index}" for index, name in enumerate(columns)}
        return SparkFrame(
            df,
            columns.copy(),
            physical,
            carried=carried,
            first_free=len(physical),
            keeps_record=self.recipe.keeps_record,
        )

    def _run_batches(
        self, frame: SparkFrame, first: int, last: int, *, is_final: bool
    ) -> SparkFrame:
        given = frame.columns.record()
        made = self.recipe.declared if is_final else self.recipe.columns[last].record()
        task = BatchTask(
            self.recipe.make_builder(first, last),
            given,
            made if is_final else _make_nullable(made),
            self.recipe.arguments,
            is_final=is_final,
            has_errors=ERROR in frame.carried,
            has_input=INPUT in frame.carried,
            blank_texts=self.blank_texts.columns[last],
            lookups=self.recipe.lookups,
            keeps_record=self.recipe.keeps_record,
        )
        columns = [(f"w{i}", field.schema.as_nullable) for i, field in enumerate(made)]
        columns.append((ERROR, ERROR_SCHEMA.as_nullable))
        if INPUT in frame.carried:
            assert self.recipe.record_schema is not None
            columns.append((INPUT, _name_by_position(self.recipe.record_schema)))
        df = frame.to_dataframe()
        order = [*frame.physical, *(c for c in (ERROR, INPUT) if c in frame.carried)]
        ran = self.in_batches(df.select(*order), task, Schema.record("row", columns))
        known = Columns(
            (field.name, field.schema) for field in (made if is_final else _make_nullable(made))
        )
        carried = [name for name, _ in columns if name in (ERROR, INPUT)]
        return self._make_frame(ran, known, carried)

    def _convert(self, frame: SparkFrame) -> SparkFrame | None:
        end = len(self.recipe.directives)
        if end in self.forced_batches:
            self.reasons[end] = self.forced_batches[end]
            return None
        made = frame.copy()
        try:
            convert_output(made, self.recipe.declared)
        except NoNativeFormError as error:
            self.reasons[end] = str(error)
            return None
        return made

    def _finish(self, frame: SparkFrame, first: int, last: int) -> CompiledRecipe:
        from pyspark.sql import functions as f

        df = frame.to_dataframe()
        physical = dict(zip((n.lower() for n in frame.columns), frame.physical, strict=True))
        names = [(field.name, physical[field.name.lower()]) for field in self.recipe.declared]
        selected = [f.col(own).alias(name) for name, own in names]
        placements = [
            DirectivePlacement(
                source,
                not first <= index < last,
                self._explain(index) if first <= index < last else "",
            )
            for index, source in enumerate(self.recipe.sources)
        ]
        if first == last == len(placements) and len(placements) in self.reasons:
            placements.append(
                DirectivePlacement("(output schema)", False, self.reasons[len(placements)])
            )
        return CompiledRecipe(df.select(*selected, *frame.carried), frame.carried, placements)

    def _explain(self, index: int) -> str:
        return self.reasons.get(index, "it stands between directives that run in batches")


def _may_multiply(directive: Directive) -> bool:
    """Return whether a directive may make several rows of one: frames of Spark can only drop rows."""
    cls = type(directive)
    return cls.expand is not Directive.expand and cls.native is Directive.native


def _name_by_position(schema: Schema) -> Schema:
    members = [(f"f{i}", field.schema.as_nullable) for i, field in enumerate(schema)]
    return Schema.record("input", members).as_nullable


def _make_nullable(schema: Schema) -> Schema:
    return Schema.record(schema.name or "row", [(f.name, f.schema.as_nullable) for f in schema])
