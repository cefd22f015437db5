"""Whole generated records of a source.

Texts that later stages take apart: lines of CSV, JSON objects, lines of logs, XML.
"""

from __future__ import annotations

import datetime
import html
import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final

from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.pipeline.recordings.generation.field_values import MakeValue, build_value_maker
from localcdap.pipeline.recordings.generation.hints import GenerationHints, KeyDomains, ParsedText
from localcdap.pipeline.recordings.generation.people import Person, load_provider

MakeText = Callable[[Person, Random], str]
_PATHS: Final = ("/", "/index.html", "/cart", "/products/7", "/login")


def build_text_maker(text: ParsedText) -> MakeText:
    """Return what makes the texts of a field that a later stage takes apart."""
    makers = [(name, build_value_maker(name, schema)) for name, schema in text.fields]

    def make_values(person: Person, random: Random) -> list[tuple[str, Any]]:
        return [(name, encode_json_record(make(person, random))) for name, make in makers]

    match text.form:
        case "csv":
            return lambda person, random: _write_line(make_values(person, random), text.delimiter)
        case "json":
            return lambda person, random: json.dumps(dict(make_values(person, random)))
        case "xml":
            return lambda person, random: _write_xml(make_values(person, random))
    return _make_log_line


def _write_line(values: Sequence[tuple[str, Any]], delimiter: str) -> str:
    """Return a line whose values need no quotes."""
    texts = (value if isinstance(value, str) else json.dumps(value) for _, value in values)
    cleaned = (" ".join(text.replace(delimiter, " ").replace('"', "").split()) for text in texts)
    return delimiter.join(cleaned)


def _write_xml(values: Sequence[tuple[str, Any]]) -> str:
    inner = "".join(
        f"<{name}>{html.escape(str(value), quote=False)}</{name}>" for name, value in values
    )
    return f"<record>{inner}</record>"


def _make_log_line(person: Person, random: Random) -> str:
    """Return a line in the common format of web servers."""
    day, hour = random.randint(1, 28), random.randint(0, 23)
    minute, second = random.randint(0, 59), random.randint(0, 59)
    at = f"{day:02d}/Jan/2025:{hour:02d}:{minute:02d}:{second:02d} +0000"
    status = random.choice((200, 200, 200, 304, 404, 500))
    request = f"GET {random.choice(_PATHS)} HTTP/1.1"
    address = person.make("internet.ip_v4")
    return f'{address} - - [{at}] "{request}" {status} {random.randint(100, 9999)}'


_NULLS: Final = 0.05
"""The share of nulls in a nullable field that is not a key."""
_SHARED_KEYS: Final = 10
"""Of as many records of a source, about one key that others refer to: ten orders a customer."""
_BATCH: Final = 10_000
_KEY_DAYS: Final = datetime.date(2025, 1, 1)

MakeField = Callable[[int, Person], Any]
"""Makes a value from the number of the record, 1-based, and its person."""


class RecordGenerator:
    """Generates the records of a source.

    :param stage: its name, which is part of the seed: two sources of a pipeline differ.
    :param hints: what the other stages of the pipeline say about the records.
    :raises LocalcdapError: when the library for names is not installed.
    """

    def __init__(
        self, schema: Schema, stage: str, *, count: int, seed: int, hints: GenerationHints
    ) -> None:
        self._count = count
        self._random = Random(f"{seed}/{stage}")  # noqa: S311 - nothing secret
        self._provider = load_provider(self._random.getrandbits(32))
        self._texts: Final = hints.find_parsed_texts(stage)
        self._required: Final = hints.list_required(stage)
        self._makers: Final = {
            field.name: self._build_maker(field.name, field.schema, stage, hints.domains)
            for field in schema
        }

    def generate(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the records in batches."""
        for first in range(1, self._count + 1, _BATCH):
            last = min(first + _BATCH - 1, self._count)
            yield [self._make_record(number) for number in range(first, last + 1)]

    def _make_record(self, number: int) -> dict[str, Any]:
        person = Person(self._provider, self._random)
        return {name: make(number, person) for name, make in self._makers.items()}

    def _build_maker(self, name: str, schema: Schema, stage: str, domains: KeyDomains) -> MakeField:
        domain, random = domains.find(name, stage), self._random
        text = self._texts.get(name.lower())
        if text is not None and schema.non_nullable in (Schema.STRING, Schema.BYTES):
            write_text = build_text_maker(text)
            is_bytes = schema.non_nullable == Schema.BYTES
            return lambda _, person: (
                write_text(person, random).encode() if is_bytes else write_text(person, random)
            )
        write = _build_key_writer(schema.non_nullable, domain) if domain is not None else None
        if write is not None:
            if domains.is_own(name, stage):
                return lambda number, _: write(number)
            most = max(1, self._count // _SHARED_KEYS)
            return lambda _, __: write(random.randint(1, most))
        make: MakeValue = build_value_maker(name, schema)
        if not schema.is_nullable or name.lower() in self._required:
            return lambda _, person: make(person, random)
        return lambda _, person: None if random.random() < _NULLS else make(person, random)


def _build_key_writer(schema: Schema, domain: str) -> Callable[[int], Any] | None:
    """Return what writes the number of a key as a value of a type; None for a type that keys do not have."""
    if schema.logical_type is LogicalType.DATE:
        return lambda number: _KEY_DAYS + datetime.timedelta(number)
    if schema.logical_type is not None:
        return None
    match schema.type:
        case Type.INT | Type.LONG:
            return lambda number: number
        case Type.FLOAT | Type.DOUBLE:
            return float
        case Type.STRING:
            prefix = domain[:4].upper()
            return lambda number: f"{prefix}-{number:06d}"
    return None
