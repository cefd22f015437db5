"""What became of the triggers of schedules, so that none is lost in silence."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from localcdap.schedules.model import EventKind, Schedule, ScheduleEvent
from localcdap.store.store import Transaction

_LOG: Final = logging.getLogger(__name__)
KEPT: Final = 20_000
"""The newest events of an instance that are kept."""
_PRUNED_EVERY: Final = 500
_COLUMNS: Final = "number, namespace, application, schedule, time, kind, message, run"


def add_event(
    tx: Transaction,
    schedule: Schedule,
    time: int,
    kind: EventKind,
    message: str,
    run: str | None = None,
) -> None:
    """Store what became of a trigger; unless a run was started, it is written to the host's log too.

    :param time: milliseconds since 1970.
    """
    rows = tx.execute(
        "INSERT INTO schedule_events VALUES (nextval('schedule_event_numbers'), ?, ?, ?, ?, ?, ?, ?) "
        "RETURNING number",
        (
            schedule.namespace,
            schedule.application,
            schedule.name,
            time,
            kind.value,
            message,
            run,
        ),
    )
    number = rows[0][0]
    if number % _PRUNED_EVERY == 0:
        tx.execute("DELETE FROM schedule_events WHERE number <= ?", (number - KEPT,))
    if kind is not EventKind.STARTED:
        named = f"{schedule.namespace}.{schedule.application}.{schedule.name}"
        tx.on_commit(lambda: _LOG.warning("schedule %s: %s: %s", named, kind.value, message))


def list_events(
    tx: Transaction,
    namespace: str,
    application: str | None = None,
    schedule: str | None = None,
    limit: int = 100,
) -> list[ScheduleEvent]:
    """Return events, newest first."""
    rows = tx.execute(
        f"SELECT {_COLUMNS} FROM schedule_events WHERE namespace = ? AND (? IS NULL OR application = ?) "  # noqa: S608
        "AND (? IS NULL OR schedule = ?) ORDER BY number DESC LIMIT ?",
        (namespace, application, application, schedule, schedule, limit),
    )
    return _read(rows)


def find_last(tx: Transaction, namespace: str) -> dict[tuple[str, str], ScheduleEvent]:
    """Return the last event of each schedule of a namespace, by application and name."""
    rows = tx.execute(
        f"SELECT {_COLUMNS} FROM schedule_events WHERE namespace = ? "  # noqa: S608
        "QUALIFY row_number() OVER (PARTITION BY application, schedule ORDER BY number DESC) = 1",
        (namespace,),
    )
    return {(each.application, each.schedule): each for each in _read(rows)}


def _read(rows: Sequence[tuple[Any, ...]]) -> list[ScheduleEvent]:
    return [
        ScheduleEvent(number, namespace, application, schedule, time, EventKind(kind), text, run)
        for number, namespace, application, schedule, time, kind, text, run in rows
    ]
