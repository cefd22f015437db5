"""Logs of runs, as text or JSON, and metrics of runs: records of stages.

Sources: CDAP 6 ``LogHttpHandler`` and ``MetricsHandler``. Metrics are totals of runs, not series.
"""

from __future__ import annotations

import datetime
import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from localcdap.engine.messages.spool import RunStatus
from localcdap.host import Cdap
from localcdap.runs.history import LONGEST_PAGE, RunFilter
from localcdap.runs.model import Run, StoredLogLine
from localcdap.server.rest.answers import TEXT, Answer, RestError, send_json, send_list
from localcdap.server.rest.programs import (
    get_run,
    list_patterns,
    read_program,
    require_pipeline,
)
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable

LOGS: Final = RouteTable("Logs")
_PAGE: Final = 1000
_MOST: Final = 1000
"""The most lines of an answer of ``next`` and ``prev``."""
_LEVELS: Final = {"WARNING": "WARN", "CRITICAL": "ERROR"}
"""The original's names of levels that Python calls otherwise."""
_RANKS: Final = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR")
_FILTER: Final = re.compile(r"\s*loglevel\s*=\s*(\w+)\s*", re.IGNORECASE)
_OFFSET: Final = re.compile(r"(-?\d{1,18})(?:\.(-?\d{1,18}))?")
_LACK: Final = "of filters only `loglevel` is known"
_ADDED: Final = "not in CDAP: the errors of a run by kind"
_Keep = Callable[[StoredLogLine], bool]


@LOGS.add("GET", *list_patterns("/logs"), *list_patterns("/runs/{run}/logs"), lack=_LACK)
def get_log(request: RestRequest) -> Answer:
    """Return the lines of a run, for a program those of its newest run; ``start`` and ``stop`` in seconds."""
    run, keep = _find_run(request), _read_filter(request)
    start, stop = request.get_number("start", 0), request.get_number("stop", 0)

    def is_in_time(line: StoredLogLine) -> bool:
        return keep(line) and line.time >= start * 1000 and (not stop or line.time < stop * 1000)

    pages = _list_pages(request, run, is_in_time) if run else iter(())
    if _reads_json(request):
        return send_list([_to_json(each) for each in page] for page in pages)
    return Answer(_encode_texts(request, pages), TEXT)


@LOGS.add("GET", *list_patterns("/logs/next"), *list_patterns("/runs/{run}/logs/next"), lack=_LACK)
def get_next(request: RestRequest) -> Answer:
    """Return the lines after an offset, by default from the beginning."""
    run, keep = _find_run(request), _read_filter(request)
    most, after = _read_most(request), _read_offset(request) or 0
    found: list[StoredLogLine] = []
    for page in _list_pages(request, run, keep, max(0, after)) if run else ():
        found += page
        if len(found) >= most:
            break
    return _send_page(request, found[:most])


@LOGS.add("GET", *list_patterns("/logs/prev"), *list_patterns("/runs/{run}/logs/prev"), lack=_LACK)
def get_previous(request: RestRequest) -> Answer:
    """Return the lines before an offset, by default the last ones."""
    run, keep = _find_run(request), _read_filter(request)
    if not run:
        return _send_page(request, [])
    before, most = _read_offset(request), _read_most(request)
    if before is None or before < 0:
        before = request.cdap.runs.wait_for_log(run, -1, 0) + 1
    found: list[StoredLogLine] = []
    while before > 1 and len(found) < most:
        first = max(0, before - 1 - _PAGE)
        page = request.cdap.runs.read_log(run, first, before - 1 - first)
        found = [each for each in page if keep(each)] + found
        before = first + 1
    return _send_page(request, found[-most:])


@LOGS.add("GET", *list_patterns("/runs/{run}/logs/errors"), lack=_ADDED)
def get_errors(request: RestRequest) -> Answer:
    """Return the errors of a run by kind: stage, kind, count and the first ten lines of each."""
    run = _find_run(request)
    groups = request.cdap.runs.group_errors(run) if run else []
    return send_json(
        [
            {
                "stage": group.stage,
                "kind": group.kind,
                "count": group.count,
                "first": [_to_json(line) for line in group.first],
            }
            for group in groups
        ]
    )


@LOGS.add("GET", "/v3/system/{component}/{service}/logs", lack="the log of the host is not served")
def get_system_log(_: RestRequest) -> Answer:
    return Answer(b"", TEXT)


