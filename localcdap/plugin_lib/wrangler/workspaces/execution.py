"""A recipe on the sample of a workspace: the rows as Data Prep shows them, or why there are none.

What Data Prep says of the rows of a workspace: names that columns should not have, and what cells hold.

Rules, texts and numbers are those of wrangler ``ColumnNameValidator``, ``BasicStatistics`` and
``wrangler-finder.xml``. A value counts once for each kind of which a pattern matches anywhere in it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

import msgspec

from localcdap.api import Schema
from localcdap.api.directive.rows import Columns
from localcdap.decoders import decode_json
from localcdap.java.regex import Regex, compile_regex
from localcdap.java.strings import format_json, to_java_string
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure
from localcdap.plugin_lib.wrangler.recipe.builder import BuiltRecipe
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
from localcdap.plugin_lib.wrangler.recipe.samples import infer_schema
from localcdap.plugin_lib.wrangler.recipe.spark_frame import FAILURE
from localcdap.plugin_lib.wrangler.workspaces.tables import Lookups

_PLAIN_NAME: Final = re.compile(r"[a-zA-Z0-9_]*")
_LONGEST_NAME: Final = 255
_LIMIT_S: Final = 10.0
"""The time for finding kinds of values, after which the rest is not looked at."""
_LONGEST_VALUE: Final = 2_000
"""Characters of a value that are looked at: some patterns take seconds for longer texts."""


class ColumnStatistics(msgspec.Struct, omit_defaults=True):
    """What the cells of a column hold."""

    general: dict[str, float] = {}
    """Per cent of the rows whose cell is ``null``, ``non-null`` and ``empty``; without those that are 0."""
    types: dict[str, float] | None = None
    """Per cent of the rows whose text has something of a kind, such as ``Email``; None for no texts."""


class ColumnValidation(msgspec.Struct, omit_defaults=True):
    """Whether a name can be that of a column in most databases."""

    valid: bool
    message: str | None = None


class Summary(msgspec.Struct):
    """The summary of all rows of a workspace, by column."""

    validation: dict[str, ColumnValidation]
    statistics: dict[str, ColumnStatistics]


def summarize(rows: Sequence[Mapping[str, Any]]) -> Summary:
    """Return the summary of rows."""
    names = dict.fromkeys(name for row in rows for name in row)
    until = time.monotonic() + _LIMIT_S
    statistics = {
        name: _describe([row[name] for row in rows if name in row], len(rows), until)
        for name in names
    }
    return Summary({name: validate_name(name) for name in names}, statistics)


def validate_name(name: str) -> ColumnValidation:
    """Return whether a column may have a name."""
    if not _PLAIN_NAME.fullmatch(name):
        return ColumnValidation(False, f"Column '{name}' contains non-alphanumeric characters")
    if name in _load_reserved_names():
        return ColumnValidation(False, f"Column '{name}' is a reserved word.")
    if len(name) > _LONGEST_NAME:
        return ColumnValidation(False, f"Column '{name}' is greater than 255 characters.")
    return ColumnValidation(True)


def _describe(values: list[Any], total: int, until: float) -> ColumnStatistics:
    nulls = sum(value is None for value in values)
    texts = Counter(value for value in values if isinstance(value, str))
    counts = {"null": nulls, "non-null": len(values) - nulls, "empty": texts.pop("", 0)}
    kinds: Counter[str] = Counter()
    for text, number in texts.items():
        if time.monotonic() > until:
            break
        for kind in find_kinds(text):
            kinds[kind] += number
    return ColumnStatistics(
        _to_percentages(counts, total), _to_percentages(kinds, total) if kinds else None
    )


def _to_percentages(counts: Mapping[str, int], total: int) -> dict[str, float]:
    return {name: number / total * 100 for name, number in sorted(counts.items()) if number}


def find_kinds(text: str) -> list[str]:
    """Return the kinds of values of which a text has one, such as ``Email``."""
    shown = text[:_LONGEST_VALUE]
    return [kind for kind, patterns in _load_finders() if _matches_any(patterns, shown)]


def _matches_any(patterns: Iterable[Regex], text: str) -> bool:
    for pattern in patterns:
        try:
            if pattern.search(text) is not None:
                return True
        except TimeoutError:
            continue
    return False


@lru_cache(maxsize=1)
def _load_reserved_names() -> frozenset[str]:
    return frozenset(files(__package__).joinpath("reserved_names.txt").read_text().split())


@lru_cache(maxsize=1)
def _load_finders() -> list[tuple[str, list[Regex]]]:
    text = files(__package__).joinpath("finders.json").read_bytes()
    # The library of the original compiles them with these flags.
    return [
        (kind, [compile_regex(f"(?im){pattern}") for pattern in patterns])
        for kind, patterns in decode_json(text, type=dict[str, list[str]]).items()
    ]


_ROW_ERRORS: Final = frozenset(
    [
        "datetime-to-timestamp",
        "format-datetime",
        "invoke-http",
        "parse-as-avro",
        "parse-as-csv",
        "parse-as-currency",
        "parse-as-date",
        "parse-as-datetime",
        "parse-as-excel",
        "parse-as-fixed-length",
        "parse-as-json",
        "parse-as-protobuf",
        "parse-as-simple-date",
        "parse-timestamp",
        "timestamp-to-datetime",
        "validate-standard",
    ]
)
"""The directives whose failures leave out a row, and do not end the execution: those that throw an
``ErrorRowException`` in the original."""
_SHOWN: Final = "send-to-error-and-continue"
"""The directive whose errors end the execution with an answer that lists them."""
_NULL: Final = "NULL"
_HIDDEN: Final = "Non-displayable object"
"""What bytes are shown as; ``set-charset`` and the parsers make texts of them."""
_MOST_ERRORS: Final = 100
_MOST_LINES: Final = 10


class RowError(msgspec.Struct):
    """Why a row of the sample is not in the result."""

    row_index: int = msgspec.field(name="rowIndex")
    """From 0."""
    directive_index: int = msgspec.field(name="directiveIndex")
    """From 1."""
    message: str
    code: int


class WorkspaceRows(msgspec.Struct):
    """The rows of a workspace after a recipe."""

    values: list[dict[str, str | None]] = []
    """The first rows, with each cell as a text."""
    headers: list[str] = []
    types: dict[str, str] = {}
    """The type of each column, such as ``String``; ``NULL`` for one without values."""
    summary: Summary | None = None
    """Of all rows."""
    schema: Schema | None = None
    """Of all rows; None when there are no columns."""
    errors: list[RowError] = []
    """Why rows are left out: at most 100."""
    error_count: int = msgspec.field(default=0, name="errorCount")
    user_directives: list[str] = msgspec.field(default=[], name="userDirectives")
    """The user-defined directives of the recipe, each once."""
    failure: RowError | None = None
    """Why the recipe ends at a row; nothing else counts then."""
    shown_errors: list[RowError] = msgspec.field(default=[], name="shownErrors")
    """The errors of ``send-to-error-and-continue``, with which the recipe fails."""

    shown_message: str = msgspec.field(default="", name="shownMessage")
    """The messages of these errors, the most frequent ones first."""


def execute(
    recipe: BuiltRecipe,
    rows: Sequence[Mapping[str, Any]],
    columns: Columns,
    limit: int,
    lookups: Lookups = MappingProxyType({}),
    arguments: Mapping[str, str] = MappingProxyType({}),
) -> WorkspaceRows:
    """Run a recipe on the rows of a sample.

    :param columns: of the sample.
    :param limit: how many rows are shown; the summary and the schema are those of all.
    :param lookups: the tables that the recipe names, by name.
    """
    found = propagate(recipe.steps, columns)
    executor = RecipeExecutor(found.directives, arguments, lookups=lookups)
    executor.start()
    made: list[Any] = []
    result = WorkspaceRows(user_directives=_list_user_directives(recipe))
    for index, row in enumerate(rows):
        answer = executor.run(row)
        if not isinstance(answer, RowFailure):
            made += answer
            continue
        error = RowError(index, executor.position, answer.message, answer.code)
        name = recipe.steps[executor.position - 1].name if executor.position else ""
        if answer.kind == FAILURE and name not in _ROW_ERRORS:
            return WorkspaceRows(failure=error)
        if answer.kind != FAILURE and name == _SHOWN:
            result.shown_errors.append(error)
        result.error_count += 1
        if len(result.errors) < _MOST_ERRORS:
            result.errors.append(error)
    executor.end()
    result.shown_message = _count_messages(result.shown_errors)
    result.schema = infer_schema(made, found.after)
    result.types = _list_types(made, result.schema)
    result.headers = list(result.types)
    shown = made[: max(0, limit)]
    result.values = [{name: _show(value) for name, value in row.items()} for row in shown]
    result.summary = summarize(made)
    return result


def _count_messages(errors: Sequence[RowError]) -> str:
    """Return one line for each message (wrangler ``ErrorRecordsException.summarize``)."""
    counts = Counter(each.message for each in errors)
    lines = [f"{message} - {number} rows" for message, number in counts.most_common()]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], "... and other errors hidden for brevity"]
    return "\n".join(lines)


def _list_user_directives(recipe: BuiltRecipe) -> list[str]:
    shipped = load_shipped_directives()
    return list(dict.fromkeys(each.name for each in recipe.steps if each.name not in shipped))


def _show(value: Any) -> str | None:
    """Return a cell as Data Prep shows it (wrangler ``WranglerDisplaySerializer``)."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return _HIDDEN
    nested = isinstance(value, (list, tuple, dict))
    return format_json(_replace_members(value)) if nested else to_java_string(value)


def _replace_members(value: Any) -> Any:
    """Return a nested value with texts where JSON has no value of the type."""
    match value:
        case bytes():
            return _HIDDEN
        case Decimal():
            return str(value)
        case dict():
            return {name: _replace_members(each) for name, each in value.items()}
        case list() | tuple():
            return list(map(_replace_members, value))
        case _:
            return value


def _list_types(rows: Sequence[Mapping[str, Any]], schema: Schema | None) -> dict[str, str]:
    """Return the type of each column of the rows.

    The original shows that of the last row, which is ``NULL`` for a null; here a column is ``NULL`` only when
    all of its values are.
    """
    known = {each.name.lower(): each.schema for each in schema or ()}
    types: dict[str, str] = {}
    for row in rows:
        for name, value in row.items():
            if value is not None:
                types[name] = _format_dataprep_type(known[name.lower()])
            else:
                types.setdefault(name, _NULL)
    return types


def _format_dataprep_type(schema: Schema) -> str:
    """Return a type as Data Prep shows it: ``Timestamp_micros``."""
    inner = schema.non_nullable
    type = inner.logical_type.name if inner.logical_type is not None else inner.type.name
    return type[:1].upper() + type[1:].lower()
