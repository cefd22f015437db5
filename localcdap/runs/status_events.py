"""What the events about runs say of them, also of the runs that the database knows from before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from localcdap.api.app.context import KnownRun
from localcdap.api.app.events import RunStageCounts, RunStatusChanged
from localcdap.api.errors import BadRequestError
from localcdap.decoders import decode_json
from localcdap.engine.messages.spool import RunStatus
from localcdap.namespaces.connections import is_secret_name
from localcdap.pipeline.library.application_model import get_program
from localcdap.runs.model import Run, count_records_written, get_now
from localcdap.store.store import Store, Transaction

HIDDEN: Final = "********"
"""The value of an argument whose name suggests a secret."""
_BEFORE_RUNNING: Final = (RunStatus.PENDING, RunStatus.STARTING)


def describe_status(run: Run) -> RunStatusChanged:
    """Return the event for the current status of a run, without what only its end reveals."""
    program, type = get_program(run.artifact) if run.artifact is not None else (None, None)
    return RunStatusChanged(
        run.namespace,
        run.pipeline,
        run.run,
        run.status.value,
        get_now(),
        application_version=run.application_version,
        program=program,
        program_type=type,
        artifact=run.artifact,
        user=run.user,
        start_method=run.start_method,
        arguments=hide_secrets(run.arguments) if run.status in _BEFORE_RUNNING else None,
    )


def describe_end(run: Run, event: RunStatusChanged, warnings: int, errors: int) -> RunStatusChanged:
    """Return an event with what the end of a run reveals.

    :param warnings: the number of warnings in the log; ``errors`` that of errors.
    """
    return msgspec.structs.replace(
        event,
        counts=describe_counts(run),
        records_out=count_records_written(run),
        log_warnings=warnings,
        log_errors=errors,
    )


def describe_counts(run: Run) -> dict[str, RunStageCounts]:
    """Return the numbers of records of a run by stage."""
    return {
        stage: RunStageCounts(counts.records_in, counts.records_out, counts.errors)
        for stage, counts in run.stages.items()
    }


def hide_secrets(arguments: Mapping[str, str]) -> dict[str, str]:
    """Return arguments without the values of those whose names suggest a secret."""
    return {name: HIDDEN if is_secret_name(name) else value for name, value in arguments.items()}


_NEXT: Final = (
    "SELECT run, starting, record FROM runs WHERE (starting, run) > (?, ?) "
    "ORDER BY starting, run LIMIT ?"
)
_SERIOUS: Final = (
    "SELECT run, count(*) FILTER (level = 'WARNING'), count(*) FILTER (level IN ('ERROR', 'CRITICAL')) "
    "FROM run_logs WHERE run IN (SELECT unnest(?)) GROUP BY run"
)


class KnownRuns:
    """Lists the runs of all namespaces in the order in which they were asked for. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list_known(self, after: str | None, limit: int) -> list[KnownRun]:
        """Return runs after a position; see :meth:`localcdap.api.app.SystemContext.list_runs`.

        :raises BadRequestError: when it cannot be a position.
        """
        starting, _, run = (after or "-1/").partition("/")
        if not starting.lstrip("-").isdecimal():
            raise BadRequestError(f"'{after}' cannot be a position in the list of runs.")
        with self._store.snapshot() as tx:
            rows = tx.execute(_NEXT, (int(starting), run, limit))
            found = [(f"{at}/{run}", decode_json(record, Run)) for run, at, record in rows]
            counts = _count_serious(tx, [run.run for _, run in found])
        return [
            KnownRun(run.run, position, list(_list_events(run, *counts.get(run.run, (0, 0)))))
            for position, run in found
        ]


def _count_serious(tx: Transaction, runs: Sequence[str]) -> dict[str, tuple[int, int]]:
    if not runs:
        return {}
    rows = tx.execute(_SERIOUS, (list(runs),))
    return {run: (warnings, errors) for run, warnings, errors in rows}


def _list_events(run: Run, warnings: int, errors: int) -> Iterator[RunStatusChanged]:
    """Yield the statuses of a run with the times that its record has."""
    event = msgspec.structs.replace(describe_status(run), arguments=hide_secrets(run.arguments))

    def at(status: RunStatus, time: int) -> RunStatusChanged:
        return msgspec.structs.replace(event, status=status.value, time=time)

    was_started = run.status is not RunStatus.PENDING and (run.start or run.end is None)
    yield at(RunStatus.STARTING if was_started else RunStatus.PENDING, run.starting)
    if run.start is not None:
        yield at(RunStatus.RUNNING, run.start)
    if run.status.is_end:
        ended = describe_end(run, event, warnings, errors)
        yield msgspec.structs.replace(ended, time=run.end or run.start or run.starting)
    elif run.status is RunStatus.STOPPING:
        yield at(RunStatus.STOPPING, run.start or run.starting)
