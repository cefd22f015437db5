"""The reports of users: their table, their files, and what is known of each.

A status is never stored, as in CDAP 6 ``ReportGenerationSpark``: it follows from what is there. Beyond the
original, a report whose process has ended without a result is FAILED, not RUNNING for ever.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from localcdap.api.app import (
    AnswerError,
    FieldType,
    NotFoundError,
    Range,
    StructuredTable,
    StructuredTableSpecification,
    SystemContext,
    decode_json,
)
from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.processes.identity import ProcessIdentity, identify, is_alive

from .request import ReportRequest

T = TypeVar("T")
REPORTS: Final = StructuredTableSpecification(
    "reports",
    fields={
        "owner": FieldType.STRING,
        "id": FieldType.STRING,
        "created": FieldType.LONG,
        "request": FieldType.STRING,
        "worker": FieldType.STRING,
        "summary": FieldType.STRING,
        "count": FieldType.LONG,
        "expires": FieldType.LONG,
        "error": FieldType.STRING,
        "saved": FieldType.STRING,
        "share": FieldType.STRING,
    },
    primary_key=["owner", "id"],
    indexes=["share"],
)
"""Times are in milliseconds since 1970; ``worker`` is the process that generates it."""
RUNNING: Final = "RUNNING"
COMPLETED: Final = "COMPLETED"
FAILED: Final = "FAILED"
EXPIRED: Final = "EXPIRED"
_LOST: Final = (
    "The process that generated the report ended before it was complete. Create it again."
)


class SavedReport(msgspec.Struct):
    """Under what a report was saved."""

    name: str | None = None
    description: str | None = None


class Report(msgspec.Struct):
    """A report as it is stored."""

    owner: str
    id: str
    created: int
    request: ReportRequest
    worker: str
    summary: dict[str, Any] | None
    count: int
    expires: int | None
    error: str | None
    saved: SavedReport | None
    share: str | None

    @property
    def status(self) -> str:
        """``RUNNING``, ``COMPLETED``, ``FAILED`` or ``EXPIRED``; a saved report does not expire."""
        if self.summary is not None:
            is_over = self.expires is not None and self.expires < _get_now()
            return EXPIRED if is_over and self.saved is None else COMPLETED
        return FAILED if self.failure is not None else RUNNING

    @property
    def failure(self) -> str | None:
        """Why it failed; None when it has not."""
        if self.error is None and self.summary is None and not _is_alive(self.worker):
            return _LOST
        return self.error

    @property
    def file(self) -> str:
        """The name of the file of its details."""
        return f"{self.id}.parquet"

    def describe(self) -> dict[str, Any]:
        """Return what a list shows of it (CDAP 6 ``ReportMetaInfo``), without what is null."""
        saved, status = self.saved, self.status
        expires = self.expires if status == COMPLETED and saved is None else None
        shown = {
            "name": saved.name if saved is not None else self.request.name,
            "description": saved.description if saved is not None else None,
            "created": self.created // 1000,
            "expiry": expires // 1000 if expires is not None else None,
            "status": status,
        }
        return {name: value for name, value in shown.items() if value is not None}


class ReportStore:
    """The reports of all users. Threads may share it."""

    def __init__(self, context: SystemContext) -> None:
        self._context = context

    def add(self, owner: str, request: ReportRequest) -> Report:
        """Add a report that this process is going to generate."""
        id = str(uuid.uuid1())
        made = Report(
            owner, id, _get_now(), request, _name_process(), None, 0, None, None, None, None
        )
        row = {
            "owner": owner,
            "id": id,
            "created": made.created,
            "request": msgspec.json.encode(request).decode(),
            "worker": made.worker,
        }
        self._run(lambda table: table.upsert(row))
        return made

    def finish(self, report: Report, count: int, summary: dict[str, Any]) -> None:
        """Keep the result of a report; that of one which was deleted meanwhile is removed."""
        text = msgspec.json.encode(summary).decode()
        self._complete(
            report, {"summary": text, "count": count, "expires": summary["expirationTimeMillis"]}
        )

    def fail(self, report: Report, error: str) -> None:
        """Keep why a report failed."""
        self._complete(report, {"error": error})

    def require(self, owner: str, id: str) -> Report:
        """Return a report of a user that has not expired.

        :raises NotFoundError: when there is none.
        """
        row = self._run(lambda table: table.read([owner, id]))
        report = _decode(row) if row is not None else None
        if report is None or report.status == EXPIRED:
            raise NotFoundError(f"Report with ReportId : {id} does not exist.")
        return report

    def require_shared(self, share: str) -> Report:
        """Return the report of a share id, of whichever user it is.

        :raises NotFoundError: when there is none that has not expired.
        """
        rows = self._run(lambda table: list(table.scan(filters=[("share", share)], limit=1)))
        report = _decode(rows[0]) if rows else None
        if report is None or report.status == EXPIRED:
            raise NotFoundError(f"Report with ShareId : {share} does not exist.")
        return report

    def list_newest(self, owner: str) -> list[Report]:
        """Return the reports of a user that have not expired, the newest first."""
        rows = self._run(lambda table: list(table.scan(Range.singleton([owner]))))
        found = [report for report in map(_decode, rows) if report.status != EXPIRED]
        return sorted(found, key=lambda each: (each.created, each.id), reverse=True)

    def share(self, report: Report) -> str:
        """Return the share id of a report, which it gets with the first call."""
        wanted = {"owner": report.owner, "id": report.id, "share": uuid.uuid4().hex}

        def write(table: StructuredTable) -> str:
            row = table.read([report.owner, report.id])
            if row is None:
                raise NotFoundError(f"Invalid report-id {report.id}, report does not exist")
            if row["share"] is None:
                table.update(wanted)
            return str(row["share"] or wanted["share"])

        return self._run(write)

    def save(self, report: Report, saved: SavedReport) -> None:
        """Save a report, so that it does not expire.

        :raises AnswerError: 403 when it was saved before.
        """
        text = msgspec.json.encode(saved).decode()

        def write(table: StructuredTable) -> None:
            row = table.read([report.owner, report.id])
            before = _decode(row).saved if row is not None else None
            if before is not None:
                raise make_refusal(
                    403,
                    f"Report with id {report.id} is already saved with name '{before.name}' and description "
                    f"'{before.description}'. Updating the saved report is not allowed.",
                )
            table.update({"owner": report.owner, "id": report.id, "saved": text})

        self._run(write)

    def delete(self, report: Report) -> None:
        """Delete a report with its file."""
        self._run(lambda table: table.delete([report.owner, report.id]))
        self.get_path(report).unlink(missing_ok=True)

    def delete_expired(self) -> None:
        """Delete the reports of all users that have expired, with their files."""
        rows = self._run(lambda table: list(table.scan()))
        for report in map(_decode, rows):
            if report.status == EXPIRED:
                self.delete(report)

    def get_path(self, report: Report) -> Path:
        """Return the path of the file of its details."""
        return self._context.open_folder(SYSTEM_NAMESPACE) / report.file

    def _complete(self, report: Report, values: dict[str, Any]) -> None:
        key = {"owner": report.owner, "id": report.id}

        def write(table: StructuredTable) -> bool:
            if table.read([report.owner, report.id]) is None:
                return False
            table.update(key | values)
            return True

        if not self._run(write) or "error" in values:
            self.get_path(report).unlink(missing_ok=True)

    def _run(self, work: Callable[[StructuredTable], T]) -> T:
        return self._context.transactions.run(lambda tx: work(tx.table(REPORTS.table)))


def make_refusal(status: int, message: str) -> AnswerError:
    """Return the error that answers with a status and a message."""
    return AnswerError(status, {"message": message, "correctiveAction": None}, message)


def _decode(row: Any) -> Report:
    return Report(
        row["owner"],
        row["id"],
        row["created"],
        decode_json(row["request"], ReportRequest),
        row["worker"],
        decode_json(row["summary"]) if row["summary"] is not None else None,
        row["count"] or 0,
        row["expires"],
        row["error"],
        decode_json(row["saved"], SavedReport) if row["saved"] is not None else None,
        row["share"],
    )


def _name_process() -> str:
    """Return a text that names this process, and no later one."""
    process = identify(os.getpid())
    return f"{process.pid}/{process.created:.2f}"


def _is_alive(worker: str) -> bool:
    pid, _, created = worker.partition("/")
    try:
        return is_alive(ProcessIdentity(int(pid), float(created)))
    except ValueError:
        return False


def _get_now() -> int:
    return time.time_ns() // 1_000_000
