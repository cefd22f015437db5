"""The application ``ReportGenerationApp`` and the routes of its Spark program.

Routes, texts and JSON are those of CDAP 6 ``ReportGenerationSpark``; reports are computed in DuckDB.

Reading the details of a report from its file.

Generating a report: its details in a file, and the summary of them.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import traceback
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from localcdap.api.app import (
    BadRequestError,
    ExportedRows,
    Grouping,
    Header,
    NotFoundError,
    QueryParameter,
    RowGroup,
    SparkService,
    SystemApplication,
    SystemContext,
    application,
    decode_body,
    delete,
    get,
    post,
)
from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.api.errors import LocalcdapError

from .history import PROGRESS, RUNS, RunListener, RunTakeover
from .request import ARGUMENTS, ReportRequest, decode_request
from .store import COMPLETED, FAILED, REPORTS, Report, ReportStore, SavedReport, make_refusal

_GROUPINGS: Final = (
    Grouping(["namespace"]),
    Grouping(["artifactName", "artifactVersion", "artifactScope"]),
    Grouping([], ["duration", "start"]),
    Grouping(["user"]),
    Grouping(["startMethod"]),
)


def generate(
    context: SystemContext, request: ReportRequest, file: str, expiry_s: int
) -> tuple[int, dict[str, Any]]:
    """Write the details of a report into a file of the application.

    :param expiry_s: seconds after which the report expires, unless it is saved.
    :returns: the number of details, and the summary.
    """
    wanted = msgspec.structs.replace(request.to_export(RUNS.table), groupings=list(_GROUPINGS))
    exported = context.export_rows(wanted, file)
    return exported.count, summarize(request, exported, expiry_s)


def summarize(request: ReportRequest, exported: ExportedRows, expiry_s: int) -> dict[str, Any]:
    """Return the summary of a report (CDAP 6 ``ReportSummary``), without what is null."""
    namespaces, artifacts, (whole,), users, methods = exported.groups
    durations, starts = whole.measures["duration"], whole.measures["start"]
    now = time.time_ns() // 1_000_000
    found = [{"namespace": each.values[0], "runs": each.count} for each in namespaces]
    return {
        "namespaces": found or [{"namespace": name, "runs": 0} for name in request.namespaces],
        "start": request.start,
        "end": request.end,
        "artifacts": [_name(each, "name", "version", "scope") for each in artifacts],
        "durations": {
            "min": durations.minimum or 0,
            "max": durations.maximum or 0,
            "average": durations.average or 0.0,
        },
        "starts": {"oldest": starts.minimum or 0, "newest": starts.maximum or 0},
        "owners": [_name(each, "user") for each in users],
        "startMethods": [_name(each, "method") for each in methods],
        "recordCount": exported.count,
        "creationTimeMillis": now,
        "expirationTimeMillis": now + expiry_s * 1000,
    }


def _name(group: RowGroup, *keys: str) -> dict[str, Any]:
    pairs = zip(keys, group.values, strict=True)
    return {key: value for key, value in pairs if value is not None} | {"runs": group.count}


def read_details(file: Path, offset: int, limit: int) -> list[dict[str, Any]]:
    """Return details from ``offset`` on, without the fields that are null.

    :raises FileNotFoundError: when the report was deleted meanwhile.
    """
    import pyarrow.parquet as pq

    found: list[dict[str, Any]] = []
    with pq.ParquetFile(file) as opened:
        begin = 0
        for group in range(opened.num_row_groups):
            count = opened.metadata.row_group(group).num_rows
            if begin + count > offset and begin < offset + limit:
                rows = opened.read_row_group(group)
                first = max(offset - begin, 0)
                last = min(offset + limit - begin, count)
                found += map(_to_detail, rows.slice(first, last - first).to_pylist())
            begin += count
    return found


def _to_detail(row: dict[str, Any]) -> dict[str, Any]:
    arguments = row.get(ARGUMENTS)
    if arguments is not None:
        row[ARGUMENTS] = msgspec.json.decode(arguments)
    return {name: value for name, value in row.items() if value is not None}


_LOG: Final = logging.getLogger(__name__)
_MOST_AT_ONCE: Final = 3
_LIMIT: Final = 10_000
_EXPIRY_S: Final = 2 * 86_400
_EXPIRY: Final = "report.expiry.duration.seconds"
_READ_LIMIT: Final = "readLimit"
User = Annotated[str, Header("CDAP-UserId")]
ReportId = Annotated[str | None, QueryParameter("report-id")]
ShareId = Annotated[str | None, QueryParameter("share-id")]


class ReportGenerationSpark(SparkService):
    """Reports on the runs of all namespaces; each belongs to the user who created it."""

    name = "ReportGenerationSpark"
    tables = [RUNS, PROGRESS, REPORTS]

    def initialize(self) -> None:
        self._reports = ReportStore(self.context)
        self._takeover = RunTakeover(self.context)
        self._takeover.start()
        self._executor = ReportExecutor(_MOST_AT_ONCE)

    @get("/health")
    def check_health(self) -> None:
        """Answer, to show that the application is there."""

    @post("/reports")
    def create(self, user: User = SYSTEM_NAMESPACE, body: bytes | None = None) -> dict[str, str]:
        """Begin to generate a report; return its id."""
        request = decode_request(body)
        expiry_s = self._get_number(_EXPIRY, _EXPIRY_S)
        self._reports.delete_expired()
        with self._executor.take_turn() as turn:
            report = self._reports.add(user, request)
            turn.run(lambda: self._generate(report, expiry_s))
        return {"id": report.id}

    @get("/reports")
    def list_reports(
        self, user: User = SYSTEM_NAMESPACE, offset: int = 0, limit: int = _LIMIT
    ) -> dict[str, Any]:
        """List the reports of a user, the newest first."""
        found = self._reports.list_newest(user)[max(offset, 0) :][: max(limit, 0)]
        reports = [{"id": each.id, **each.describe()} for each in found]
        return {"offset": offset, "limit": limit, "total": len(reports), "reports": reports}

    @get("/reports/info")
    def get_info(
        self, user: User = SYSTEM_NAMESPACE, report: ReportId = None, share: ShareId = None
    ) -> dict[str, Any]:
        """Return what is known of a report, with its summary."""
        return _describe(self._find(user, report, share))

    @get("/reports/download")
    def download(
        self,
        user: User = SYSTEM_NAMESPACE,
        report: ReportId = None,
        share: ShareId = None,
        offset: int = 0,
        limit: int = _LIMIT,
    ) -> dict[str, Any]:
        """Return details of a report."""
        return self._read_details(lambda: self._find(user, report, share), offset, limit)

    @get("/reports/{id}")
    def get_report(self, id: str, user: User = SYSTEM_NAMESPACE) -> dict[str, Any]:
        """Return what is known of a report, as ``reports/info`` does (CDAP 5.0)."""
        return _describe(self._reports.require(user, id))

    @get("/reports/{id}/details")
    def get_details(
        self, id: str, user: User = SYSTEM_NAMESPACE, offset: int = 0, limit: int = _LIMIT
    ) -> dict[str, Any]:
        """Return details of a report, as ``reports/download`` does (CDAP 5.0)."""
        return self._read_details(lambda: self._reports.require(user, id), offset, limit)

    @post("/reports/{id}/share")
    def share(self, id: str, user: User = SYSTEM_NAMESPACE) -> dict[str, str]:
        """Return an id with which every user can read a report."""
        try:
            report = self._reports.require(user, id)
        except NotFoundError:
            raise NotFoundError(f"Invalid report-id {id}, report does not exist") from None
        return {"shareId": self._reports.share(report)}

    @post("/reports/{id}/save")
    def save(self, id: str, user: User = SYSTEM_NAMESPACE, body: bytes | None = None) -> str:
        """Keep a report for ever, under another name."""
        report = self._reports.require(user, id)
        if report.status != COMPLETED:
            raise make_refusal(403, f"Cannot save the report with status {report.status}")
        if report.saved is None:
            saved = _decode_saved(body)
            self._reports.save(report, saved)
            return (
                f"Report with id {id} is saved successfully with the name: '{saved.name}' and description: "
                f"'{saved.description}' "
            )
        self._reports.save(report, report.saved)  # refused, with the name it has
        raise AssertionError

    @delete("/reports/{id}")
    def delete(self, id: str, user: User = SYSTEM_NAMESPACE) -> None:
        """Delete a report, also while it is being generated."""
        self._reports.delete(self._reports.require(user, id))

    def _generate(self, report: Report, expiry_s: int) -> None:
        try:
            self._takeover.finish()
            self.context.deliver_events()
            count, summary = generate(self.context, report.request, report.file, expiry_s)
            self._reports.finish(report, count, summary)
        except Exception as error:
            _LOG.warning("report %s failed: %s", report.id, error)
            # Without a host nothing can be stored; the report has failed when this process has ended.
            with contextlib.suppress(LocalcdapError):
                self._reports.fail(report, "".join(traceback.format_exception(error)))

    def _find(self, user: str, report: str | None, share: str | None) -> Report:
        if report is None and share is None:
            raise BadRequestError("Either reportId or sharedId must be provided, missing both")
        if report is not None and share is not None:
            raise BadRequestError(
                "Only one of reportId or sharedId must be provided, provided both"
            )
        if report is not None:
            return self._reports.require(user, report)
        return self._reports.require_shared(str(share))

    def _read_details(self, find: Any, offset: int, limit: int) -> dict[str, Any]:
        most = self._get_number(_READ_LIMIT, _LIMIT)
        if offset < 0:
            raise BadRequestError("offset cannot be negative")
        if limit <= 0:
            raise BadRequestError("limit must be a positive integer")
        if limit > most:
            raise BadRequestError(f"limit must cannot be larger than {most}")
        report: Report = find()
        if report.status == FAILED:
            raise BadRequestError(
                f"Reading details of the report {report.id} with failed status is not allowed."
            )
        if report.status != COMPLETED:
            raise make_refusal(
                202, f"Report {report.id} is still being generated, please retry later."
            )
        details = read_details(self._reports.get_path(report), offset, limit)
        return {"offset": offset, "limit": limit, "total": report.count, "details": details}

    def _get_number(self, name: str, default: int) -> int:
        """Return a preference of the namespace ``system`` or the instance: CDAP's runtime argument."""
        text = self.context.get_preferences(SYSTEM_NAMESPACE).get(name)
        return int(text) if text is not None and text.isdecimal() else default


