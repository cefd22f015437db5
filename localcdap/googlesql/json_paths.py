"""JSON_VALUE, JSON_QUERY and their like on STRINGs (``json_functions.md`` of google/zetasql).

Numbers keep the digits that the text has: ``1.50`` stays ``1.50``.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Final

_STEP: Final = re.compile(
    r"""\.(?P<name>[\w-]+)|\."(?P<text>[^"\\]*)"|\['(?P<key>[^'\\]*)'\]|\[(?P<index>\d+)\]"""
)


class ExtractionPathError(ValueError):
    """A path that is not read here."""


class _Number(str):
    """The text of a number."""


@functools.lru_cache(maxsize=256)
def read_path(path: str) -> tuple[str | int, ...]:
    """Return the names and indexes of a path.

    :raises ExtractionPathError: for a path with another step, such as ``[*]``.
    """
    if not path.startswith("$"):
        raise ExtractionPathError("JSONPath must start with '$'")
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise ExtractionPathError(f"Invalid token in JSONPath at: {path[at:]}")
        at = found.end()
        index = found["index"]
        name = next((each for each in found.group("name", "text", "key") if each is not None), "")
        steps.append(name if index is None else int(index))
    return tuple(steps)


def find_scalar(text: str, path: str) -> str | None:
    """Return the scalar at a path as a STRING; None for what is none."""
    found = _find(text, path)
    return _print_scalar(found)


def find_json(text: str, path: str) -> str | None:
    """Return the value at a path as a text of JSON; None when there is none."""
    found = _find(text, path)
    return None if found is None else _print(found)


def list_json(text: str, path: str) -> list[str] | None:
    """Return the elements of the array at a path as texts of JSON; None when there is none."""
    found = _find(text, path)
    return list(map(_print, found)) if isinstance(found, list) else None


def list_scalars(text: str, path: str) -> list[str | None] | None:
    """Return the scalars of the array at a path as STRINGs; None for an array with others, or for none."""
    found = _find(text, path)
    if not isinstance(found, list) or any(isinstance(each, list | dict) for each in found):
        return None
    return [_print_scalar(each) for each in found]


def _find(text: str, path: str) -> Any:
    """Return the value at a path; None for null, and where the text or the path ends before."""
    try:
        found = json.loads(
            text,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_refuse,
            object_pairs_hook=_read_object,
        )
    except ValueError:
        return None
    for step in read_path(path):
        is_member = isinstance(step, str) and isinstance(found, dict) and step in found
        is_element = isinstance(step, int) and isinstance(found, list) and step < len(found)
        if not (is_member or is_element):
            return None
        found = found[step]
    return found


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; of two members of one name, the first."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        made.setdefault(name, value)
    return made


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _print_scalar(value: Any) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return str(value)
    return None


def _print(value: Any) -> str:
    match value:
        case _Number():
            return str(value)
        case dict():
            members = (
                f"{json.dumps(key, ensure_ascii=False)}:{_print(each)}"
                for key, each in value.items()
            )
            return "{" + ",".join(members) + "}"
        case list():
            return f"[{','.join(map(_print, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False)
