"""Previews (CDAP 6 ``PreviewHttpHandler``)."""

from __future__ import annotations

from typing import Any, Final

from localcdap.runs.preview.model import DEFAULT_TIMEOUT_MINUTES, Preview, PreviewRequest
from localcdap.server.rest.answers import DONE, Answer, RestError, send_json, send_text
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable
from localcdap.server.rest.routes.applications import describe_failures

ROUTES: Final = RouteTable("Previews")
_ALL: Final = "/v3/namespaces/{namespace}/previews"
_ONE: Final = f"{_ALL}/{{preview}}"
_RECORDS: Final = "records.out"


@ROUTES.add("POST", _ALL)
def start_preview(request: RestRequest) -> Answer:
    """Start a preview. That of an invalid pipeline ends with DEPLOY_FAILED."""
    given = request.decode(dict, missing={})
    if not given:
        raise RestError(400, "The body is not provided.")
    options = given.get("preview") or {}
    arguments = options.get("runtimeArgs") if isinstance(options, dict) else None
    minutes = options.get("timeout") if isinstance(options, dict) else None
    has_minutes = isinstance(minutes, int | float) and minutes > 0
    made = request.cdap.previews.start(
        PreviewRequest(
            given,
            request.namespace,
            name="preview",
            arguments=to_texts(arguments) if isinstance(arguments, dict) else {},
            timeout_minutes=float(minutes) if has_minutes else DEFAULT_TIMEOUT_MINUTES,  # type: ignore[arg-type]
        )
    )
    return send_json(_to_id(made))


@ROUTES.add("GET", _ALL)
def list_previews(request: RestRequest) -> Answer:
    found = request.cdap.previews.list_previews(request.namespace)
    return send_json([{**_to_id(each), **_to_status(each)} for each in found])


@ROUTES.add("GET", f"{_ONE}/status")
def get_status(request: RestRequest) -> Answer:
    return send_json(_to_status(_get(request)))


@ROUTES.add("POST", f"{_ONE}/stop")
def stop_preview(request: RestRequest) -> Answer:
    request.cdap.previews.stop(request.namespace, request.path["preview"])
    return DONE


@ROUTES.add("GET", f"{_ONE}/tracers")
def list_tracers(request: RestRequest) -> Answer:
    """Return the stages that have records; the original's answer is empty."""
    return send_json(list(_get(request).stages))


@ROUTES.add("POST", f"{_ONE}/tracers")
def get_records_of_stages(request: RestRequest) -> Answer:
    given = request.decode(dict, missing={})
    if not given:
        raise RestError(400, "The body is not provided.")
    names = given.get("tracers")
    if not isinstance(names, list) or not names:
        raise RestError(400, "Tracer names cannot be empty.")
    found = _get(request)
    return send_json({str(each): _to_records(found, str(each)) for each in names})


@ROUTES.add("GET", f"{_ONE}/tracers/{{stage}}")
def get_records(request: RestRequest) -> Answer:
    return send_json(_to_records(_get(request), request.path["stage"]))


@ROUTES.add(
    "GET", f"{_ONE}/runs", lack="the times, the status and the counts, not the whole record"
)
def get_run(request: RestRequest) -> Answer:
    found = _get(request)
    start = found.start_time or found.submit_time
    record: dict[str, Any] = {
        "runid": found.preview,
        "starting": found.submit_time // 1000,
        "start": start // 1000,
        "status": found.status,
    }
    if found.end_time is not None:
        record["end"] = found.end_time // 1000
    return send_json(record)


@ROUTES.add(
    "GET",
    *(f"{_ONE}/logs{each}" for each in ("", "/next", "/prev")),
    lack="all lines at once, as text",
)
def get_log(request: RestRequest) -> Answer:
    lines = _get(request).logs
    if request.get("format", "text").lower() == "json":
        return send_json(
            [
                {
                    "log": {"timestamp": each.time, "logLevel": each.level, "message": each.text},
                    "offset": f"{each.number}.{each.time}",
                }
                for each in lines
            ]
        )
    text = "".join(f"{each.level:5} [{each.stage or 'pipeline'}] - {each.text}\n" for each in lines)
    return send_text(text)


@ROUTES.add("POST", f"{_ONE}/metrics/query", lack="the records of all stages, whatever is asked")
def query_metrics(request: RestRequest) -> Answer:
    totals = {"startTime": 0, "endTime": 0, "series": _list_series(_get(request))}
    given = request.decode(dict, missing={})
    return send_json(dict.fromkeys(given, totals) if given else totals)


@ROUTES.add("POST", f"{_ONE}/metrics/search")
def search_metrics(request: RestRequest) -> Answer:
    return send_json([each["metricName"] for each in _list_series(_get(request))])


def _get(request: RestRequest) -> Preview:
    return request.cdap.previews.get(request.namespace, request.path["preview"])


def _list_series(preview: Preview) -> list[dict[str, Any]]:
    return [
        {
            "metricName": f"user.{stage}.{name}",
            "grouping": {},
            "data": [{"time": 0, "value": value}],
        }
        for stage, sample in preview.stages.items()
        for name, value in ((_RECORDS, sample.count), ("records.error", sample.error_count))
    ]


def _to_id(preview: Preview) -> dict[str, Any]:
    return {
        "namespace": preview.namespace,
        "application": preview.preview,
        "version": "-SNAPSHOT",
        "entity": "APPLICATION",
    }


def _to_status(preview: Preview) -> dict[str, Any]:
    """Return the status of a preview (CDAP 6 ``PreviewStatus``), with times in milliseconds."""
    status: dict[str, Any] = {
        "status": preview.status,
        "submitTime": preview.submit_time,
        "startTime": preview.start_time,
        "endTime": preview.end_time,
        "positionInWaitingQueue": preview.position_in_waiting_queue,
    }
    message = preview.error.message if preview.error else None
    if preview.errors:
        message = describe_failures(preview.errors)
    if message is not None:
        trace = preview.error.trace if preview.error else []
        status["throwable"] = {"className": "", "message": message, "stackTraces": trace}
    return status


def _to_records(preview: Preview, stage: str) -> dict[str, Any]:
    """Return the records of a stage, each with its schema, as the original's records are written."""
    sample = preview.stages.get(stage)
    if sample is None:
        return {}
    return {
        _RECORDS: [{"schema": sample.schema, "fields": each} for each in sample.records],
    }
