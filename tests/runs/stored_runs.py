"""Runs written into an instance as their processes would have them written, without Spark."""

from __future__ import annotations

import uuid
from typing import Any

from localcdap.api.failures import ArtifactId
from localcdap.engine.messages.spool import Alerted, RunStatus
from localcdap.host import Cdap
from localcdap.processes.identity import ProcessIdentity
from localcdap.runs.logs import add_alerts, add_lines
from localcdap.runs.model import Run, RunError, StageCounts, StoredLogLine, get_now

GONE = ProcessIdentity(2**22 + 1, 0.0)
"""No process of this machine."""
DOCUMENT = '{"name": "sales", "config": {"stages": [], "connections": []}}'


def make_run(
    pipeline: str = "sales",
    status: RunStatus = RunStatus.COMPLETED,
    *,
    starting: int | None = None,
    took_ms: int = 1000,
    namespace: str = "default",
    stages: dict[str, StageCounts] | None = None,
    arguments: dict[str, str] | None = None,
    error: RunError | None = None,
    user: str | None = None,
) -> Run:
    """A run as the records have it."""
    began = get_now() if starting is None else starting
    return Run(
        run=str(uuid.uuid1()),
        namespace=namespace,
        pipeline=pipeline,
        status=status,
        arguments=arguments or {},
        profile="native",
        starting=began,
        start=began,
        end=began + took_ms if status.is_end else None,
        stages={"In": StageCounts(0, 10, 0), "Out": StageCounts(10, 10, 0)}
        if stages is None
        else stages,
        error=error,
        version=0,
        user=user,
        artifact=ArtifactId("cdap-data-pipeline", "6.10.0", "SYSTEM"),
        origins=dict.fromkeys(arguments or {}, "given"),
    )


def write_run(
    cdap: Cdap,
    pipeline: str = "sales",
    status: RunStatus = RunStatus.COMPLETED,
    *,
    document: str = DOCUMENT,
    **more: Any,
) -> Run:
    """Add a run to the records of the host in this process."""
    run = make_run(pipeline, status, **more)
    cdap.runs._records.add(run, GONE, document)
    return run


def write_log(cdap: Cdap, run: str, lines: list[StoredLogLine]) -> None:
    with cdap.runs._store.transaction() as tx:
        add_lines(tx, run, lines)
    cdap.runs._announce()


def write_alerts(cdap: Cdap, run: str, stage: str, *payloads: dict[str, str | None]) -> None:
    with cdap.runs._store.transaction() as tx:
        add_alerts(tx, run, Alerted(stage, list(payloads)))


def write_long_log(cdap: Cdap, run: str, count: int) -> None:
    """Lines 1 to ``count``; each tenth is a warning, each is of stage s0 to s4."""
    with cdap.runs._store.transaction() as tx:
        tx.execute(
            "INSERT INTO run_logs SELECT ?, i, 1_700_000_000_000 + i, "
            "CASE WHEN i % 10 = 0 THEN 'WARNING' ELSE 'INFO' END, 's' || i % 5, 'text of line ' || i "
            "FROM range(1, ? + 1) t(i)",
            (run, count),
        )
    cdap.runs._announce()


def change(cdap: Cdap, run: Run) -> None:
    """Store a run that the test has changed, and wake those who wait for it."""
    with cdap.runs._store.transaction() as tx:
        cdap.runs._records.change(tx, run)
    cdap.runs._announce()