class ReportExecutor:
    """Generates a few reports at once, each in a thread; further ones are refused, not queued.

    CDAP's executor has three threads and no queue, so that a fourth report is rejected with 500.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._places = threading.Semaphore(most)
        self._done = 0

    def take_turn(self) -> _Turn:
        """Return a place for one report.

        :raises AnswerError: 500 when all are taken.
        """
        if not self._places.acquire(blocking=False):
            raise make_refusal(
                500,
                "Exception occurred while handling request: Task for the report rejected from "
                f"java.util.concurrent.ThreadPoolExecutor[Running, pool size = {self._most}, "
                f"active threads = {self._most}, queued tasks = 0, completed tasks = {self._done}]",
            )
        return _Turn(self._leave)

    def _leave(self) -> None:
        self._done += 1
        self._places.release()


class _Turn:
    """A place in an executor, left at the end of what :meth:`run` gets, or of the block without that."""

    def __init__(self, leave: Any) -> None:
        self._leave = leave
        self._is_used = False

    def run(self, work: Any) -> None:
        """Do something in a thread of its own."""

        def do() -> None:
            try:
                work()
            finally:
                self._leave()

        threading.Thread(target=do, name="report-generation", daemon=True).start()
        self._is_used = True

    def __enter__(self) -> _Turn:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_used:
            self._leave()


def _describe(report: Report) -> dict[str, Any]:
    """Return what is known of a report (CDAP 6 ``ReportGenerationInfo``), without what is null."""
    shown: dict[str, Any] = {**report.describe(), "request": report.request}
    if report.failure is not None:
        shown["error"] = report.failure
    if report.summary is not None:
        shown["summary"] = report.summary
    return shown


def _decode_saved(body: bytes | None) -> SavedReport:
    try:
        saved: SavedReport | None = decode_body(body, SavedReport | None)
    except BadRequestError as error:
        raise BadRequestError(f"Failed to parse the report saving request: {error}") from None
    return saved or SavedReport()


@application(
    name="ReportGenerationApp", description="Reports on the runs of pipelines in all namespaces."
)
class ReportGenerationApp(SystemApplication):
    services = [ReportGenerationSpark]
    listeners = [RunListener]
