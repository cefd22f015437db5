"""Recipes as programs that run without localcdap, where Spark has equals of all of their directives.

A DataFrame that notes what is done with it, so that a recipe is compiled without Spark.

A column is a message of Spark Connect's protocol (``expressions.proto``); what a native directive can make of
these has a text here, anything else is refused.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import Schema
from localcdap.api.errors import BadRequestError
from localcdap.api.schema import LogicalType, Type
from localcdap.api.sql_names import quote_column
from localcdap.files.formats import FileFormat, build_spark_options
from localcdap.plugin_lib.wrangler.recipe.builder import BuiltRecipe, RecipeStep
from localcdap.plugin_lib.wrangler.recipe.compiler import (
    CompiledRecipe,
    CompileInput,
    compile_recipe,
)
from localcdap.plugin_lib.wrangler.recipe.propagation import (
    is_known,
    propagate,
    propose_schema,
    to_columns,
)
from localcdap.plugin_lib.wrangler.recipe.spark_frame import ERROR, FAILURE
from localcdap.text import plural

if TYPE_CHECKING:
    from pyspark.sql import Column


_INFIX: Final = {
    **{each: each for each in ("+", "-", "*", "/", "%", "<", "<=", ">", ">=", "&", "|", "^")},
    "==": "=",
    "<=>": "<=>",
    "and": "AND",
    "or": "OR",
    "rlike": "RLIKE",
    "like": "LIKE",
}
_POSTFIX: Final = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}
_PREFIX: Final = {"not": "NOT", "!": "NOT", "negative": "-", "~": "~"}
_NAME: Final = re.compile(r"\w+")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_CASTS: Final = {2: "CAST", 3: "TRY_CAST"}
"""By the evaluation mode of the protocol: ``EVAL_MODE_ANSI`` and ``EVAL_MODE_TRY``."""
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class NoSqlError(Exception):
    """A column has no text in SQL; the text says what of it."""


def quote_text(text: str) -> str:
    """Return a text as a literal of Spark SQL, in which all that cannot be seen is escaped."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{''.join(map(_escape, escaped))}'"


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\u{number:04X}" if number < 0x10000 else f"\\U{number:08X}"


def render_column(column: Column) -> tuple[str, str | None]:
    """Return the SQL of a column, and its alias.

    :raises NoSqlError: when there is none.
    """
    message: Any = column.to_plan(None)
    if message.WhichOneof("expr_type") == "alias":
        return _render_sql(message.alias.expr), message.alias.name[0]
    return _render_sql(message), None


def _render_sql(message: Any) -> str:
    kind = message.WhichOneof("expr_type")
    render = _RENDERERS.get(kind)
    if render is None:
        raise NoSqlError(f"an expression of Spark ({kind}) has no text in SQL")
    return render(getattr(message, kind))


def _render_attribute(message: Any) -> str:
    name: str = message.unparsed_identifier
    return name


def _render_function(message: Any) -> str:
    name = message.function_name
    arguments = [_render_sql(each) for each in message.arguments]
    key = name.lower()
    if key in _INFIX and len(arguments) == 2:
        return f"({arguments[0]} {_INFIX[key]} {arguments[1]})"
    if key in _POSTFIX:
        return f"({arguments[0]} {_POSTFIX[key]})"
    if key in _PREFIX and len(arguments) == 1:
        return f"({_PREFIX[key]} {arguments[0]})"
    if key == "when":
        return _render_case(arguments)
    if key == "in":
        return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
    if key == "struct":
        return _render_struct(message.arguments)
    if not _NAME.fullmatch(name):
        raise NoSqlError(f"the operator '{name}' of Spark has no text in SQL")
    distinct = "DISTINCT " if message.is_distinct else ""
    return f"{name}({distinct}{', '.join(arguments)})"


def _render_case(arguments: Sequence[str]) -> str:
    pairs = zip(arguments[::2], arguments[1::2], strict=False)
    branches = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    other = f" ELSE {arguments[-1]}" if len(arguments) % 2 else ""
    return f"CASE {branches}{other} END"


