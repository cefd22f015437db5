"""Documents in JSON as records: those of key-value tables that stand for collections of other systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from localcdap.api import Record, Schema
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records, encode_json_record

KEY, VALUE = "key", "value"
ROW: Final = Schema.record("document", [(KEY, Schema.STRING), (VALUE, Schema.STRING)])
"""The rows of a collection: the id of each document, and its JSON."""


class DocumentSchemaError(ValueError):
    """A document does not fit a schema; the message says why."""


def encode_document(record: Mapping[str, Any]) -> str:
    """Return a record as a document."""
    return msgspec.json.encode(encode_json_record(record)).decode()


def decode_document(document: Mapping[str, Any], schema: Schema) -> Record:
    """Return the fields of a document that a schema has.

    :raises DocumentSchemaError: when they do not fit the schema.
    """
    named = {name: value for name, value in document.items() if schema.field(name) is not None}
    try:
        return decode_json_records(schema, [named])[0]
    except BadRequestError as error:
        raise DocumentSchemaError("; ".join(error.message.splitlines()[1:])) from None
