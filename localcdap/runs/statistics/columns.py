"""The columns of runs that lists and statistics read, besides the record itself."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from localcdap.runs.history import count_records_read
from localcdap.runs.model import Run, count_records_written
from localcdap.runs.statistics.classification import find_reason

COLUMNS: Final = (
    "status",
    "begun",
    "finish",
    "username",
    "start_method",
    "application_version",
    "artifact",
    "records_read",
    "records_written",
    "failed_stage",
    "error",
    "reason",
    "category",
    "stage_times",
    "stage_alerts",
)


def build_columns(run: Run) -> tuple[Any, ...]:
    """Return the values of :data:`COLUMNS` for a run."""
    error = run.error
    reason = find_reason(error) if error is not None else None
    times = msgspec.json.encode(run.stage_times).decode() if run.stage_times else None
    alerts = {name: counts.alerts for name, counts in run.stages.items() if counts.alerts}
    return (
        run.status.value,
        run.start,
        run.end,
        run.user,
        run.start_method,
        run.application_version,
        msgspec.json.encode(run.artifact).decode() if run.artifact is not None else None,
        count_records_read(run.stages),
        count_records_written(run),
        error.stage if error is not None else None,
        error.message if error is not None else None,
        reason.text if reason is not None else None,
        reason.category if reason is not None else None,
        times,
        msgspec.json.encode(alerts).decode() if alerts else None,
    )