def _render_struct(members: Sequence[Any]) -> str:
    parts = []
    for each in members:
        if each.WhichOneof("expr_type") == "alias":
            parts += [quote_text(each.alias.name[0]), _render_sql(each.alias.expr)]
        else:
            parts += [quote_text(_render_sql(each).strip("`")), _render_sql(each)]
    return f"named_struct({', '.join(parts)})"


def _render_cast(message: Any) -> str:
    if message.WhichOneof("cast_to_type") != "type_str":
        raise NoSqlError("the type of a cast has no name")
    word = _CASTS.get(message.eval_mode, "CAST")
    return f"{word}({_render_sql(message.expr)} AS {message.type_str})"


def _render_lambda(message: Any) -> str:
    names = [".".join(each.name_parts) for each in message.arguments]
    given = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{given} -> {_render_sql(message.function)}"


def _render_member(message: Any) -> str:
    child, found = _render_sql(message.child), message.extraction
    is_literal = found.WhichOneof("expr_type") == "literal"
    if is_literal and _PLAIN_NAME.fullmatch(found.literal.string):
        return f"{child}.{found.literal.string}"
    return f"{child}[{_render_sql(found)}]"


def _render_literal(message: Any) -> str:
    kind = message.WhichOneof("literal_type")
    value = getattr(message, kind)
    render = _LITERALS.get(kind)
    if render is None:
        raise NoSqlError(f"a value of Spark ({kind}) has no text in SQL")
    return render(value)


def _render_real(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return f"CAST('{value}' AS DOUBLE)"
    return f"{value!r}D"


def _render_decimal(value: Any) -> str:
    return f"CAST('{value.value}' AS DECIMAL({value.precision or 38}, {value.scale}))"


def _render_moment(micros: int, kind: str) -> str:
    moment = (_EPOCH + datetime.timedelta(microseconds=micros)).replace(tzinfo=None)
    return f"{kind} '{moment.isoformat(sep=' ')}'"


def _render_array(value: Any) -> str:
    return f"array({', '.join(map(_render_literal, value.elements))})"


def _render_specialized(value: Any) -> str:
    kind = value.WhichOneof("value_type")
    found = getattr(value, kind).values
    return f"array({', '.join(quote_text(v) if kind == 'strings' else str(v) for v in found)})"


_LITERALS: Final[dict[str, Callable[[Any], str]]] = {
    "null": lambda _: "NULL",
    "boolean": lambda value: "TRUE" if value else "FALSE",
    "byte": lambda value: f"{value}Y",
    "short": lambda value: f"{value}S",
    "integer": str,
    "long": lambda value: f"{value}L" if value != -(2**63) else "(-9223372036854775807L - 1L)",
    "float": _render_real,
    "double": _render_real,
    "decimal": _render_decimal,
    "string": quote_text,
    "binary": lambda value: f"X'{value.hex()}'",
    "date": lambda value: f"date_from_unix_date({value})",
    "timestamp": lambda value: _render_moment(value, "TIMESTAMP_LTZ"),
    "timestamp_ntz": lambda value: _render_moment(value, "TIMESTAMP_NTZ"),
    "array": _render_array,
    "specialized_array": _render_specialized,
}
_RENDERERS: Final[dict[str | None, Callable[[Any], str]]] = {
    "unresolved_attribute": _render_attribute,
    "unresolved_function": _render_function,
    "expression_string": lambda message: f"({message.expression})",
    "literal": _render_literal,
    "cast": _render_cast,
    "alias": lambda message: _render_sql(message.expr),
    "lambda_function": _render_lambda,
    "unresolved_named_lambda_variable": lambda message: ".".join(message.name_parts),
    "unresolved_extract_value": _render_member,
}


_CONNECT: Final = "SPARK_CONNECT_MODE_ENABLED"


class Selection(msgspec.Struct, frozen=True):
    """Columns that are selected: each the SQL of a value, and its name."""

    columns: tuple[tuple[str, str], ...]


class RowFilter(msgspec.Struct, frozen=True):
    """The rows for which a condition in SQL is true."""

    text: str


Step = Selection | RowFilter


class RecordedFrame:
    """Takes the place of the DataFrame of a recipe.

    :param names: the columns.
    """

    def __init__(self, names: tuple[str, ...], steps: tuple[Step, ...] = ()) -> None:
        self.names: Final = names
        self.steps: Final = steps

    def toDF(self, *names: str) -> RecordedFrame:  # noqa: N802 - the name of PySpark
        """Rename all columns."""
        pairs = zip(self.names, names, strict=True)
        return self._add(Selection(tuple((quote_column(old), new) for old, new in pairs)))

    def select(self, *columns: Column | str) -> RecordedFrame:
        """Select columns."""
        return self._add(Selection(tuple(map(_render, columns))))

    def where(self, condition: Column) -> RecordedFrame:
        """Keep the rows for which a condition is true."""
        return RecordedFrame(self.names, (*self.steps, RowFilter(render_column(condition)[0])))

    def limit(self, _: int) -> RecordedFrame:
        """Return the frame: it has no rows."""
        return self

    def _add(self, selection: Selection) -> RecordedFrame:
        if selection == _repeat(self.names):
            return self
        names = tuple(name for _, name in selection.columns)
        return RecordedFrame(names, (*self.steps, selection))


def _repeat(names: tuple[str, ...]) -> Selection:
    return Selection(tuple((name, name) for name in names))


def _render(column: Any) -> tuple[str, str]:
    if isinstance(column, str):
        return column, column
    text, alias = render_column(column)
    return text, alias or text.strip("`")


@contextlib.contextmanager
def without_session() -> Iterator[None]:
    """Have PySpark's functions make columns of Spark Connect, which need no session."""
    before = os.environ.get(_CONNECT)
    os.environ[_CONNECT] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_CONNECT]
        else:
            os.environ[_CONNECT] = before


