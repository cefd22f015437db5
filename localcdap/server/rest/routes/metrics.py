"""Metrics of runs: records of stages (CDAP 6 ``MetricsHandler``). They are totals of runs, not series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from localcdap.host import Cdap
from localcdap.runs.history import LONGEST_PAGE, RunFilter
from localcdap.runs.model import Run
from localcdap.server.rest.answers import Answer, RestError, send_json
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("Metrics")
_LACK: Final = "totals of runs only; a series of times has one value"
_MOST_RUNS: Final = 10 * LONGEST_PAGE
"""The most runs whose counts are added up, the newest ones."""


@ROUTES.add("POST", "/v3/metrics/query", lack=_LACK)
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


@ROUTES.add("POST", "/v3/metrics/search", lack="tags that are not of a pipeline find nothing")
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
    """Return the totals of all metrics: ``user.STAGE.records.in``, ``.out``, ``.error``, and of plugins."""
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
