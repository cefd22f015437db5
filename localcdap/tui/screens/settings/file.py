"""Changes values in ``localcdap.toml`` and leaves everything else in it as it is, comments too."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from localcdap.api.errors import SettingsError
from localcdap.files.atomic import write_file
from localcdap.settings import OPTIONS, Settings, read_settings


def parse_value(key: str, typed: str) -> Any:
    """Convert what a user typed for a setting to the type of its default.

    A text that does not convert is returned as it is, and the check of the settings reports it.
    """
    default = getattr(Settings(origins={}), OPTIONS[key]) if key in OPTIONS else ""
    text = typed.strip()
    match default:
        case bool():
            return {
                "true": True,
                "yes": True,
                "on": True,
                "false": False,
                "no": False,
                "off": False,
            }.get(text.lower(), text)
        case int() | float():
            try:
                return int(text)
            except ValueError:
                try:
                    return float(text)
                except ValueError:
                    return text
        case list():
            return [part.strip() for part in text.split(",") if part.strip()]
    return text


def format_setting_value(value: Any) -> str:
    """Return a value as a user types it."""
    match value:
        case bool():
            return "true" if value else "false"
        case list():
            return ", ".join(map(str, value))
        case str() | int() | float():
            return str(value)
    return json.dumps(value)


def set_value(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text of the file with a value set.

    :param path: the parts of the key.
    """
    import tomlkit
    from tomlkit.items import AbstractTable

    document = tomlkit.parse(text)
    table: Any = document
    for part in path[:-1]:
        if not isinstance(table.get(part), AbstractTable | dict):
            table[part] = tomlkit.table()
        table = table[part]
    table[path[-1]] = value
    return tomlkit.dumps(document)


def remove_value(text: str, path: Sequence[str]) -> str:
    """Return the text of the file without a value."""
    import tomlkit

    document = tomlkit.parse(text)
    table: Any = document
    for part in path[:-1]:
        table = table.get(part)
        if table is None:
            return text
    if path[-1] in table:
        del table[path[-1]]
    return tomlkit.dumps(document)


def find_problem(text: str, file: Path) -> str | None:
    """Return the error message for a text of the file; None when the text is valid."""
    try:
        read_settings(text, file)
    except SettingsError as error:
        return error.message
    return None


def write(file: Path, text: str) -> None:
    """Replace the text of the file.

    :raises BadRequestError: when the file cannot be written, or is marked read-only, or its folder is.
    """
    with contextlib.suppress(OSError):  # which the attempt to write the file reports
        file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, text if not text or text.endswith("\n") else f"{text}\n")