_INPUT: Final = "input"
_SETTINGS: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
}
"""The settings of Spark under which the expressions give the values of the directives."""
_READABLE: Final = ("csv", "tsv", "parquet", "orc")
_TYPES: Final = {
    Type.STRING: "STRING",
    Type.INT: "INT",
    Type.LONG: "BIGINT",
    Type.FLOAT: "FLOAT",
    Type.DOUBLE: "DOUBLE",
    Type.BOOLEAN: "BOOLEAN",
    Type.BYTES: "BINARY",
    LogicalType.DATE: "DATE",
    LogicalType.DATETIME: "TIMESTAMP_NTZ",
    LogicalType.TIMESTAMP_MICROS: "TIMESTAMP",
    LogicalType.TIMESTAMP_MILLIS: "TIMESTAMP",
}


class Language(StrEnum):
    """The languages of programs."""

    SQL = "sql"
    PYSPARK = "pyspark"


def write_program(
    recipe: BuiltRecipe,
    row_schema: Schema,
    language: Language,
    *,
    declared: Schema | None = None,
    skips_failures: bool = False,
    format: FileFormat | None = None,
) -> str:
    """Return the program of a recipe.

    SQL is one statement of Spark SQL that reads a table or view ``input``. A PySpark script has a function,
    and reads and writes files when it is run.

    :param row_schema: the columns of the rows.
    :param declared: the columns of the result; by default those that the recipe makes.
    :param skips_failures: whether rows for which the recipe fails are left out; otherwise they end the
        program.
    :param format: of the file that the script reads.
    :raises BadRequestError: with line and reason of each directive for which Spark has no equal.
    """
    steps, result = _compile(recipe, row_schema, declared, skips_failures=skips_failures)
    sources = [f"{step.call.line:4}  {' '.join(step.call.source.split())}" for step in recipe.steps]
    if language is Language.SQL:
        return _write_sql(sources, steps)
    return _write_script(sources, steps, row_schema, result, format)


