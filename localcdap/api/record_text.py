"""The record at fault in a failure: JSON where it is found, a short text without secrets where it is shown.

The text is cut after secrets are removed from it: the beginning of a secret would not be recognized.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from localcdap.api.record_json import encode_json_record
from localcdap.decoders import decode_json

MOST_ENCODED: Final = 8_000
"""Characters of the JSON of a record. A longer one is not shown."""
_MOST_VALUE: Final = 60
_MOST_RECORD: Final = 400
_TOO_LONG: Final = f"(its JSON has more than {MOST_ENCODED} characters)"


def encode_record(record: Any) -> str:
    """Return a record as JSON, and anything else as the JSON of its Python form.

    JSON of more than :data:`MOST_ENCODED` characters is cut, and no JSON any more.
    """
    given = record if isinstance(record, Mapping) else repr(record)
    try:
        text = json.dumps(encode_json_record(given), default=repr, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # what a plugin made of it
        text = json.dumps(repr(record), ensure_ascii=False)
    return text[:MOST_ENCODED]


def format_record(encoded: str, hide: Callable[[str], str] = str) -> str:
    """Return the result of :func:`encode_record` as text; long values and long records are cut.

    :param hide: removes secrets from a text.
    """
    try:
        record = decode_json(encoded)
    except msgspec.DecodeError:
        return _TOO_LONG
    if not isinstance(record, dict):
        return _cut(hide(str(record)), _MOST_RECORD)
    pairs = ", ".join(
        f"{hide(name)}: {_cut(hide(repr(value)), _MOST_VALUE)}" for name, value in record.items()
    )
    return _cut("{" + pairs + "}", _MOST_RECORD)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
