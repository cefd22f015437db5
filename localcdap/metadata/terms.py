"""The terms under which metadata is found (CDAP 6 ``DefaultValueIndexer``, ``SchemaIndexer`` and others).

A term is a key and a token: ``("owner", "anna")`` for the property ``owner``, ``("tags", "pii")`` for a tag,
``("properties", "owner")`` for the name of a property, ``("dataset", "orders")`` for the entity itself.
Keys and tokens are in lower case; tokens have no white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from localcdap.api.errors import SchemaError
from localcdap.api.metadata import MetadataEntity, MetadataScope, ScopedMetadata
from localcdap.api.schema import Schema, Type

TAGS: Final = "tags"
PROPERTIES: Final = "properties"
SCHEMA: Final = "schema"
NUMBER_PREFIX: Final = "#"
"""Comes before the key of a term that is a whole value and a number, which comparisons look at."""

_PARTS: Final = re.compile(r"[-_:,+.]+")
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


class Term(NamedTuple):
    """One way to find an entity."""

    scope: MetadataScope
    key: str
    token: str


def list_terms(entity: MetadataEntity, metadata: ScopedMetadata) -> set[Term]:
    """Return all terms of an entity with its metadata."""
    found: set[Term] = set()
    for scope in MetadataScope:
        part = metadata.get(scope)
        for name, value in part.properties.items():
            key = name.lower()
            found.add(Term(scope, PROPERTIES, key))
            found.update(Term(scope, key, token) for token in _tokenize_property(key, value))
            kind, colon, rest = key.partition(":")
            if colon:  # such as plugin:File:batchsource, which plugin:file finds
                found.update(Term(scope, kind, token) for token in tokenize(rest))
            if _NUMBER.fullmatch(value.strip()):
                found.add(Term(scope, NUMBER_PREFIX + key, value.strip().lower()))
        for tag in part.tags:
            found.update(Term(scope, TAGS, token) for token in tokenize(tag))
        if not part.is_empty():
            found.update(Term(scope, entity.type, token) for token in tokenize(entity.name))
    return found


def tokenize(text: str) -> Iterator[str]:
    """Yield the tokens of a value, some of them twice: its words, and the parts of each word.

    White space separates words; words of nothing but separators are left out.
    """
    for word in text.lower().split():
        parts = [part for part in _PARTS.split(word) if part]
        if parts:
            yield word
            yield from (each for each in word.split(",") if _PARTS.sub("", each))
            yield from parts


def _tokenize_property(key: str, value: str) -> Iterator[str]:
    if key != SCHEMA:
        return tokenize(value)
    try:
        schema = _parse_schema(value)
    except SchemaError:  # found as plain text
        return tokenize(value)
    return _list_schema_tokens(schema)


def _parse_schema(text: str) -> Schema:
    """Return the schema of a text, which may be a simple type in quotation marks.

    :raises SchemaError: when the text is not a schema.
    """
    return Schema.parse(text.lower() if text.startswith('"') else text)


def _list_schema_tokens(schema: Schema) -> Iterator[str]:
    """Yield the name of each record and field at any depth, alone and with its type (``SchemaWalker``)."""
    if schema.type is Type.RECORD and schema.fields is not None:
        yield from _list_name_tokens(schema.name or "", schema)
        for field in schema.fields:
            yield from _list_name_tokens(field.name, field.schema)
            yield from _list_schema_tokens(field.schema)
    for part in (schema.items, schema.keys, schema.values, *schema.members):
        if part is not None:
            yield from _list_schema_tokens(part)


def _list_name_tokens(name: str, schema: Schema) -> Iterator[str]:
    lowered = name.lower()
    yield lowered
    yield f"{lowered}:{schema.non_nullable.type.value}"
