"""The studio service: validation, debugging of a stage, methods of plugins, drafts; and previews.

Paths and JSON are those of the design "Pipeline System Application" and of CDAP 6 ``ValidationHandler``,
``DraftHandler`` and ``PreviewHttpHandler``. The design calls the application ``pipelines``, the original
``pipeline``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from localcdap.artifacts.model import ArtifactSelector
from localcdap.decoders import convert
from localcdap.engine.messages.samples import StageSample, add_up_altered
from localcdap.pipeline.library.application_model import DraftRequest
from localcdap.pipeline.methods import MethodCall, MethodPlugin
from localcdap.pipeline.service import PipelineRequest, StageRequest
from localcdap.runs.preview.model import (
    DEFAULT_TIMEOUT_MINUTES,
    DebugRequest,
    Preview,
    PreviewRequest,
)
from localcdap.server.rest.answers import (
    DONE,
    Answer,
    RestError,
    name_missing,
    send_json,
    send_text,
)
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable
from localcdap.server.rest.routes.applications import describe_failures

STUDIO: Final = RouteTable("Studio")
_UNREADABLE: Final = "Unable to decode request body: {}"
_NO_STAGE: Final = (
    "Invalid stage config: Pipeline stage config must be provided in the validation request."
)


def list_studio_patterns(path: str) -> tuple[str, str]:
    """Return the patterns of a route of the studio service."""
    base = "/v3/namespaces/system/apps/{}/services/studio/methods/v1"
    return base.format("pipeline") + path, base.format("pipelines") + path


_IN: Final = "/contexts/{namespace}"


@STUDIO.add("GET", *list_studio_patterns("/health"))
def get_health(_: RestRequest) -> Answer:
    return DONE


@STUDIO.add("POST", *list_studio_patterns(f"{_IN}/validations/pipeline"))
def validate_pipeline(request: RestRequest) -> Answer:
    """Validate a pipeline, with the body that deploys it."""
    require_context(request)
    document = read_object(request)
    found = request.cdap.studio.validate_pipeline(PipelineRequest(document, request.namespace))
    return _send_validation(found)


@STUDIO.add("POST", *list_studio_patterns(f"{_IN}/validations/stage"))
def validate_stage(request: RestRequest) -> Answer:
    require_context(request)
    asked: StageRequest = _read_stage(request, StageRequest)
    return _send_validation(request.cdap.studio.validate_stage(asked))


@STUDIO.add("POST", *list_studio_patterns(f"{_IN}/validations/output"))
def debug_stage(request: RestRequest) -> Answer:
    """Run a stage on the records of the body."""
    require_context(request)
    asked: DebugRequest = _read_stage(request, DebugRequest)
    return send_json(request.cdap.debugging.debug(asked))


@STUDIO.add("POST", *list_studio_patterns(f"{_IN}/methods/{{method}}"))
def call_method(request: RestRequest) -> Answer:
    """Call a method of a plugin."""
    require_context(request)
    given = read_object(request)
    plugin = given.get("plugin")
    if not isinstance(plugin, dict):
        raise RestError(400, "Invalid request: a plugin must be provided.")
    call = MethodCall(
        MethodPlugin(
            _require_text(plugin, "type"),
            _require_text(plugin, "name"),
            artifact=convert_part(plugin.get("artifact") or {}, ArtifactSelector),
            properties=to_texts(convert_part(plugin.get("properties") or {}, dict)),
        ),
        request.path["method"],
        given.get("request"),
        request.namespace,
    )
    return send_json(request.cdap.methods.call(call).answer)


@STUDIO.add("GET", *list_studio_patterns(f"{_IN}/drafts"))
def list_drafts(request: RestRequest) -> Answer:
    require_context(request)
    found = request.cdap.drafts.list_drafts(
        request.namespace,
        request.get_flag("includeConfig"),
        request.get("sortBy", "name"),
        request.get("sortOrder", "ASC"),
        request.get("filter"),
    )
    return send_json(found)


@STUDIO.add("GET", *list_studio_patterns(f"{_IN}/drafts/{{draft}}"))
def get_draft(request: RestRequest) -> Answer:
    require_context(request)
    with name_missing(_describe_missing_draft(request)):
        return send_json(request.cdap.drafts.get(request.namespace, request.path["draft"]))


@STUDIO.add("PUT", *list_studio_patterns(f"{_IN}/drafts/{{draft}}"))
def put_draft(request: RestRequest) -> Answer:
    """Save a draft under an id that the client has chosen, as the original's page does."""
    require_context(request)
    given = read_object(request)
    revision = given.get("revision")
    hash, parent = given.get("previousHash"), given.get("parentVersion")
    draft = DraftRequest(
        {key: given[key] for key in ("name", "description", "artifact", "config") if key in given},
        fallback_name=request.path["draft"],
        previous_hash=hash if isinstance(hash, str) else None,
        revision=revision if isinstance(revision, int) else None,
        parent_version=parent if isinstance(parent, str) else None,
    )
    request.cdap.drafts.save(request.namespace, draft, request.path["draft"])
    return DONE


