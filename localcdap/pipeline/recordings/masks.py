"""Masks the values of a recording: they keep their form, and equal values stay equal."""

from __future__ import annotations

import hashlib
import hmac
import string
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema, Type
from localcdap.plugin_lib.wrangler.semantic_types.detection import detect_semantic_type

_ALPHABETS: Final = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
_MASKABLE: Final = (Type.STRING, Type.INT, Type.LONG)


def find_personal_fields(schema: Schema, records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the fields with data about persons, with what their values are, such as ``e-mail``.

    Only fields of texts are looked at; see :func:`.detection.detect_semantic_type`.
    """
    found = {}
    for field in schema:
        if field.schema.non_nullable != Schema.STRING:
            continue
        texts = [text for each in records if isinstance(text := each.get(field.name), str)]
        match = detect_semantic_type(field.name, texts)
        if match is not None:
            found[field.name] = match.label
    return found


def mask_fields(
    schema: Schema, records: Sequence[Mapping[str, Any]], fields: Collection[str], key: str
) -> list[dict[str, Any]]:
    """Return the records with other letters and digits in some fields.

    Signs, lengths and the case of letters stay. Equal values become equal ones, also in other recordings that
    are masked with the same key, so that they still join.

    :param fields: of texts and whole numbers.
    :raises BadRequestError: for a field that does not exist, or is of another type.
    """
    for name in fields:
        field = schema.field(name)
        if field is None:
            raise BadRequestError(
                f"There is no field '{name}' to mask.", f"Fields: {', '.join(schema.field_names)}."
            )
        inner = field.schema.non_nullable
        if inner.type not in _MASKABLE or inner.logical_type is not None:
            raise BadRequestError(
                f"Field '{name}' is of type '{inner.display_name}', which cannot be masked.",
                "Mask fields of texts and whole numbers.",
            )
    return [
        {n: _mask(v, key) if n in fields and v is not None else v for n, v in record.items()}
        for record in records
    ]


def _mask(value: Any, key: str) -> Any:
    text = str(value)
    pairs = zip(text, _make_numbers(text, key), strict=True)
    masked = [_replace(character, number) for character, number in pairs]
    if isinstance(value, str):
        return "".join(masked)
    first = int(value < 0)
    # Its first digit keeps a number in the range of its type, and its length.
    masked[first] = str(max(1, min(int(masked[first]), int(text[first]) - 1)))
    return int("".join(masked))


def _make_numbers(text: str, key: str) -> list[int]:
    """Return a number for each character, which follows from the whole text and the key."""
    digest = b""
    while len(digest) < len(text):
        block = f"{len(digest)}/{text}".encode("utf-8", "surrogatepass")
        digest += hmac.digest(key.encode("utf-8", "surrogatepass"), block, hashlib.sha256)
    return list(digest[: len(text)])


def _replace(character: str, number: int) -> str:
    for alphabet in _ALPHABETS:
        if character in alphabet:
            return alphabet[number % len(alphabet)]
    return "x" if character.isalpha() else character
