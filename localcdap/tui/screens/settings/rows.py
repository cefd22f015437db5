"""The settings in force as rows: value, origin, and the description from their declaration."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from localcdap.settings import OPTIONS, SECRET_OPTIONS, Settings, describe_settings
from localcdap.tui.screens.settings.file import format_setting_value


@dataclass(frozen=True)
class SettingRow:
    """A setting.

    :param path: the parts of its key in the file.
    :param origin: the file or the environment variable that sets it; empty for a default.
    :param variable: the environment variable that sets it and takes precedence over the file.
    :param is_simple: whether it is a single value that may be shown, which can be typed on one line.
    """

    key: str
    path: tuple[str, ...]
    value: Any
    origin: str
    description: str
    variable: str | None
    is_simple: bool

    @property
    def is_default(self) -> bool:
        return not self.origin

    @property
    def text(self) -> str:
        return format_setting_value(self.value)


def build_rows(settings: Settings, environment: Mapping[str, str] = os.environ) -> list[SettingRow]:
    """Return a row for each setting in force: the declared options, then the entries of the user's tables."""
    values = describe_settings(settings)
    descriptions = read_descriptions()
    found = [
        SettingRow(
            key,
            tuple(key.split(".")),
            values[key],
            settings.origins.get(key, ""),
            descriptions.get(key, ""),
            _find_variable(key, settings.origins.get(key, ""), environment),
            is_simple=key not in SECRET_OPTIONS,
        )
        for key in OPTIONS
    ]
    for prefix, folder in settings.locations.items():
        found.append(
            SettingRow(
                f'locations."{prefix}"',
                ("locations", prefix),
                folder,
                settings.origins.get("locations", ""),
                "The local folder that stands for this prefix of paths in pipelines.",
                None,
                is_simple=True,
            )
        )
    for table, meaning in (
        ("profiles", "A compute profile: an existing Spark cluster."),
        ("namespaces", "Settings of the runs of one namespace."),
    ):
        for name, value in values[table].items():
            origin = settings.origins.get(table, "")
            found.append(
                SettingRow(
                    f"{table}.{name}", (table, name), value, origin, meaning, None, is_simple=False
                )
            )
    return found


def _find_variable(key: str, origin: str, environment: Mapping[str, str]) -> str | None:
    """Return the variable that sets a setting: that of localcdap, or one of another program."""
    name = "LOCALCDAP_" + re.sub(r"\W", "_", key).upper()
    if name in environment:
        return name
    return origin.removeprefix("$") if origin.startswith("$") else None


def read_settings_text(file: Path) -> str:
    """Return the text of the settings file, with its ends of lines; an empty text when there is no file.

    :raises OSError: when the file cannot be read.
    :raises UnicodeDecodeError: when the file is not UTF-8.
    """
    return file.read_bytes().decode("utf-8") if file.exists() else ""


@functools.cache
def read_descriptions() -> dict[str, str]:
    """Return the description of each setting by key: the docstrings in the declaration of the settings."""
    body = ast.parse(textwrap.dedent(inspect.getsource(Settings))).body[0]
    assert isinstance(body, ast.ClassDef)
    docstrings: dict[str, str] = {}
    for declared, docstring in pairwise(body.body):
        match declared, docstring:
            case (
                ast.AnnAssign(target=ast.Name(id=attribute)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docstrings[attribute] = " ".join(text.replace("``", "").split())
    return {
        key: docstrings[attribute] for key, attribute in OPTIONS.items() if attribute in docstrings
    }
