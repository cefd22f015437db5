"""The application's own history of runs: one row for each run, kept up to date by events.

A row follows from events as in CDAP 6 ``RecordBuilder``: of each status the earliest time counts, the present
status is the one that began last, and user, artifact and arguments are those of the start of the run. Beyond
it, a run that ended before it was STARTING starts when it was PENDING, so that no failure is left out.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.app import (
    BatchListener,
    FieldType,
    RunStatusChanged,
    StructuredTable,
    StructuredTableSpecification,
    SystemContext,
    TransactionContext,
    decode_json,
)

from .request import FIELDS

_LOG: Final = logging.getLogger(__name__)
_TIMES: Final = "statusTimes"
RUNS: Final = StructuredTableSpecification(
    "report_runs",
    fields={**{each.name: each.type for each in FIELDS.values()}, _TIMES: FieldType.STRING},
    primary_key=["run"],
)
"""``statusTimes`` is a JSON object with the milliseconds since 1970 at which each status began."""
PROGRESS: Final = StructuredTableSpecification(
    "report_takeover",
    fields={"source": FieldType.STRING, "position": FieldType.STRING},
    primary_key=["source"],
)
"""How far the runs that are known to the instance were taken over."""
_SOURCE: Final = "runs"
_PAGE: Final = 2_000
_STATUSES: Final = ("PENDING", "STARTING", "RUNNING", "SUSPENDED", "RESUMING", "STOPPING")
_ENDS: Final = ("COMPLETED", "FAILED", "KILLED", "REJECTED")
_RANKS: Final = {status: rank for rank, status in enumerate((*_STATUSES, *_ENDS))}
_AT_START: Final = ("STARTING", "PENDING")


class RunListener(BatchListener[TransactionContext]):
    """Keeps the history up to date."""

    name = "run-history"
    patience_s = (
        10  # a run has about ten events, and the process of the application takes a second to start
    )
    events = (RunStatusChanged,)

    def on_event(self, event: RunStatusChanged, tx: TransactionContext) -> None:
        add_events(tx.table(RUNS.table), [event])

    def on_events(self, events: Sequence[RunStatusChanged], tx: TransactionContext) -> None:
        add_events(tx.table(RUNS.table), events)


class RunTakeover:
    """Takes over the runs from before the deployment, and those whose events were lost. Threads may share it.

    The position stays before the first run that had not ended, so that each run is read until it has.
    """

    def __init__(self, context: SystemContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._is_done = False

    def start(self) -> None:
        """Take over in the background; what needs the history waits with :meth:`finish`."""
        threading.Thread(target=self._try, name="run-takeover", daemon=True).start()

    def finish(self) -> None:
        """Take over what was not taken over since this process was started, or wait for it."""
        with self._lock:
            if not self._is_done:
                self._take_over()
                self._is_done = True

    def _try(self) -> None:
        try:
            self.finish()
        except Exception:  # the next report tries again, and tells
            _LOG.exception("runs could not be taken over")

    def _take_over(self) -> None:
        run = self._context.transactions.run
        row = run(lambda tx: tx.table(PROGRESS.table).read([_SOURCE]))
        position = row["position"] if row is not None else None
        kept: str | None = position
        all_ended = True
        while found := self._context.list_runs(position, _PAGE):
            position = found[-1].position
            for each in found:
                all_ended = all_ended and each.events[-1].status in _ENDS
                kept = each.position if all_ended else kept
            events = [event for each in found for event in each.events]

            def write(
                tx: TransactionContext,
                events: Sequence[RunStatusChanged] = events,
                kept: str | None = kept,
            ) -> None:
                add_events(tx.table(RUNS.table), events)
                tx.table(PROGRESS.table).upsert({"source": _SOURCE, "position": kept})

            run(write)


def add_events(table: StructuredTable, events: Iterable[RunStatusChanged]) -> None:
    """Update the rows of the runs that events are about; an event that was added before changes nothing."""
    by_run: dict[str, list[RunStatusChanged]] = {}
    for event in events:
        by_run.setdefault(event.run, []).append(event)
    rows: dict[str, Mapping[str, Any]] = {
        row["run"]: row for row in table.multi_read([[run] for run in by_run])
    }
    table.upsert_all(_merge(rows.get(run), own) for run, own in by_run.items())


def _merge(row: Mapping[str, Any] | None, events: Sequence[RunStatusChanged]) -> dict[str, Any]:
    merged = dict(row) if row is not None else dict.fromkeys(RUNS.fields)
    times: dict[str, int] = decode_json(merged[_TIMES] or "{}", dict[str, int])
    for event in events:
        times[event.status] = min(event.time, times.get(event.status, event.time))
        _describe(merged, event)
    merged[_TIMES] = msgspec.json.encode(times).decode()
    merged["status"] = max(times, key=lambda each: (times[each], _RANKS.get(each, -1)))
    start = next((times[each] for each in _AT_START if each in times), None)
    end = min((times[each] for each in _ENDS if each in times), default=None)
    began, ended = _to_seconds(start), _to_seconds(end)
    merged["start"], merged["end"] = began, ended
    merged["running"] = _to_seconds(times.get("RUNNING"))
    merged["duration"] = None if began is None or ended is None else ended - began
    return merged


def _describe(row: dict[str, Any], event: RunStatusChanged) -> None:
    """Set what an event says beside its status; what it leaves open stays as it is."""
    artifact = event.artifact
    said: dict[str, Any] = {
        "run": event.run,
        "namespace": event.namespace,
        "applicationName": event.pipeline,
        "applicationVersion": event.application_version,
        "programType": event.program_type,
        "program": event.program,
        "artifactName": artifact.name if artifact is not None else None,
        "artifactVersion": artifact.version if artifact is not None else None,
        "artifactScope": artifact.scope if artifact is not None else None,
        "user": event.user,
        "startMethod": event.start_method or "MANUAL",
        "runtimeArgs": _encode(event.arguments),
        "numLogWarnings": event.log_warnings,
        "numLogErrors": event.log_errors,
        "numRecordsOut": event.records_out,
    }
    row.update((name, value) for name, value in said.items() if value is not None)


def _encode(arguments: Mapping[str, str] | None) -> str | None:
    return None if arguments is None else msgspec.json.encode(arguments).decode()


def _to_seconds(milliseconds: int | None) -> int | None:
    return None if milliseconds is None else milliseconds // 1000
