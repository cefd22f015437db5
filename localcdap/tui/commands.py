"""Keys and commands: what they do on a screen, and the keymap file of the user.

The key actions and commands of a screen become the choices of key list and palette. The keys of the
user stand in ``keymap.toml`` in the configuration folder:

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
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import platformdirs
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

import localcdap.tui
from localcdap.api.errors import SettingsError
from localcdap.tui.studio import Choice
from localcdap.tui.textual_internals.app import check_action_state, is_usable, list_bindings

_EVERYWHERE: Final = ("canvas", "list", "studio", "go", "move")
"""The first halves of ids of keys that all screens have."""


@dataclass(frozen=True)
class Command:
    """Something that can be done without a key. Screens and widgets list theirs in ``list_commands()``.

    :param name: ``area: verb``.
    :param reason: why it cannot be done now; None when it can.
    """

    name: str
    run: Callable[[], Awaitable[object] | object]
    detail: str = ""
    reason: str | None = None


@dataclass
class KeyAction:
    """Something that keys do.

    :param keys: as they are shown.
    :param reason: why it cannot be done now; None when it can.
    """

    id: str
    description: str
    action: str
    node: DOMNode
    reason: str | None
    keys: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """``area: verb``; the area alone for what has no id."""
        area = self.id.partition(".")[0] if self.id else "here"
        return f"{area}: {self.description}"

    async def run(self) -> None:
        await self.node.app.run_action(self.action, self.node)


def list_actions(screen: Screen[Any]) -> list[KeyAction]:
    """Return the actions of the keys on a screen, those nearest to the focus first."""
    app = screen.app
    found: dict[tuple[str, str], KeyAction] = {}
    for key, active in screen.active_bindings.items():
        binding = active.binding
        if not binding.description or (binding.system and not binding.id):
            continue
        known = (binding.id or binding.description, binding.action)
        action = found.get(known)
        if action is None:
            reason = (
                None if active.enabled else explain_unavailable(active.node, screen, binding.action)
            )
            action = found[known] = KeyAction(
                binding.id or "", binding.description, binding.action, active.node, reason
            )
        shown = app.get_key_display(binding.with_key(key))
        if shown not in action.keys:
            action.keys.append(shown)
    return list(found.values())


def list_shadowed_actions(screen: Screen[Any]) -> list[KeyAction]:
    """Return the actions of keys that type text in the focused widget; they can still be run by name."""
    app, focused = screen.app, screen.focused
    shown = {each.binding.id for each in screen.active_bindings.values()}
    nodes = (*(focused.ancestors_with_self if focused is not None else (screen,)), app)
    found: dict[str, KeyAction] = {}
    for node in dict.fromkeys(nodes):
        for binding in list_bindings(node):
            id = binding.id
            if id is None or id in shown or id in found or not binding.description:
                continue
            state = check_action_state(app, binding.action, node)
            if state is not False:
                reason = None if state else explain_unavailable(node, screen, binding.action)
                found[id] = KeyAction(id, binding.description, binding.action, node, reason)
    return list(found.values())


def collect_commands(screen: Screen[Any]) -> list[Command]:
    """Return the commands without keys of a screen, of its widgets and of the app."""
    return [
        command
        for node in (screen, *screen.query("*"), screen.app)
        for command in _list_node_commands(node)
    ]


def build_key_choices(actions: Sequence[KeyAction]) -> list[Choice[KeyAction]]:
    """Return the keys as choices, those of this screen first, unavailable ones last; the id of a key can
    be searched.
    """

    def rank(action: KeyAction) -> tuple[bool, bool, bool]:
        area = action.id.partition(".")[0]
        return action.reason is not None, not area, area in _EVERYWHERE

    ordered = sorted(actions, key=rank)
    return [
        Choice(
            f"{' '.join(action.keys):<14} {action.description}",
            action,
            hint=action.id,
            reason=action.reason,
        )
        for action in ordered
    ]


def build_palette_choices(
    actions: Sequence[KeyAction], commands: Sequence[Command]
) -> list[Choice[KeyAction | Command]]:
    """Commands by name: those of the area before those of everywhere."""
    choices: list[Choice[KeyAction | Command]] = [
        Choice(action.name, action, hint=" ".join(action.keys), reason=action.reason)
        for action in actions
        if action.id and not action.id.startswith("move.")
    ]
    choices += [
        Choice(command.name, command, detail=command.detail, reason=command.reason)
        for command in commands
    ]
    last = ("canvas", "go", "studio")
    return sorted(
        choices, key=lambda choice: (choice.label.partition(":")[0] in last, choice.label)
    )


def _list_node_commands(node: DOMNode) -> Iterator[Command]:
    listed = getattr(node, "list_commands", None)
    if callable(listed):
        yield from listed()


def explain_unavailable(node: DOMNode, screen: Screen[Any], action: str) -> str:
    """Return why an action is not available, as its widget, the screen or the app explains it.

    A screen that is being opened, or closed, has nothing to look at and explains nothing.
    """
    name = action.partition("(")[0].rpartition(".")[2]
    for each in (node, screen, screen.app):
        explain = getattr(each, "explain_disabled", None) if is_usable(each) else None
        if callable(explain) and (said := explain(name)):
            return str(said)
    return "there is nothing to do it with"


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
