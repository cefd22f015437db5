"""The server itself: version, health, system services."""

from __future__ import annotations

from typing import Final

from localcdap.artifacts.version import APP_VERSION
from localcdap.server.rest.answers import Answer, RestError, send_json, send_text
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("The server")
_SERVICES: Final = (
    "appfabric",
    "dataset.executor",
    "log.saver",
    "messaging.service",
    "metadata.service",
    "metrics",
    "metrics.processor",
    "transaction",
)
"""The system services of the original; here all of them are the host."""


@ROUTES.add("GET", "/ping")
def ping(_: RestRequest) -> Answer:
    return send_text("OK.\n")


@ROUTES.add("GET", "/status")
def get_status(_: RestRequest) -> Answer:
    return send_text("OK.\n")


@ROUTES.add("GET", "/v3/version")
def get_version(_: RestRequest) -> Answer:
    return send_json({"version": APP_VERSION.text})


@ROUTES.add("GET", "/v3/system/services")
def list_services(_: RestRequest) -> Answer:
    counts = {"min": 1, "max": 1, "requested": 1, "provisioned": 1}
    return send_json(
        [
            {"name": each, "description": "", "status": "OK", "logs": "NOTOK", **counts}
            for each in _SERVICES
        ]
    )


@ROUTES.add("GET", "/v3/system/services/status")
def get_services(_: RestRequest) -> Answer:
    return send_json(dict.fromkeys(_SERVICES, "OK"))


@ROUTES.add("GET", "/v3/system/services/{service}/status")
def get_service(request: RestRequest) -> Answer:
    _require_service(request)
    return send_json({"status": "OK"})


@ROUTES.add("GET", "/v3/system/services/{service}/instances")
def get_instances(request: RestRequest) -> Answer:
    _require_service(request)
    return send_json({"requested": 1, "provisioned": 1})


@ROUTES.add("GET", "/v3/system/services/{service}/live-info")
def get_live_info(request: RestRequest) -> Answer:
    """Return no containers, as the sandbox (CDAP 6 ``AbstractInMemoryMasterServiceManager``)."""
    _require_service(request)
    return send_json({"containers": []})


def _require_service(request: RestRequest) -> None:
    name = request.path["service"]
    if name not in _SERVICES:
        raise RestError(404, f"Invalid service name {name}")
