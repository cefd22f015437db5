"""The user's own keys: ``keymap.toml`` in the configuration folder.

::

    [runs]
    rerun = "R"
    stop = ["x", "ctrl+x"]

The names are the ids that the list of keys shows (``runs.rerun``); what is not named keeps its keys.
"""

from __future__ import annotations

import importlib
import pkgutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import platformdirs
from textual.binding import Binding
from textual.dom import DOMNode

import localcdap.tui
from localcdap.api.errors import SettingsError

_EXAMPLE: Final = """\
# The keys of the terminal studio, which reads this file when it starts. Take the '#' away from a line
# and name other keys: one, or a list. They are written as in "a", "A", "?", "f5", "ctrl+s", "shift+left".
"""


def find_keymap_file() -> Path:
    """Return the path of the keymap file."""
    return platformdirs.user_config_path("localcdap") / "keymap.toml"


def read_keymap(file: Path) -> dict[str, str]:
    """Return the comma-separated keys by id; empty when there is no file.

    :raises SettingsError: when the file cannot be read; names everything that is wrong.
    """
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(
            f"{file} cannot be read: {error}", "Correct it or move it away."
        ) from error
    keys: dict[str, str] = {}
    problems: list[str] = []
    for name, value in _flatten(document):
        parts = value if isinstance(value, list) else [value]
        if parts and all(isinstance(part, str) and part.strip() for part in parts):
            keys[name] = ",".join(part.strip() for part in parts)
        else:
            problems.append(f"{name}: expected a key such as 'ctrl+s', or a list of keys")
    if problems:
        raise SettingsError(f"{file}: {'; '.join(problems)}", "Correct it.")
    return keys


def describe_unknown_ids(keys: Mapping[str, str], known: Iterable[str]) -> list[str]:
    """Return the message about ids that no key has."""
    from rapidfuzz import process

    names = sorted(known)
    said = []
    for name in sorted(set(keys) - set(names)):
        nearest = process.extractOne(name, names, score_cutoff=60)
        said.append(f"'{name}'" + (f" (did you mean '{nearest[0]}'?)" if nearest else ""))
    return said


def format_keymap_template(keys: Iterable[tuple[str, str, str]]) -> str:
    """Return the text of a keymap file in which every key has its default.

    :param keys: id, present keys, description.
    """
    lines = [_EXAMPLE]
    table = ""
    for name, pressed, description in sorted(keys):
        area, _, verb = name.partition(".")
        if area != table:
            lines.append(f"\n[{area}]\n")
            table = area
        quoted = pressed.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'# {verb} = "{quoted}"  # {description}\n')
    return "".join(lines)


def list_known_keys() -> dict[str, Binding]:
    """Return the keys that have an id, by id. This imports every module of the studio and is slow."""
    for module in pkgutil.walk_packages(localcdap.tui.__path__, f"{localcdap.tui.__name__}."):
        importlib.import_module(module.name)
    return {
        binding.id: binding
        for kind in _list_subclasses(DOMNode)
        for binding in vars(kind).get("BINDINGS", ())
        if isinstance(binding, Binding)
        and binding.id
        and kind.__module__.startswith(localcdap.tui.__name__)
    }


def _flatten(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _list_subclasses(kind: type[DOMNode]) -> Iterator[type[DOMNode]]:
    yield kind
    for each in type.__subclasses__(kind):
        yield from _list_subclasses(each)
