"""How far each listener to system events has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.store.store import Transaction


def position(tx: Transaction, name: str) -> int:
    """Id of the last message that took effect; 0 when there was none."""
    rows = tx.execute("SELECT position FROM listeners WHERE name = ?", (name,))
    return int(rows[0][0]) if rows else 0


def is_known(tx: Transaction, name: str, topics: Sequence[str]) -> bool:
    """Whether it is noted that a listener listens to these topics."""
    rows = tx.execute("SELECT topics FROM listeners WHERE name = ?", (name,))
    return bool(rows) and rows[0][0] == list(topics)


def move(tx: Transaction, name: str, topics: Sequence[str], position: int) -> None:
    """Note that a listener to these topics has come to a message. It never goes back."""
    tx.execute(_MOVE, (name, list(topics), position))


def forget(tx: Transaction, name: str) -> None:
    """Note that there is no such listener any more, so that nothing is kept for it."""
    tx.execute("DELETE FROM listeners WHERE name = ?", (name,))


def needed(tx: Transaction) -> Mapping[tuple[str, str], int]:
    """By (namespace, topic) the position of the listener that is farthest behind."""
    rows = tx.execute(
        "SELECT topic, min(position) FROM (SELECT unnest(topics) AS topic, position FROM listeners) "
        "GROUP BY topic"
    )
    return {(SYSTEM_NAMESPACE, topic): at for topic, at in rows}


_MOVE: Final = (
    "INSERT INTO listeners VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
    "topics = excluded.topics, position = greatest(position, excluded.position)"
)
