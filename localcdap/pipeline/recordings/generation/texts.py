"""Texts that later stages take apart: lines of CSV, JSON objects, lines of logs, XML."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from localcdap.api.record_json import encode_json_record
from localcdap.pipeline.recordings.generation.field_values import build_value_maker
from localcdap.pipeline.recordings.generation.hints import ParsedText
from localcdap.pipeline.recordings.generation.people import Person

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
