"""What front ends say of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from localcdap.sync.model import SyncAction, SyncPlan

_MOST_LETTERS: Final = 200


def list_questions(plan: SyncPlan) -> Iterator[str]:
    """Yield what a person should agree to before a plan is carried out."""
    for change in plan.instance:
        if change.action is SyncAction.DELETE:
            yield f"{change.title} will be deleted from the instance, because its file is gone."
    for file in plan.files:
        if file.action is SyncAction.DELETE:
            yield f"File {file.path} will be deleted, because {file.title} is gone from the instance."
        elif not file.is_canonical:
            yield f"File {file.path} is not in canonical form: its order and layout will be lost."


def format_conflict_side(value: Any, most: int = _MOST_LETTERS) -> str:
    """Return one side of a conflict as one line.

    :param most: the most letters to show.
    """
    if value is msgspec.UNSET:
        return "(not there)"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= most else f"{text[:most]} …"
