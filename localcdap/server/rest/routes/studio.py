"""The studio service: validation, debugging of a stage, methods of plugins, drafts.

Paths and JSON are those of the design "Pipeline System Application" and of CDAP 6 ``ValidationHandler`` and
``DraftHandler``. The design calls the application ``pipelines``, the original ``pipeline``.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from localcdap.artifacts.model import ArtifactSelector
from localcdap.decoders import convert
from localcdap.pipeline.library.draft_model import DraftRequest
from localcdap.pipeline.methods import MethodCall, MethodPlugin
from localcdap.pipeline.service import PipelineRequest, StageRequest
from localcdap.runs.preview.model import DebugRequest
from localcdap.server.rest.answers import DONE, Answer, RestError, name_missing, send_json
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("Studio")
_UNREADABLE: Final = "Unable to decode request body: {}"
_NO_STAGE: Final = (
    "Invalid stage config: Pipeline stage config must be provided in the validation request."
)


def list_studio_patterns(path: str) -> tuple[str, str]:
    """Return the patterns of a route of the studio service."""
    base = "/v3/namespaces/system/apps/{}/services/studio/methods/v1"
    return base.format("pipeline") + path, base.format("pipelines") + path


_IN: Final = "/contexts/{namespace}"


@ROUTES.add("GET", *list_studio_patterns("/health"))
def get_health(_: RestRequest) -> Answer:
    return DONE


@ROUTES.add("POST", *list_studio_patterns(f"{_IN}/validations/pipeline"))
def validate_pipeline(request: RestRequest) -> Answer:
    """Validate a pipeline, with the body that deploys it."""
    require_context(request)
    document = read_object(request)
    found = request.cdap.studio.validate_pipeline(PipelineRequest(document, request.namespace))
    return _send_validation(found)


@ROUTES.add("POST", *list_studio_patterns(f"{_IN}/validations/stage"))
def validate_stage(request: RestRequest) -> Answer:
    require_context(request)
    asked: StageRequest = _read_stage(request, StageRequest)
    return _send_validation(request.cdap.studio.validate_stage(asked))


@ROUTES.add("POST", *list_studio_patterns(f"{_IN}/validations/output"))
def debug_stage(request: RestRequest) -> Answer:
    """Run a stage on the records of the body."""
    require_context(request)
    asked: DebugRequest = _read_stage(request, DebugRequest)
    return send_json(request.cdap.debugging.debug(asked))


@ROUTES.add("POST", *list_studio_patterns(f"{_IN}/methods/{{method}}"))
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


@ROUTES.add("GET", *list_studio_patterns(f"{_IN}/drafts"))
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


@ROUTES.add("GET", *list_studio_patterns(f"{_IN}/drafts/{{draft}}"))
def get_draft(request: RestRequest) -> Answer:
    require_context(request)
    with name_missing(_describe_missing_draft(request)):
        return send_json(request.cdap.drafts.get(request.namespace, request.path["draft"]))


@ROUTES.add("PUT", *list_studio_patterns(f"{_IN}/drafts/{{draft}}"))
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


@ROUTES.add("DELETE", *list_studio_patterns(f"{_IN}/drafts/{{draft}}"))
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
