"""Generating a report: its details in a file, and the summary of them."""

from __future__ import annotations

import time
from typing import Any, Final

import msgspec

from localcdap.api.app import ExportedRows, Grouping, RowGroup, SystemContext

from .history import RUNS
from .request import ReportRequest

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
