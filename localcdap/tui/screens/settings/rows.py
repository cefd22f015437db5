"""The settings as lines of a list."""

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

from localcdap.settings import OPTIONS, Settings, effective
from localcdap.tui.screens.settings.file import format_value


@dataclass(frozen=True)
class SettingRow:
    """One setting.

    :param path: the parts of its key in the file.
    :param origin: the place that sets it; empty for a default.
    :param variable: the environment variable that sets it, which wins over the file.
    :param is_simple: whether it is one value, which can be typed in one line.
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
        return format_value(self.value)


def rows(settings: Settings, environment: Mapping[str, str] = os.environ) -> list[SettingRow]:
    """Every setting in force: first those with a name, then the entries of the user's own tables."""
    values = effective(settings)
    said = read_descriptions()
    found = [
        SettingRow(
            key,
            tuple(key.split(".")),
            values[key],
            settings.origins.get(key, ""),
            said.get(key, ""),
            _variable(key, environment),
            is_simple=True,
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
        ("namespaces", "What holds for the runs of one namespace."),
    ):
        for name, value in values[table].items():
            origin = settings.origins.get(table, "")
            found.append(
                SettingRow(
                    f"{table}.{name}", (table, name), value, origin, meaning, None, is_simple=False
                )
            )
    return found


def _variable(key: str, environment: Mapping[str, str]) -> str | None:
    name = "LOCALCDAP_" + re.sub(r"\W", "_", key).upper()
    return name if name in environment else None


def read_text(file: Path) -> str:
    """What stands in the file; empty when it is not there.

    :raises OSError: when it cannot be read.
    :raises UnicodeDecodeError: likewise.
    """
    return file.read_text(encoding="utf-8") if file.exists() else ""


@functools.cache
def read_descriptions() -> dict[str, str]:
    """What each setting means, by key."""
    body = ast.parse(textwrap.dedent(inspect.getsource(Settings))).body[0]
    assert isinstance(body, ast.ClassDef)
    said: dict[str, str] = {}
    for declared, docstring in pairwise(body.body):
        match declared, docstring:
            case (
                ast.AnnAssign(target=ast.Name(id=attribute)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                said[attribute] = " ".join(text.replace("``", "").split())
    return {key: said[attribute] for key, attribute in OPTIONS.items() if attribute in said}
