"""Which messages are kept: the positions of listeners, and the limits of topics."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.store.store import Transaction


def read_position(tx: Transaction, name: str) -> int:
    """Return the id of the last message that a listener has handled; 0 when there was none."""
    rows = tx.execute("SELECT position FROM listeners WHERE name = ?", (name,))
    return int(rows[0][0]) if rows else 0


def has_position(tx: Transaction, name: str, topics: Sequence[str]) -> bool:
    """Return whether the position of a listener to exactly these topics is stored."""
    rows = tx.execute("SELECT topics FROM listeners WHERE name = ?", (name,))
    return bool(rows) and rows[0][0] == list(topics)


def save_position(tx: Transaction, name: str, topics: Sequence[str], position: int) -> None:
    """Store the position of a listener to these topics. It never moves back."""
    tx.execute(_MOVE, (name, list(topics), position))


def delete_position(tx: Transaction, name: str) -> None:
    """Delete the position of a listener, so that no messages are kept for it."""
    tx.execute("DELETE FROM listeners WHERE name = ?", (name,))


def find_needed(tx: Transaction) -> Mapping[tuple[str, str], int]:
    """Return the lowest position of the listeners to each (namespace, topic)."""
    rows = tx.execute(
        "SELECT topic, min(position) FROM (SELECT unnest(topics) AS topic, position FROM listeners) "
        "GROUP BY topic"
    )
    return {(SYSTEM_NAMESPACE, topic): at for topic, at in rows}


_MOVE: Final = (
    "INSERT INTO listeners VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
    "topics = excluded.topics, position = greatest(position, excluded.position)"
)


def delete_expired(tx: Transaction, needed: Mapping[tuple[str, str], int]) -> int:
    """Delete messages that are too old or too many, and those of topics that were deleted.

    :param needed: by (namespace, topic), the id after which a listener has yet to read. Later messages stay
        however old they are, but no topic holds more than ten times its limit.
    :returns: the number of messages deleted.
    """
    count: int = tx.execute(_DELETE_ORPHANS)[0][0]
    for namespace, name, generation, age_limit_s, count_limit in tx.execute(_LIMITED):
        bound = needed.get((namespace, name), _LAST)
        topic = (namespace, name, generation)
        if age_limit_s is not None:
            oldest = time.time_ns() // 1_000_000 - age_limit_s * 1000
            count += tx.execute(f"{_DELETE} AND id <= ? AND time < ?", (*topic, bound, oldest))[0][
                0
            ]
        if count_limit is not None:
            for limit, most in ((count_limit, bound), (count_limit * _HARD_LIMIT, _LAST)):
                beyond = tx.execute(_FIRST_TOO_MANY, (*topic, limit))
                if beyond:
                    last = min(most, beyond[0][0])
                    count += tx.execute(f"{_DELETE} AND id <= ?", (*topic, last))[0][0]
    return count


_LAST: Final = 2**62
_HARD_LIMIT: Final = 10
_DELETE_ORPHANS: Final = (
    "DELETE FROM messages m WHERE NOT EXISTS (SELECT 1 FROM topics t WHERE "
    "t.namespace = m.namespace AND t.name = m.topic AND t.generation = m.generation)"
)
_LIMITED: Final = (
    "SELECT namespace, name, generation, age_limit_s, count_limit FROM topics WHERE generation > 0 "
    "AND (age_limit_s IS NOT NULL OR count_limit IS NOT NULL)"
)
_OF_TOPIC: Final = "FROM messages WHERE namespace = ? AND topic = ? AND generation = ?"
_DELETE: Final = f"DELETE {_OF_TOPIC}"
_FIRST_TOO_MANY: Final = f"SELECT id {_OF_TOPIC} ORDER BY id DESC LIMIT 1 OFFSET ?"
