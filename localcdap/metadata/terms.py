"""The terms under which metadata is found (CDAP 6 ``DefaultValueIndexer``, ``SchemaIndexer`` and others).

A term is a key and a token: ``("owner", "anna")`` for the property ``owner``, ``("tags", "pii")`` for a tag,
``("properties", "owner")`` for the name of a property, ``("dataset", "orders")`` for the entity itself.
Keys and tokens are in lower case; tokens have no white space.

In the search language, any of the terms must match, and all of the required ones.

=========================  =====================================================================
``orders``                 a value, or a word of one, that is equal but for upper and lower case
``ord*``                   one that begins so; ``*`` alone matches every entity
``owner:anna``             the property ``owner``; ``tags:``, ``properties:`` (names of properties),
                           ``schema:`` and types of entities such as ``dataset:`` are keys too
``+owner:anna``            a required term; the others then only improve the rank
``size:>=10``              a number compared with ``>``, ``>=``, ``<``, ``<=`` or ``==``; required
``DATE:creation-time:<d``  a time in milliseconds compared with midnight (UTC) of a date; required
=========================  =====================================================================

The rules are those of CDAP 6 ``QueryParser`` and ``QueryTerm``.
"""

from __future__ import annotations

import datetime
import enum
import math
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

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


DAY_MS: Final = 86_400_000
_COLON: Final = re.compile(r"\s*:\s*")
_COMPARISON: Final = re.compile(r"(>=|<=|==|>|<)(.+)")
_DATE: Final = "date:"


class Comparison(enum.StrEnum):
    """How a number is compared."""

    EQUALS = "=="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    LESS = "<"
    LESS_OR_EQUAL = "<="


class QueryTerm(msgspec.Struct, frozen=True):
    """One term of a query, in lower case."""

    text: str
    """What must be equal, or be the beginning."""
    key: str | None = None
    """The key before the first colon; None: any key."""
    is_prefix: bool = False
    is_required: bool = False
    comparison: Comparison | None = None
    """How numbers are compared with ``number``; None for texts."""
    number: float = 0.0

    @property
    def matches_all(self) -> bool:
        """Whether every entity matches."""
        return self.is_prefix and not self.text and self.key is None

    @property
    def whole(self) -> str:
        """The term with its key, as values that contain a colon have it."""
        return self.text if self.key is None else f"{self.key}:{self.text}"


def parse_query(query: str | None) -> list[QueryTerm]:
    """Return the terms of a query; None and blank text match every entity."""
    text = _COLON.sub(":", query or "").strip()
    return [_parse_term(word) for word in text.lower().split()] or [QueryTerm("", is_prefix=True)]


def _parse_term(word: str) -> QueryTerm:
    is_required = word.startswith("+") and len(word) > 1
    text = word[1:] if is_required else word
    compared = _parse_comparison(text)
    if compared is not None:
        return compared
    is_prefix = text.endswith("*")
    key, colon, value = (text[:-1] if is_prefix else text).partition(":")
    if not colon or not key:
        return QueryTerm(value if colon else key, None, is_prefix, is_required)
    return QueryTerm(value, key, is_prefix, is_required)


def _parse_comparison(text: str) -> QueryTerm | None:
    """Return the term of a comparison; None unless a number or date is compared."""
    is_date = text.startswith(_DATE)
    key, _, value = (text[len(_DATE) :] if is_date else text).partition(":")
    match = _COMPARISON.fullmatch(value)
    if not key or match is None:
        return None
    number = _parse_date(match[2]) if is_date else _parse_number(match[2])
    if number is None:
        return None
    return QueryTerm(value, key, False, True, Comparison(match[1]), number)


def _parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _parse_date(text: str) -> float | None:
    """Return midnight (UTC) of a date in milliseconds since 1970."""
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        return None
    return (day - datetime.date(1970, 1, 1)).days * float(DAY_MS)
