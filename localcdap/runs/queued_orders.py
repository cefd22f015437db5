"""The orders of runs that have not begun, in the instance's database, with their places in the queue."""

from __future__ import annotations

import msgspec

from localcdap.api.errors import EngineError
from localcdap.engine.messages.orders import WorkOrder, decode_order, encode_order
from localcdap.store.store import Transaction


def add(tx: Transaction, run: str, order: WorkOrder) -> int:
    """Add a run at the end of the queue, and return its place.

    :param order: without the address of an engine: the run gets that when it is its turn.
    """
    rows = tx.execute(
        "INSERT INTO run_queue VALUES (?, nextval('run_places'), ?) RETURNING place",
        (run, encode_order(order).decode()),
    )
    return int(rows[0][0])


def read(tx: Transaction, run: str) -> WorkOrder | None:
    """Return the order of a run; None when the run is not in the queue.

    :raises EngineError: when it cannot be read.
    """
    rows = tx.execute("SELECT work_order FROM run_queue WHERE run = ?", (run,))
    if not rows:
        return None
    try:
        return decode_order(rows[0][0])
    except msgspec.DecodeError as error:
        raise EngineError(
            f"The order of the run cannot be read: {error}.",
            "Another version of localcdap wrote it. Start the run again.",
        ) from error


def is_waiting(tx: Transaction, run: str) -> bool:
    """Whether no process was started for a run that has not ended."""
    return bool(
        tx.execute("SELECT 1 FROM runs WHERE run = ? AND pid IS NULL AND NOT ended", (run,))
    )


def remove(tx: Transaction, run: str) -> None:
    """Remove a run from the queue: it has begun, or ended."""
    tx.execute("DELETE FROM run_queue WHERE run = ?", (run,))