@STUDIO.add("DELETE", *list_studio_patterns(f"{_IN}/drafts/{{draft}}"))
def delete_draft(request: RestRequest) -> Answer:
    require_context(request)
    with name_missing(_describe_missing_draft(request)):
        request.cdap.drafts.delete(request.namespace, request.path["draft"])
    return DONE


def require_context(request: RestRequest) -> None:
    """:raises RestError: when the namespace of the path does not exist (404)."""
    if not request.cdap.namespaces.exists(request.namespace):
        raise RestError(404, f"Namespace '{request.namespace}' does not exist")


def read_object(request: RestRequest, empty: str = "Request body is empty.") -> dict[str, Any]:
    """Return the body, an object.

    :raises RestError: when it is anything else, or empty (400).
    """
    given: dict[str, Any] = request.decode(dict, _UNREADABLE, missing={})
    if not given:
        raise RestError(400, empty)
    return given


def _describe_missing_draft(request: RestRequest) -> str:
    """Return the text of CDAP 6 ``DraftNotFoundException``."""
    return f"Draft '{request.path['draft']}' in namespace '{request.namespace}' not found."


def _read_stage(request: RestRequest, type: Any) -> Any:
    """Return the body, a request about a stage in the namespace of the path."""
    given = read_object(request)
    if not given.get("stage"):
        raise RestError(400, _NO_STAGE)
    return convert_part({**given, "namespace": request.namespace}, type)


def convert_part(value: Any, type: Any) -> Any:
    """Return a part of a body as a value of a type.

    :raises RestError: when it does not fit (400).
    """
    try:
        return convert(value, type, strict=False)
    except msgspec.ValidationError as error:
        raise RestError(400, _UNREADABLE.replace("{}", str(error))) from None


def _require_text(values: dict[str, Any], name: str) -> str:
    found = values.get(name)
    if not isinstance(found, str):
        raise RestError(400, f"Invalid request: '{name}' of the plugin must be provided.")
    return found


def _send_validation(found: Any) -> Answer:
    """Return a validation with its failures under both names: that of the design, and that of CDAP 6."""
    fields = msgspec.structs.asdict(found)
    return send_json({"errors": found.errors, "failures": found.errors, **fields})


PREVIEWS: Final = RouteTable("Previews")
_ALL: Final = "/v3/namespaces/{namespace}/previews"
_ONE: Final = f"{_ALL}/{{preview}}"
_RECORDS: Final = "records.out"


@PREVIEWS.add("POST", _ALL)
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


@PREVIEWS.add("GET", _ALL)
def list_previews(request: RestRequest) -> Answer:
    found = request.cdap.previews.list_previews(request.namespace)
    return send_json([{**_to_id(each), **_to_status(each)} for each in found])


@PREVIEWS.add("GET", f"{_ONE}/status")
def get_status(request: RestRequest) -> Answer:
    return send_json(_to_status(_get(request)))


@PREVIEWS.add("POST", f"{_ONE}/stop")
def stop_preview(request: RestRequest) -> Answer:
    request.cdap.previews.stop(request.namespace, request.path["preview"])
    return DONE


@PREVIEWS.add("GET", f"{_ONE}/tracers")
def list_tracers(request: RestRequest) -> Answer:
    """Return the stages that have records; the original's answer is empty."""
    return send_json(list(_get(request).stages))


@PREVIEWS.add("POST", f"{_ONE}/tracers")
def get_records_of_stages(request: RestRequest) -> Answer:
    given = request.decode(dict, missing={})
    if not given:
        raise RestError(400, "The body is not provided.")
    names = given.get("tracers")
    if not isinstance(names, list) or not names:
        raise RestError(400, "Tracer names cannot be empty.")
    found = _get(request)
    return send_json({str(each): _to_records(found, str(each)) for each in names})


@PREVIEWS.add("GET", f"{_ONE}/tracers/{{stage}}")
def get_records(request: RestRequest) -> Answer:
    return send_json(_to_records(_get(request), request.path["stage"]))


@PREVIEWS.add(
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


@PREVIEWS.add(
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


@PREVIEWS.add("POST", f"{_ONE}/metrics/query", lack="the records of all stages, whatever is asked")
def query_metrics(request: RestRequest) -> Answer:
    totals = {"startTime": 0, "endTime": 0, "series": _list_series(_get(request))}
    given = request.decode(dict, missing={})
    return send_json(dict.fromkeys(given, totals) if given else totals)


@PREVIEWS.add("POST", f"{_ONE}/metrics/search")
def search_metrics(request: RestRequest) -> Answer:
    return send_json([each["metricName"] for each in _list_series(_get(request))])


def _get(request: RestRequest) -> Preview:
    return request.cdap.previews.get(request.namespace, request.path["preview"])


def _list_values(sample: StageSample) -> Iterator[tuple[str, int]]:
    """Yield the metrics of a stage with their values."""
    yield _RECORDS, sample.count
    yield "records.error", sample.error_count
    for kind, number in add_up_altered(sample.altered).items():
        yield f"noticed.{kind}", number


def _list_series(preview: Preview) -> list[dict[str, Any]]:
    return [
        {
            "metricName": f"user.{stage}.{name}",
            "grouping": {},
            "data": [{"time": 0, "value": value}],
        }
        for stage, sample in preview.stages.items()
        for name, value in _list_values(sample)
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
