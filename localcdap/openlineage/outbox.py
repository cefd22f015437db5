"""The events that wait for their destinations, in the database and in order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from localcdap.store.store import Transaction


class WaitingEvent(NamedTuple):
    """An event that a destination has yet to get."""

    id: int
    event: str
    """JSON without line breaks."""


class DeliveryProgress(NamedTuple):
    """How far a destination has got."""

    waiting: int
    dropped: int
    refused: int
    error: str | None
    """Why it refused the last of the refused events."""


def list_destinations(tx: Transaction) -> list[str]:
    """Return the names of the destinations for which events are kept."""
    return [name for (name,) in tx.execute("SELECT name FROM openlineage_destinations")]


def register_destinations(tx: Transaction, names: Collection[str]) -> dict[str, int]:
    """Let events be kept for these destinations, and for no others; a new one begins with the next event.

    :returns: the number of events that other destinations will not get any more, by name.
    """
    known = list_destinations(tx)
    lost = {}
    for name in known:
        if name not in names:
            lost[name] = read_progress(tx, name).waiting
            tx.execute("DELETE FROM openlineage_destinations WHERE name = ?", (name,))
    for name in names:
        if name not in known:
            tx.execute(
                "INSERT INTO openlineage_destinations VALUES (?, "
                "(SELECT coalesce(max(id), 0) FROM openlineage_events), 0, 0, NULL)",
                (name,),
            )
    _delete_done(tx)
    return lost


def add_events(tx: Transaction, events: Sequence[str], most: int) -> int:
    """Add events for all destinations.

    :param most: the events that may wait for a destination; the oldest ones over it are dropped.
    :returns: how many were dropped now, for the destination that lost most.
    """
    for event in events:
        tx.execute(
            "INSERT INTO openlineage_events VALUES (nextval('openlineage_ids'), ?)", (event,)
        )
    found = tx.execute(
        "SELECT id FROM openlineage_events ORDER BY id DESC LIMIT 1 OFFSET ?", (most,)
    )
    if not found:
        return 0
    last = found[0][0]
    dropped = 0
    for name, position in tx.execute("SELECT name, position FROM openlineage_destinations"):
        if position < last:
            count = tx.execute(_COUNT_BETWEEN, (position, last))[0][0]
            tx.execute(
                "UPDATE openlineage_destinations SET position = ?, dropped = dropped + ? WHERE name = ?",
                (last, count, name),
            )
            dropped = max(dropped, count)
    _delete_done(tx)
    return dropped


def read_waiting(tx: Transaction, name: str, limit: int) -> list[WaitingEvent]:
    """Return the oldest events that a destination has yet to get."""
    rows = tx.execute(
        "SELECT id, event FROM openlineage_events WHERE id > "
        "(SELECT position FROM openlineage_destinations WHERE name = ?) ORDER BY id LIMIT ?",
        (name, limit),
    )
    return [WaitingEvent(*row) for row in rows]


def move_on(tx: Transaction, name: str, event: int, refusal: str | None = None) -> None:
    """Note that a destination has got all events up to one, or has refused that one."""
    tx.execute(
        "UPDATE openlineage_destinations SET position = greatest(position, ?), refused = refused + ?, "
        "error = coalesce(?, error) WHERE name = ?",
        (event, int(refusal is not None), refusal, name),
    )
    _delete_done(tx)


def read_progress(tx: Transaction, name: str) -> DeliveryProgress:
    """Return how far a destination has got."""
    rows = tx.execute(
        "SELECT (SELECT count(*) FROM openlineage_events WHERE id > position), dropped, refused, error "
        "FROM openlineage_destinations WHERE name = ?",
        (name,),
    )
    return DeliveryProgress(*rows[0]) if rows else DeliveryProgress(0, 0, 0, None)


def _delete_done(tx: Transaction) -> None:
    """Delete the events that no destination waits for."""
    tx.execute(
        "DELETE FROM openlineage_events WHERE id <= coalesce("
        "(SELECT min(position) FROM openlineage_destinations), (SELECT max(id) FROM openlineage_events))"
    )


_COUNT_BETWEEN: Final = "SELECT count(*) FROM openlineage_events WHERE id > ? AND id <= ?"