def _find_run(request: RestRequest) -> str | None:
    """Return the id of the run in the path, or that of the program's newest one; None: it was never run."""
    ref = read_program(request)
    if "run" in request.path:
        run = get_run(request.cdap, ref, request.path["run"])
    else:
        require_pipeline(request.cdap, ref)
        page = request.cdap.runs.list_page(ref.namespace, RunFilter(ref.application), limit=1)
        if not page.runs:
            return None
        run = page.runs[0]
    if run.status not in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.KILLED):
        request.cdap.runs.drain_spool(run.run)
    return run.run


def _list_pages(
    request: RestRequest, run: str, keep: _Keep, after: int = 0
) -> Iterator[list[StoredLogLine]]:
    while page := request.cdap.runs.read_log(run, after, _PAGE):
        yield [each for each in page if keep(each)]
        after = page[-1].number


def _read_filter(request: RestRequest) -> _Keep:
    text = request.get("filter", "")
    if not text.strip():
        return lambda _: True
    found = _FILTER.fullmatch(text)
    if found is None or found[1].upper() not in _RANKS:
        raise RestError(
            400, f"Invalid filter '{text}': write loglevel=LEVEL, such as loglevel=ERROR."
        )
    least = _RANKS.index(found[1].upper())
    return lambda line: _RANKS.index(_get_level(line)) >= least


def _read_most(request: RestRequest) -> int:
    return max(0, min(request.get_number("max", 50), _MOST))


def _read_offset(request: RestRequest) -> int | None:
    """Return the number of the line of an offset ``NUMBER.TIME``; None for the end."""
    text = request.get("fromOffset", "")
    if not text:
        return None
    found = _OFFSET.fullmatch(text)
    if found is None:
        raise RestError(400, f"Invalid offset '{text}'.")
    return int(found[1])


def _reads_json(request: RestRequest) -> bool:
    return request.get("format", "text").lower() == "json"


def _send_page(request: RestRequest, lines: list[StoredLogLine]) -> Answer:
    """Return lines with their offsets."""
    if _reads_json(request):
        return send_json([_to_json(each) for each in lines])
    return send_json(
        [{"log": _to_text(request, each), "offset": _get_offset(each)} for each in lines]
    )


def _encode_texts(request: RestRequest, pages: Iterator[list[StoredLogLine]]) -> Iterator[bytes]:
    for page in pages:
        yield "".join(_to_text(request, each) for each in page).encode("utf-8", "replace")


def _to_text(request: RestRequest, line: StoredLogLine) -> str:
    """Return a line as the original writes it; escaped for HTML unless the request says otherwise."""
    when = datetime.datetime.fromtimestamp(line.time / 1000, datetime.UTC)
    time = when.strftime("%Y-%m-%d %H:%M:%S") + f",{when.microsecond // 1000:03}"
    text = f"{time} - {_get_level(line):5} [{line.stage or 'pipeline'}] - {line.text}\n"
    return html.escape(text) if request.get_flag("escape", default=True) else text


def _to_json(line: StoredLogLine) -> dict[str, Any]:
    log = {
        "timestamp": line.time,
        "logLevel": _get_level(line),
        "threadName": line.stage or "pipeline",
        "className": "",
        "simpleClassName": line.stage or "",
        "lineNumber": line.number,
        "message": line.text,
        "stackTrace": "",
        "loggerName": line.stage or "",
        "mdc": {} if line.stage is None else {"MDC:stage": line.stage},
        "isNativeMethod": False,
    }
    return {"log": log, "offset": _get_offset(line)}


def _get_offset(line: StoredLogLine) -> str:
    return f"{line.number}.{line.time}"


def _get_level(line: StoredLogLine) -> str:
    return _LEVELS.get(line.level, line.level)


METRICS: Final = RouteTable("Metrics")
_ONLY_TOTALS: Final = "totals of runs only; a series of times has one value"
_MOST_RUNS: Final = 10 * LONGEST_PAGE
"""The most runs whose counts are added up, the newest ones."""


