"""The tables of schedules in the instance's database (CDAP 6 ``ProgramScheduleStoreDataset``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.errors import NotFoundError
from localcdap.decoders import decode_json
from localcdap.schedules.model import Schedule, ScheduleStatus, TimeTrigger
from localcdap.schedules.triggers import list_keys, list_simple
from localcdap.store.store import Transaction
from localcdap.text import format_available

_SELECT: Final = "SELECT document, status, updated, username FROM schedules"
_OF_ONE: Final = "namespace = ? AND application = ? AND name = ?"
_OF_SCHEDULE: Final = "namespace = ? AND application = ? AND schedule = ?"
_DEPENDENT: Final = ("schedule_times", "schedule_triggers", "schedule_jobs")
"""The tables whose rows go with a schedule."""


def insert(tx: Transaction, schedule: Schedule) -> None:
    """Store a new schedule, without its times."""
    key = (schedule.namespace, schedule.application, schedule.name)
    values = (schedule.status.value, schedule.last_update_time, schedule.user, _encode(schedule))
    tx.execute("INSERT INTO schedules VALUES (?, ?, ?, ?, ?, ?, ?)", (*key, *values))
    _insert_keys(tx, schedule)


def replace(tx: Transaction, schedule: Schedule) -> None:
    """Store a changed schedule, without its times."""
    tx.execute(
        f"UPDATE schedules SET status = ?, updated = ?, username = ?, document = ? WHERE {_OF_ONE}",  # noqa: S608
        (
            schedule.status.value,
            schedule.last_update_time,
            schedule.user,
            _encode(schedule),
            schedule.namespace,
            schedule.application,
            schedule.name,
        ),
    )
    tx.execute(
        f"DELETE FROM schedule_triggers WHERE {_OF_SCHEDULE}",  # noqa: S608
        (schedule.namespace, schedule.application, schedule.name),
    )
    _insert_keys(tx, schedule)


def remove(tx: Transaction, schedule: Schedule) -> None:
    """Remove a schedule with all that belongs to it, but not what is known of its triggers."""
    key = (schedule.namespace, schedule.application, schedule.name)
    for table in _DEPENDENT:
        tx.execute(f"DELETE FROM {table} WHERE {_OF_SCHEDULE}", key)  # noqa: S608
    tx.execute(f"DELETE FROM schedules WHERE {_OF_ONE}", key)  # noqa: S608


def remove_all(tx: Transaction, namespace: str) -> None:
    """Remove all schedules of a namespace, with what is known of their triggers."""
    for table in (*_DEPENDENT, "schedules", "schedule_events"):
        tx.execute(f"DELETE FROM {table} WHERE namespace = ?", (namespace,))  # noqa: S608


def find(tx: Transaction, namespace: str, application: str, name: str) -> Schedule | None:
    """Return a schedule; None when there is none of this name."""
    rows = tx.execute(f"{_SELECT} WHERE {_OF_ONE}", (namespace, application, name))
    return _read(rows[0]) if rows else None


def get(tx: Transaction, namespace: str, application: str, name: str) -> Schedule:
    """Return a schedule.

    :raises NotFoundError: when there is none of this name; the message lists those of the application.
    """
    found = find(tx, namespace, application, name)
    if found is None:
        known = [each.name for each in list_schedules(tx, namespace, application)]
        raise NotFoundError(
            f"'schedule:{namespace}.{application}.-SNAPSHOT.{name}' was not found; schedules of "
            f"'{application}': {format_available(name, known)}."
        )
    return found


def list_schedules(
    tx: Transaction, namespace: str, application: str | None = None
) -> list[Schedule]:
    """Return the schedules of a namespace or of an application, by application and name."""
    rows = tx.execute(
        f"{_SELECT} WHERE namespace = ? AND (? IS NULL OR application = ?) ORDER BY application, name",
        (namespace, application, application),
    )
    return [_read(row) for row in rows]


def list_by_key(tx: Transaction, keys: Iterable[str]) -> list[Schedule]:
    """Return the schedules whose triggers wait for any of some events, in the order of their names."""
    rows = tx.execute(
        "SELECT DISTINCT s.document, s.status, s.updated, s.username, s.namespace, s.application, s.name "
        "FROM schedules s JOIN schedule_triggers t ON t.namespace = s.namespace "
        "AND t.application = s.application AND t.schedule = s.name "
        "WHERE list_contains(?::VARCHAR[], t.trigger_key) ORDER BY s.namespace, s.application, s.name",
        (list(keys),),
    )
    return [_read(row[:4]) for row in rows]


def list_all(tx: Transaction, keys: Sequence[tuple[str, str, str]]) -> list[Schedule]:
    """Return schedules by namespace, application and name; those that do not exist are left out."""
    if not keys:
        return []
    rows = tx.execute(
        "SELECT s.document, s.status, s.updated, s.username FROM schedules s JOIN (SELECT "
        "unnest(?::VARCHAR[]) n, unnest(?::VARCHAR[]) a, unnest(?::VARCHAR[]) k) w "
        "ON s.namespace = w.n AND s.application = w.a AND s.name = w.k",
        [list(part) for part in zip(*keys, strict=True)],
    )
    return [_read(row) for row in rows]


def list_dependent(tx: Transaction, namespace: str, application: str) -> list[Schedule]:
    """Return the schedules whose triggers wait for runs of an application."""
    rows = tx.execute(
        "SELECT DISTINCT s.document, s.status, s.updated, s.username "
        "FROM schedules s JOIN schedule_triggers t ON t.namespace = s.namespace "
        "AND t.application = s.application AND t.schedule = s.name WHERE starts_with(t.trigger_key, ?)",
        (f"programStatus:{namespace}.{application}.",),
    )
    return [_read(row) for row in rows]


def describe_schedules(tx: Transaction, namespace: str, application: str) -> dict[str, str]:
    """Return the descriptions of the schedules of an application, by name."""
    return {each.name: each.description for each in list_schedules(tx, namespace, application)}


def list_crons(schedule: Schedule) -> list[TimeTrigger]:
    """Return the time triggers of a schedule, each once."""
    found = (each for each in list_simple(schedule.trigger) if isinstance(each, TimeTrigger))
    return list(dict.fromkeys(found))


def _insert_keys(tx: Transaction, schedule: Schedule) -> None:
    for each in sorted(list_keys(schedule.trigger)):
        tx.execute(
            "INSERT INTO schedule_triggers VALUES (?, ?, ?, ?)",
            (each, schedule.namespace, schedule.application, schedule.name),
        )


def _encode(schedule: Schedule) -> str:
    return msgspec.json.encode(schedule).decode()


def _read(row: tuple[Any, ...]) -> Schedule:
    document, status, updated, user = row
    schedule = decode_json(document, Schedule)
    schedule.status, schedule.last_update_time, schedule.user = (
        ScheduleStatus(status),
        updated,
        user,
    )
    return schedule
