"""Reports over a million runs, dashboards, and lists of many pipelines and runs."""

from __future__ import annotations

import json
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Row, within

RUNS: Final = 1_000_000
LISTED_RUNS: Final = 100_000
PIPELINES: Final = 5_000
_BEGIN: Final = 1_700_000_000
_APP: Final = "ReportGenerationApp"
_HISTORY: Final = f"""
    INSERT INTO app_report_runs BY NAME
    SELECT 'ns' || i % 5 AS namespace, 'SYSTEM' AS "artifactScope", 'cdap-data-pipeline' AS "artifactName",
        '6.10.1' AS "artifactVersion", 'pipeline' || i % 500 AS "applicationName",
        '1.0.0' AS "applicationVersion", 'Workflow' AS "programType", 'DataPipelineWorkflow' AS program,
        lpad(to_hex(i), 8, '0') || '-aaaa-11f0-8123-0242ac120002' AS run, 'COMPLETED' AS status,
        {_BEGIN} + i AS start, {_BEGIN} + i + 1 AS running, {_BEGIN} + i + i % 400 AS "end",
        i % 400 AS duration, 'user' || i % 30 AS "user", 'MANUAL' AS "startMethod",
        '{{"logicalStartTime":"0"}}' AS "runtimeArgs", i % 3 AS "numLogWarnings", 0 AS "numLogErrors",
        i * 3 AS "numRecordsOut", '{{}}' AS "statusTimes"
    FROM range({RUNS}) t(i)
"""
_RAW: Final = """
    COPY (SELECT * EXCLUDE ("statusTimes") FROM app_report_runs
        WHERE start < 2000000000 AND ("end" IS NULL OR "end" >= 0)
            AND namespace IN ('ns0', 'ns1', 'ns2', 'ns3', 'ns4')
        ORDER BY duration DESC) TO '{file}' (FORMAT parquet)
"""
_LISTED: Final = """
    INSERT INTO runs SELECT runs.* REPLACE (
        'r' || i AS run, 'pipeline' || i % ? AS pipeline, ? - i * 60000 AS starting,
        ? - i * 60000 + 1000 * (i % 90) AS finish) FROM runs, range(1, ? + 1) t(i) WHERE run = ?
"""


def reports(folder: Path, rounds: int) -> Iterator[Row]:
    """A report from its request to its completion; the dashboard of a week; lists."""
    from localcdap.home import Home
    from localcdap.host import open_in_process

    place = folder / "reports"
    shutil.rmtree(place, ignore_errors=True)
    with open_in_process(Home(place)) as cdap:
        _call(cdap, "GET", "/health")
        with cdap.runs._store.transaction() as tx:
            tx.execute(_HISTORY)
        file = place / "raw.parquet"
        ours, raw = [], []
        for _ in range(rounds + 1):
            ours.append(_measure(lambda: _make_report(cdap)))
            raw.append(_measure(lambda: cdap.runs._store.read(_RAW.format(file=file))))
        name = f"report over {RUNS:,} runs"
        yield within(
            name, statistics.median(ours[1:]), 3.0, "COPY of the rows", statistics.median(raw[1:])
        )
        yield from _measure_lists(cdap, rounds)


def _measure_lists(cdap: Any, rounds: int) -> Iterator[Row]:
    from localcdap.runs.history import RunFilter
    from localcdap.runs.model import get_now
    from localcdap.runs.statistics.model import OverviewRequest
    from tests.runs.stored_runs import write_run

    first, now = write_run(cdap).run, get_now()
    with cdap.runs._store.transaction() as tx:
        tx.execute(_LISTED, (PIPELINES, now, now, LISTED_RUNS, first))
    week = 7 * 86_400
    wanted = OverviewRequest(["default"], now - week * 1000, now + 1)
    for name, limit_s, work in (
        (
            "dashboard of a week, 10,080 runs",
            0.1,
            lambda: cdap.statistics.read_dashboard(now // 1000 - week, week, ["default"]),
        ),
        ("overview of that week", 0.2, lambda: cdap.statistics.read_overview(wanted)),
        (
            f"page of {LISTED_RUNS:,} runs",
            0.1,
            lambda: cdap.runs.list_page("default", RunFilter(), None, 100),
        ),
        (
            f"list of {PIPELINES:,} pipelines that ran",
            0.5,
            lambda: cdap.runs.list_by_pipeline("default", 60),
        ),
    ):
        times = [_measure(work) for _ in range(max(rounds, 3) + 1)][1:]
        yield within(name, statistics.median(times), limit_s)


def _make_report(cdap: Any) -> None:
    fields = [
        *("namespace", "artifactScope", "artifactName", "artifactVersion", "applicationName"),
        *(
            "applicationVersion",
            "programType",
            "program",
            "run",
            "status",
            "start",
            "running",
            "end",
        ),
        *("duration", "user", "startMethod", "runtimeArgs"),
        *("numLogWarnings", "numLogErrors", "numRecordsOut"),
    ]
    namespaces = [f"ns{number}" for number in range(5)]
    request = {
        "name": "all",
        "start": 0,
        "end": 2_000_000_000,
        "fields": fields,
        "filters": [{"fieldName": "namespace", "whitelist": namespaces}],
        "sort": [{"fieldName": "duration", "order": "DESCENDING"}],
    }
    id = _call(cdap, "POST", "/reports", json.dumps(request).encode())["id"]
    while (info := _call(cdap, "GET", "/reports/info", None, {"report-id": id}))[
        "status"
    ] == "RUNNING":
        time.sleep(0.01)
    if info["status"] != "COMPLETED" or info["summary"]["recordCount"] != RUNS:
        raise RuntimeError(f"the report failed: {info}")
    _call(cdap, "DELETE", f"/reports/{id}")


def _call(cdap: Any, method: str, path: str, body: Any = None, query: Any = None) -> Any:
    from localcdap.apps.model import AppRequest

    answer = cdap.apps.call(_APP, AppRequest(method, path, query or {}, body))
    if answer.status != 200:
        raise RuntimeError(f"{method} {path}: {answer.status} {answer.body}")
    return answer.body


def _measure(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