@METRICS.add("POST", "/v3/metrics/query", lack=_ONLY_TOTALS)
def query_metrics(request: RestRequest) -> Answer:
    """Return the values of metrics, for one query in the address or several ones in the body."""
    if "metric" in request.query or "tag" in request.query:
        metrics = [*request.query.get("metric", ()), *request.query.get("metrics", ())]
        return send_json(_answer(request.cdap, _read_tags(request), metrics))
    given = request.decode(dict, missing={})
    answers = {}
    for name, query in given.items():
        if not isinstance(query, Mapping):
            raise RestError(400, f"Query '{name}' must be an object.")
        tags, metrics = query.get("tags") or {}, query.get("metrics") or []
        if not isinstance(tags, Mapping) or not isinstance(metrics, list):
            raise RestError(400, f"Query '{name}' needs an object 'tags' and a list 'metrics'.")
        answers[name] = _answer(request.cdap, to_texts(tags), [str(each) for each in metrics])
    return send_json(answers)


@METRICS.add("POST", "/v3/metrics/search", lack="tags that are not of a pipeline find nothing")
def search_metrics(request: RestRequest) -> Answer:
    """Return the names of metrics for some tags, or the next tags."""
    target, tags = request.get("target"), _read_tags(request)
    if target is None:
        raise RestError(400, "Required target param is missing")
    if target == "metric":
        return send_json(sorted(_add_up(_list_runs(request.cdap, tags))))
    if target == "tag":
        return send_json(_list_next_tags(request.cdap, tags))
    raise RestError(400, f"Unknown target param value: {target}")


def _answer(cdap: Cdap, tags: Mapping[str, str], metrics: Iterable[str]) -> dict[str, Any]:
    totals = _add_up(_list_runs(cdap, tags))
    series = [
        {"metricName": name, "grouping": {}, "data": [{"time": 0, "value": totals[name]}]}
        for name in metrics
        if name in totals
    ]
    return {"startTime": 0, "endTime": 0, "series": series, "resolution": f"{2**31 - 1}s"}


def _read_tags(request: RestRequest) -> dict[str, str]:
    tags = {}
    for text in request.query.get("tag", ()):
        name, colon, value = text.partition(":")
        if not colon:
            raise RestError(400, f"Invalid tag '{text}': write NAME:VALUE.")
        tags[name] = value
    return tags


def _list_runs(cdap: Cdap, tags: Mapping[str, str]) -> list[Run]:
    """Return the runs that have some tags, the newest ones if there are many."""
    namespace, app = tags.get("namespace"), tags.get("app")
    if namespace in (None, "*") or app in (None, "*") or not cdap.namespaces.exists(str(namespace)):
        return []
    run = tags.get("run")
    if run is not None and run != "*":
        found = cdap.runs.list_page(str(namespace), RunFilter(app, text=run), limit=10).runs
        return [each for each in found if each.run == run]
    filter, after, runs = RunFilter(app), None, list[Run]()
    while len(runs) < _MOST_RUNS:
        page = cdap.runs.list_page(str(namespace), filter, after, LONGEST_PAGE).runs
        runs += page
        if len(page) < LONGEST_PAGE:
            break
        after = page[-1].run
    return runs


def _add_up(runs: Iterable[Run]) -> Counter[str]:
    """Return the totals of all metrics: ``user.STAGE.records.in``, ``.out``, ``.error``, and of plugins.

    What a run has noticed is ``user.STAGE.noticed.values`` (altered), ``.rows`` (dropped) and ``.keys``.
    """
    totals: Counter[str] = Counter()
    for run in runs:
        for stage in run.stages:
            counts = run.get_latest_counts(stage)
            found = {
                "records.in": counts.records_in,
                "records.out": counts.records_out,
                "records.error": counts.errors or None,
                "process.time.total": run.stage_times.get(stage),
                "records.alert": counts.alerts or None,
                **(counts.metrics or {}),
            }
            for name, value in found.items():
                if value is not None:
                    totals[f"user.{stage}.{name}"] += value
        for each in run.altered:
            totals[f"user.{each.stage}.noticed.{each.kind}"] += each.count
    return totals


def _list_next_tags(cdap: Cdap, tags: Mapping[str, str]) -> list[dict[str, str]]:
    namespace, app = tags.get("namespace"), tags.get("app")
    if namespace is None:
        names = [each.name for each in cdap.namespaces.list_namespaces()]
        return [{"name": "namespace", "value": each} for each in names]
    if not cdap.namespaces.exists(namespace):
        return []
    if app is None:
        apps = {each.pipeline for each in cdap.runs.list_by_pipeline(namespace, 1)}
        return [{"name": "app", "value": each} for each in sorted(apps)]
    return [{"name": "run", "value": each.run} for each in _list_runs(cdap, tags)]
