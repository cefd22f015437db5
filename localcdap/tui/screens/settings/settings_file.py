"""The settings in force as rows, and their changes in ``localcdap.toml``.

A row has the value, its origin, and the description from the declaration. A change leaves everything
else in the file as it is, comments too. The local folder of a path prefix such as ``gs://sales`` is
asked for and saved under ``[locations]``.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import json
import os
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, Final

from localcdap.api.errors import BadRequestError, SettingsError
from localcdap.files.atomic import write_file
from localcdap.home import Home
from localcdap.settings import OPTIONS, SECRET_OPTIONS, Settings, describe_settings, read_settings
from localcdap.tui.dialogs.path_dialog import is_file, is_taken
from localcdap.tui.studio import Choice, Studio


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


_ELSEWHERE: Final = re.compile(
    r"(?!file:|https?:|ftps?:)[A-Za-z][A-Za-z0-9+.-]*://[^/\s*?\[{$]+(?=/|$)"
)
"""The scheme and the authority of a path in another file system, such as ``gs://sales``."""
_PLAIN: Final = re.compile(r"[^*?\[{$\x00-\x1f]+")
_LONGEST: Final = 1000
"""The most characters of a path; a longer text is not a path."""


def find_prefix(path: str) -> str | None:
    """Return the prefix of a path that can be mapped to a local folder.

    It is ``gs://sales`` for ``gs://sales/2026/*.csv``. For an absolute path in a missing folder it
    is the first missing folder. It is None for other local paths, for web addresses, and for prefixes with
    macros or wildcards.
    """
    path = path.strip()
    found = _ELSEWHERE.match(path)
    return found[0] if found is not None else _find_missing_folder(path)


def _find_missing_folder(path: str) -> str | None:
    """Return the first folder of an absolute path that does not exist."""
    folder = str(PurePosixPath(path).parent)
    if not path.startswith("/") or len(path) > _LONGEST or not _PLAIN.fullmatch(folder):
        return None
    folders = [*reversed(PurePosixPath(path).parents)]
    return next((str(each) for each in folders if not os.path.lexists(each)), None)


async def ask_location_and_reopen(studio: Studio, prefix: str | None) -> None:
    """Ask for the local folder of a prefix, and reopen the instance with it. Await it in a worker.

    :param prefix: the prefix; None to ask for it too.
    """
    if await ask_location(studio, prefix):
        studio.reopen()


async def choose_location(studio: Studio, values: Iterable[str]) -> None:
    """Let the user choose a prefix among those in some values, then ask for its location."""
    prefixes = dict.fromkeys(prefix for each in values if (prefix := find_prefix(each)))
    if not prefixes:
        await ask_location_and_reopen(studio, None)
        return
    choices = [Choice(prefix, prefix) for prefix in prefixes]
    chosen = await studio.choose(
        [*choices, Choice("another prefix …", "")], title="Set the local folder of"
    )
    if chosen is not None:
        await ask_location_and_reopen(studio, chosen or None)


async def ask_location(studio: Studio, prefix: str | None = None) -> bool:
    """Ask for the local folder of a prefix, and save it. Await it in a worker.

    :param prefix: the prefix; None to ask for it too.
    :return: whether a folder was saved.
    """
    if prefix is None:
        prefix = await studio.ask(
            "Which path prefix has a local folder?",
            detail="A prefix of paths in pipelines, such as gs://sales",
            verb="Next",
            check=lambda text: None if text.strip() else "Enter a prefix.",
        )
        if prefix is None:
            return False
    home = studio.connection.home
    folder = await studio.ask(
        f"Local folder of {prefix}",
        detail=f"A relative folder is relative to {home.path}",
        verb="Save",
        check=lambda text: _check_folder(home, text),
    )
    return folder is not None and _save_location(studio, prefix.strip(), folder.strip())


def _check_folder(home: Home, text: str) -> str | None:
    if not text.strip():
        return "Enter a folder."
    path = home.resolve(text.strip())
    return f"{path} is a file. Enter its folder." if is_file(path) else None


def _save_location(studio: Studio, prefix: str, folder: str) -> bool:
    home = studio.connection.home
    file = home.settings_file
    try:
        before = read_settings_text(file)
        problem = find_problem(before, file)
        if problem is None:
            write(file, set_value(before, ("locations", prefix), folder))
    except (OSError, UnicodeDecodeError) as error:
        problem = str(error)
    except BadRequestError as error:
        problem = error.message
    if problem is not None:
        studio.show_notice("Could not change the settings.", problem, "error")
        return False
    path = home.resolve(folder)
    if is_taken(path):
        studio.show_notice(f"{prefix} is {path}.")
    else:
        studio.show_notice(f"{prefix} is {path}, which does not exist yet.", severity="warning")
    return True
