"""Records as somebody types them: JSON, lines of JSON, or comma-separated values with a header."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema, Type


def records_of(text: str, schema: Schema | None) -> list[Any]:
    """The records of a text, as JSON.

    :param schema: gives the values of comma-separated lines their types; without it they are texts.
    :raises BadRequestError: when it is none of these.
    """
    if not text.strip():
        return []
    if text.lstrip()[0] not in "{[":
        return _separated(text, schema)
    try:
        found = json.loads(text)
    except ValueError as error:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise BadRequestError(
                f"The records are no JSON: {error}.",
                'Write an array of objects, [{"name": "ada"}], an object a line, or CSV with a header.',
            ) from None
    return found if isinstance(found, list) else [found]


def text_of(records: list[Any]) -> str:
    """Records as an array of JSON, one a line."""
    lines = (json.dumps(each, ensure_ascii=False) for each in records)
    return "[\n  " + ",\n  ".join(lines) + "\n]" if records else "[]"


def _separated(text: str, schema: Schema | None) -> list[Any]:
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    names = [name.strip() for name in rows[0]]
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            raise BadRequestError(
                f"Line {number} has {len(row)} values, the header {len(names)} names.",
                "Give each line a value for each name; put quotes around one with a comma.",
            )
    return [
        {name: _typed(cell, name, schema) for name, cell in zip(names, row, strict=True)}
        for row in rows[1:]
    ]


def _typed(cell: str, name: str, schema: Schema | None) -> Any:
    """A value as its field wants it; one that is none of it stays a text, which is then told."""
    field = schema.field(name) if schema is not None else None
    if field is None:
        return cell
    if not cell and field.schema.is_nullable:
        return None
    inner = field.schema.non_nullable
    is_text = inner.logical_type is not None or inner.type in (Type.STRING, Type.BYTES, Type.ENUM)
    if is_text:
        return cell
    try:
        return json.loads(cell.strip().lower() if inner.type is Type.BOOLEAN else cell)
    except ValueError:
        return cell
