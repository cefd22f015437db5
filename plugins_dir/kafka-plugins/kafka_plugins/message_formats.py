"""Formats of messages: how the bytes of a message become the fields of a record (CDAP ``RecordFormats``)."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Final

from localcdap.api import Record, Schema
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records, decode_text_record
from localcdap.plugin_lib.json_values import make_json_reader

Decode = Callable[[bytes], Record]
_DELIMITERS: Final = {"csv": ",", "tsv": "\t"}
FORMATS: Final = ("text", *_DELIMITERS, "json", "avro")


class MessageError(ValueError):
    """A message does not have its format; the text says why."""


def find_schema_problem(format: str, schema: Schema) -> str | None:
    """Return why messages of a format cannot have a schema; None when they can."""
    if format not in FORMATS:
        return f"there is no such format; formats here: {', '.join(FORMATS)}"
    fields = list(schema)
    if format == "text" and [each.schema.non_nullable for each in fields] != [Schema.STRING]:
        return "the format 'text' has one field, a string"
    compound = [each.name for each in fields if not each.schema.is_simple]
    if format in _DELIMITERS and compound:
        return f"values of '{compound[0]}' are not simple"
    return None


def make_decoder(format: str, schema: Schema) -> Decode:
    """Return a function from the bytes of a message to the fields of a schema.

    It raises :class:`MessageError` for a malformed message. Values of csv and tsv are not quoted, as in CDAP;
    fields that a message lacks are null, and further ones are left out. Avro has no header, and this schema.
    """
    if format == "avro":
        return _make_avro_decoder(schema)
    names, read_json = schema.field_names, make_json_reader(schema)

    def decode(data: bytes) -> Record:
        try:
            text = data.decode("utf-8")
            if format == "text":
                return {names[0]: text}
            if format == "json":
                return read_json(text)
            values = text.rstrip("\r\n").split(_DELIMITERS[format])
            return _fit(schema, decode_text_record(schema, dict(zip(names, values, strict=False))))
        except (ValueError, RecursionError) as error:
            raise MessageError(str(error)) from None

    return decode


def _fit(schema: Schema, value: Any) -> Record:
    try:
        return decode_json_records(schema, [value])[0]
    except BadRequestError as error:
        raise MessageError("; ".join(error.message.splitlines()[1:])) from None


def _make_avro_decoder(schema: Schema) -> Decode:
    import fastavro

    parsed = fastavro.parse_schema(schema.to_json())

    def decode(data: bytes) -> Record:
        try:
            found: Any = fastavro.schemaless_reader(io.BytesIO(data), parsed)
        except Exception as error:  # the library raises any exception for garbage
            raise MessageError(f"it is not Avro of this schema: {error!r}") from None
        return {name: found[name] for name in schema.field_names}

    return decode