def _compile(
    recipe: BuiltRecipe, row_schema: Schema, declared: Schema | None, *, skips_failures: bool
) -> tuple[tuple[Step, ...], Schema]:
    found = propagate(recipe.steps, to_columns(row_schema))
    result = declared or propose_schema(found.after)
    if result is None:
        raise BadRequestError(
            "\n".join(_list_unknown(recipe, [*found.before[1:], found.after]))
            or "The result has no columns.",
            "Choose the columns in the recipe, or export it from the prep area, whose sample tells them.",
        )
    try:
        compiled = _record(recipe.steps, row_schema, result)
        reasons = list(_list_reasons(recipe, compiled))
    except NoSqlError as error:
        step = _find_step_without_sql(recipe, row_schema)
        reasons = [_explain(step, str(error))]
    if reasons:
        raise BadRequestError(
            "\n".join(reasons), "Run it with localcdap prep apply, or in a pipeline."
        )
    frame: Any = compiled.frame
    return _drop_errors(frame, result, compiled.carried, skips_failures=skips_failures), result


def _record(
    steps: Sequence[RecipeStep], row_schema: Schema, result: Schema | None
) -> CompiledRecipe:
    """Compile directives for rows of a schema, and note what becomes of these.

    :param result: by default the columns as the directives make them, as far as they are known.
    :raises NoSqlError: when a column has no text in SQL.
    """
    found = propagate(steps, to_columns(row_schema))
    given = CompileInput(
        directives=found.directives,
        sources=[step.call.source for step in steps],
        columns=[*found.before, found.after],
        row_schema=row_schema,
        declared=result or found.after.record(),
        make_builder=lambda *_: list,
    )
    frame: Any = RecordedFrame(tuple(row_schema.field_names))
    with without_session():
        return compile_recipe(frame, given, _pass_batches)


def _list_reasons(recipe: BuiltRecipe, compiled: CompiledRecipe) -> Iterator[str]:
    for step, placed in zip(recipe.steps, compiled.placements, strict=False):
        if not placed.is_native:
            yield _explain(step, placed.reason)
    for placed in compiled.placements[len(recipe.steps) :]:
        yield f"The columns of the result have no equal in Spark: {placed.reason}."


def _find_step_without_sql(recipe: BuiltRecipe, row_schema: Schema) -> RecipeStep:
    """Return the first directive whose columns have no text in SQL."""
    for count, step in enumerate(recipe.steps, 1):
        try:
            _record(recipe.steps[:count], row_schema, None)
        except NoSqlError:
            return step
    return recipe.steps[-1]


def _explain(step: RecipeStep, reason: str) -> str:
    source = " ".join(step.call.source.split())
    return f"line {step.call.line}: '{source}' has no equal in Spark: {reason}."


def _pass_batches(df: Any, run: object, schema: Schema) -> Any:  # noqa: ARG001 - a RecipeBatchRunner
    """Stand for a pass of batches: the directives in it are refused once all are known."""
    return RecordedFrame(tuple(schema.field_names), df.steps)


def _list_unknown(recipe: BuiltRecipe, after: Sequence[Any]) -> Iterator[str]:
    """Yield the first directive after which the columns are not known."""
    for step, columns in zip(recipe.steps, after, strict=True):
        if not is_known(columns):
            source = " ".join(step.call.source.split())
            yield f"line {step.call.line}: only the data tell the columns after '{source}'."
            return


def _drop_errors(
    frame: RecordedFrame, result: Schema, carried: Sequence[str], *, skips_failures: bool
) -> tuple[Step, ...]:
    """Return the steps of a frame that end with the rows without errors, and only their columns."""
    if ERROR not in carried:
        return frame.steps
    kept = f"{ERROR} IS NULL"
    if not skips_failures:
        failed = f"CAST(raise_error({ERROR}.message) AS BOOLEAN)"
        kept = (
            f"CASE WHEN {kept} THEN TRUE WHEN {ERROR}.kind = {FAILURE} THEN {failed} ELSE FALSE END"
        )
    checked = RecordedFrame(frame.names, (*frame.steps, RowFilter(kept)))
    with without_session():
        return checked.select(*map(quote_column, result.field_names)).steps


# -- SQL ------------------------------------------------------------------------------------


