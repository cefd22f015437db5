"""Keys and commands as choices: what can be done here and now, and the palette."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from localcdap.tui.keys.actions import Action, Command
from localcdap.tui.manners.choosing import Choice

_EVERYWHERE: Final = ("canvas", "list", "studio", "go", "move")
"""The first halves of ids of keys that all screens have."""


def keys_listed(actions: Sequence[Action]) -> list[Choice[Action]]:
    """The keys, those of this screen first, what is impossible last; each with its id to be found by."""

    def rank(action: Action) -> tuple[bool, bool, bool]:
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


def palette(
    actions: Sequence[Action], commands: Sequence[Command]
) -> list[Choice[Action | Command]]:
    """Commands by name: those of the area before those of everywhere."""
    choices: list[Choice[Action | Command]] = [
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
