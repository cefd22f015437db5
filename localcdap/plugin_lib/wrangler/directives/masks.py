"""Directives that mask values, and replace or cut parts of texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.wrangler.directives.columns import find_column, report_missing_column
from localcdap.plugin_lib.wrangler.directives.error_messages import make_type_error
from localcdap.plugin_lib.wrangler.directives.native_helpers import (
    as_text,
    is_text,
    require_plain_regex,
    require_text_column,
)
from localcdap.plugin_lib.wrangler.recipe.base_directives import ColumnMap, make_text_schema_like
from localcdap.plugin_lib.wrangler.values.shuffle import shuffle_column, shuffle_text
from localcdap.plugin_lib.wrangler.values.text_edits import (
    CharacterRanges,
    Sed,
    apply_mask,
    find_syntax_problem,
)

if TYPE_CHECKING:
    from pyspark.sql import Column


def require_text(row: Row, name: str) -> str:
    """Return the text in a column.

    :raises DirectiveError: for a column that is missing, null or not a text.
    """
    value = row[find_column(row, name)]
    if isinstance(value, str):
        return value
    raise make_type_error(name, value)


@plugin(name="mask-number", description="Masks numbers that are written as text.")
class MaskNumber(ColumnMap):
    categories = ("transform",)
    examples = ("mask-number :ssn 'xxx-xx-####'",)
    masks = True
    column: str = argument.column("The column to mask.")
    mask: str = argument.text("# shows a character, x hides one, others stand for themselves.")

    def propagate(self, columns: Columns) -> None:
        if report_missing_column(columns, self.column, "mask", fails=False):
            columns.put(self.column, Schema.STRING)
        else:
            columns.put(self.column, make_text_schema_like(columns, self.column))

    def change(self, row: Row, context: RowContext) -> None:
        if row.find(self.column) is None:
            row[self.column] = ""
        else:
            super().change(row, context)

    def map(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, str):
            return apply_mask(value, self.mask)
        if isinstance(value, int | float | bytes) and not isinstance(value, bool):
            return apply_mask(to_java_string(value), self.mask)
        raise DirectiveError(
            f"column '{self.column}' is a {type(value).__name__}; it cannot be masked"
        )

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        if frame.columns.find(self.column) is None:
            frame.put(self.column, f.lit(""), Schema.STRING)
            return
        schema = make_text_schema_like(frame.columns, self.column)
        value = as_text(frame, self.column)
        if set(self.mask) <= set("#xX"):
            made = f.when(value.isNotNull(), f.concat(*_mask_parts(value, self.mask)))
        else:
            made = f.regexp_replace(value, *build_mask_regex(self.mask))
        frame.put(self.column, made, schema)


def _mask_parts(value: Column, mask: str) -> Iterator[Column]:
    """Yield the parts of a masked text for a mask of only ``#`` and ``x``, which depends on no character."""
    from pyspark.sql import functions as f

    at = 1
    for sign, run in groupby("x" if sign == "X" else sign for sign in mask):
        count = len(list(run))
        yield f.substring(value, at, count) if sign == "#" else f.lit("x" * count)
        at += count
    yield f.lit("")


def build_mask_regex(mask: str) -> tuple[str, str]:
    """Return a mask as a regular expression of Java for the whole text, and its replacement."""
    pattern = ["(?s)\\A"]
    replacement = []
    groups = 0
    for sign, run in groupby("x" if sign == "X" else sign for sign in mask):
        count = len(list(run))
        if sign == "#":
            groups += 1
            pattern.append(f"(.{{0,{count}}}+)")
            replacement.append(f"${groups}")
        elif sign == "x":
            pattern.append(f".{{0,{count}}}+")
            replacement.append("x" * count)
        else:
            pattern.append(f"(?:{re.escape(sign)}){{0,{count}}}+")
            # The escape separates a digit from the number of the group before it.
            replacement.append(f"\\{sign}" * count)
    return f"{''.join(pattern)}.*+", "".join(replacement)


@plugin(
    name="mask-shuffle",
    description="Replaces each letter and digit by another one; equal values stay equal.",
)
class MaskShuffle(Directive):
    categories = ("transform",)
    examples = ("mask-shuffle :address",)
    masks = True
    column: str = argument.column("The column to mask.")

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.column, "mask")

    def change(self, row: Row, context: RowContext) -> None:
        row[find_column(row, self.column)] = shuffle_text(require_text(row, self.column))

    def native(self, frame: Frame) -> None:
        import pyarrow as pa
        from pyspark.sql.functions import arrow_udf
        from pyspark.sql.types import StringType

        def shuffle(texts: Any) -> Any:
            return shuffle_column(texts)

        # Spark reads the types of the function from its annotations.
        shuffle.__annotations__ = {"texts": pa.Array, "return": pa.Array}
        schema = require_text_column(frame, self.column)
        value = frame.column(self.column)
        frame.fail_where(value.isNull(), f"column '{self.column}' is null; a text is needed")
        # The random numbers depend on how many letters came before: Spark's own functions over the characters
        # of a text take far longer than NumPy over the bytes of a column.
        # Not the text "string": Spark parses it with the session of the thread, which may have none.
        frame.put(self.column, arrow_udf(shuffle, StringType())(value), schema)


@plugin(name="find-and-replace", description="Changes texts with a sed expression.")
class FindAndReplace(Directive):
    categories = ("transform",)
    examples = ("find-and-replace :body s/Washington/Wash/g",)
    column: list[str] = argument.columns("The columns to change.")
    pattern: str = argument.text("The expression, such as s/from/to/g.")

    def problem(self) -> str | None:
        return find_syntax_problem(Sed, self.pattern)

    @cached_property
    def _sed(self) -> Sed:
        return Sed(self.pattern)

    def change(self, row: Row, context: RowContext) -> None:
        for name in self.column:
            found = row.find(name)
            if found is not None:
                row[found] = self.map(row[found])

    def map(self, value: Any) -> Any:
        """Return the new value for one of the columns."""
        if not isinstance(value, str):
            return value
        try:
            return self._sed.run(value)
        except IndexError as error:
            raise DirectiveError(f"'{self.pattern}' names a group that is not there") from error

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        sed = self._sed
        if sed.command != "s" or not sed.is_global or sed.nth > 1 or sed.ignores_case:
            raise NoNativeFormError("Spark has no such replacement")
        require_plain_regex(sed.pattern)
        if "$" in sed.replacement:
            raise NoNativeFormError("the replacement holds groups")
        for name in self.column:
            schema = frame.columns.schema(name)
            if schema is not None and is_text(schema):
                changed = f.regexp_replace(frame.column(name), sed.pattern, sed.replacement)
                frame.put(name, changed, schema)


@plugin(name="cut-character", description="Cuts characters out by their positions.")
class CutCharacter(Directive):
    categories = ("transform",)
    examples = ("cut-character :body :start 1-3", "cut-character :body :rest 5-")
    makes = ("destination",)
    source: str = argument.column("The column to cut from.")
    destination: str = argument.column("The column for the characters.")
    ranges: str = argument.text("Positions from 1: 1-3, 5,7, -3, 9-.")

    def problem(self) -> str | None:
        try:
            CharacterRanges(self.ranges)
        except ValueError as error:
            return str(error)
        return None

    @cached_property
    def _ranges(self) -> CharacterRanges:
        return CharacterRanges(self.ranges)

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.source, "cut from")
        columns.put(self.destination, Schema.STRING)

    def change(self, row: Row, context: RowContext) -> None:
        row.put(self.destination, self._ranges.cut(require_text(row, self.source)))
