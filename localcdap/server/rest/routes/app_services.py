"""The services of system applications (CDAP 6 router: user services)."""

from __future__ import annotations

from typing import Final

import msgspec

from localcdap.apps.model import AppRequest
from localcdap.decoders import decode_json
from localcdap.namespaces.model import SYSTEM
from localcdap.server.rest.answers import (
    BYTES,
    JSON,
    Answer,
    RestError,
    encode,
    send_json,
    send_text,
)
from localcdap.server.rest.programs import list_patterns
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("Services of system applications")
_METHODS: Final = "/methods/{path...}"
_ALL: Final = "GET POST PUT DELETE"
_NO_CONTENT: Final = 204


@ROUTES.add(_ALL, *list_patterns(_METHODS, "services/{service}"))
def call_service(request: RestRequest) -> Answer:
    return _call(request, "services")


@ROUTES.add(_ALL, *list_patterns(_METHODS, "spark/{service}"))
def call_spark(request: RestRequest) -> Answer:
    return _call(request, "spark")


@ROUTES.add("GET", *list_patterns("/available", "services/{service}"))
def get_availability(request: RestRequest) -> Answer:
    """Say whether a service answers; the first call starts its process."""
    _require_system(request)
    found = request.cdap.apps.describe(request.path["app"])
    if request.path["service"] not in {each.name for each in found.services}:
        raise RestError(404, f"Service '{request.path['service']}' was not found.")
    return send_text("Service is available to accept requests.")


def _call(request: RestRequest, category: str) -> Answer:
    _require_system(request)
    query: dict[str, str | list[str]] = {
        name: values if len(values) > 1 else values[0] for name, values in request.query.items()
    }
    made = request.cdap.apps.call(
        request.path["app"],
        AppRequest(
            request.method,
            f"/{category}/{request.path['service']}/methods/{request.path['path']}",
            query,
            _read_body(request),
            headers={name.lower(): value for name, value in request.headers.items()},
        ),
    )
    # Clients take 201 and 204 for errors: see `localcdap.server.rest.answers`.
    status = 200 if 200 <= made.status <= _NO_CONTENT else made.status
    if isinstance(made.body, bytes):
        return Answer(made.body, BYTES, status)
    if made.body is None:
        return Answer(b"", JSON, status)
    if status >= 400 and category == "spark":
        message = made.body.get("message") if isinstance(made.body, dict) else None
        return send_text(str(message or encode(made.body).decode()), status)
    return send_json(made.body, status)


def _read_body(request: RestRequest) -> object:
    """Return the body: a value when it is JSON, else its bytes; None when it is empty."""
    data = request.body.read()
    if not data:
        return None
    kind = request.headers.get("Content-Type", JSON).partition(";")[0].strip().lower()
    if kind not in (JSON, "application/x-www-form-urlencoded", "text/plain"):
        return data
    try:
        return decode_json(data)
    except (msgspec.DecodeError, RecursionError):
        return data


def _require_system(request: RestRequest) -> None:
    if request.namespace != SYSTEM:
        request.cdap.namespaces.require(request.namespace)
        raise RestError(
            404, f"'{request.path['app']}' in namespace '{request.namespace}' has no services."
        )
