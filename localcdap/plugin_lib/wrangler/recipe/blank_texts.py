"""Finds where the blank texts that ``set-type`` leaves in a column make a difference.

``set-type`` leaves a blank text as it is (wrangler ``ColumnConverter.convertType``), so that later directives
read it as text; the output makes it null in every field that is not a text (``RecordConvertor``). A column
of Spark has one type, and holds null there. The two agree unless a later directive reads the column, or its
field of the output is a text: these directives and ``set-type`` itself run in batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from localcdap.api.directive import Directive
from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema, Type
from localcdap.plugin_lib.wrangler.directives.columns import Drop, Keep, Rename
from localcdap.plugin_lib.wrangler.directives.types import SetType
from localcdap.plugin_lib.wrangler.recipe.column_usage import list_named_columns


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