def _write_sql(sources: Sequence[str], steps: Sequence[Step]) -> str:
    lines = [f"-- {each}" for each in sources]
    lines.append("-- The rows are those of the table or view `input`. Spark has these settings:")
    lines += [f"--   SET {name} = {value};" for name, value in _SETTINGS.items()]
    if not steps:
        return "\n".join([*lines, f"SELECT * FROM {_INPUT}", ""])  # noqa: S608
    queries = [
        _write_query(step, _INPUT if not number else f"step_{number}")
        for number, step in enumerate(steps)
    ]
    named = [f"step_{number} AS (\n{query}\n)" for number, query in enumerate(queries[:-1], 1)]
    head = f"WITH {', '.join(named)}\n" if named else ""
    return "\n".join([*lines, f"{head}{queries[-1]}", ""])


def _write_query(step: Step, table: str) -> str:
    if isinstance(step, RowFilter):
        return f"SELECT * FROM {table}\nWHERE {step.text}"  # noqa: S608
    columns = ",\n  ".join(_write_columns(step))
    return f"SELECT\n  {columns}\nFROM {table}"


def _write_columns(step: Any) -> list[str]:
    return [
        text if text == name else f"{text} AS {quote_column(name.strip('`'))}"
        for text, name in step.columns
    ]


# -- PySpark --------------------------------------------------------------------------------

_SCRIPT: Final = '''"""A recipe:

{recipe}

Run it on a file: python SCRIPT INPUT OUTPUT, or import apply_recipe. OUTPUT is a folder of {written} files.
"""

import sys

from pyspark.sql import DataFrame, SparkSession

SETTINGS = {settings}
SCHEMA = {schema}


def apply_recipe(rows: DataFrame) -> DataFrame:
    """Return the rows that the recipe makes of rows with the columns of SCHEMA."""
{body}
    return rows


def read_rows(spark: SparkSession, path: str) -> DataFrame:
{reading}


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    made = apply_recipe(read_rows(session, sys.argv[1]))
    made.write.mode("error").{write}(sys.argv[2])
'''


def _write_script(
    sources: Sequence[str],
    steps: Sequence[Step],
    row_schema: Schema,
    result: Schema,
    format: FileFormat | None,
) -> str:
    written = "parquet" if any(_find_type(f.schema) is None for f in result) else "csv"
    schema = ", ".join(
        f"{quote_column(field.name)} {_find_type(field.schema) or 'STRING'}" for field in row_schema
    )
    recipe = "\n".join(sources).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return _SCRIPT.format(
        recipe=recipe,
        settings=repr(_SETTINGS),
        schema=repr(schema),
        body="\n".join(map(_write_call, steps)) or "    # The recipe changes nothing.",
        reading=_write_reading(format),
        written=written,
        write="options(header=True, escape='\"').csv" if written == "csv" else written,
    )


def _write_call(step: Step) -> str:
    if isinstance(step, RowFilter):
        return f"    rows = rows.where({step.text!r})"
    texts = ",\n        ".join(map(repr, _write_columns(step)))
    return f"    rows = rows.selectExpr(\n        {texts},\n    )"


def _write_reading(format: FileFormat | None) -> str:
    name = "parquet" if format is None else format.format
    if name not in _READABLE:
        raise BadRequestError(
            f"A script of Spark does not read {name} as localcdap does.",
            f"Export SQL, or give a file of one of: {', '.join(_READABLE)}.",
        )
    if format is not None and format.skip_lines:
        raise BadRequestError(
            f"Spark does not leave out the first {plural(format.skip_lines, 'line')} of a file.",
            "Export SQL, or apply the recipe to the file: localcdap prep apply.",
        )
    if format is None or name in ("parquet", "orc"):
        return f"    return spark.read.{name}(path)"
    options = build_spark_options(format)
    given = ", ".join(f"{each}={value!r}" for each, value in options.items())
    return (
        f"    rows = spark.read.csv(path, schema=SCHEMA, {given})\n"
        "    # An empty text is null, also in quotes.\n"
        "    return rows.selectExpr(*(f\"nullif(`{name.replace('`', '``')}`, '') AS "
        "`{name.replace('`', '``')}`\" for name in rows.columns))"
    )


def _find_type(schema: Schema) -> str | None:
    """Return the name in Spark of a simple type; None for any other."""
    inner = schema.non_nullable
    if inner.logical_type is LogicalType.DECIMAL:
        return f"DECIMAL({inner.precision}, {inner.scale})"
    return _TYPES.get(inner.logical_type or inner.type)
