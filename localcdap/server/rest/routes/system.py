"""The server itself, the services of system applications, the dashboard, and routes that are not built.

Sources: CDAP 6 ``OperationsDashboardHttpHandler`` and its router of user services. Each route of the original
that localcdap does not have answers why, so that nobody waits for nothing; the page about compatibility lists
them with the same reasons.
"""

from __future__ import annotations

from typing import Final

from localcdap.apps.model import AppRequest
from localcdap.artifacts.version import APP_VERSION
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
from localcdap.server.rest.router import Handler, RestRoute, RouteTable

SERVER: Final = RouteTable("The server")
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


@SERVER.add("GET", "/ping")
def ping(_: RestRequest) -> Answer:
    return send_text("OK.\n")


@SERVER.add("GET", "/status")
def get_status(_: RestRequest) -> Answer:
    return send_text("OK.\n")


@SERVER.add("GET", "/v3/version")
def get_version(_: RestRequest) -> Answer:
    return send_json({"version": APP_VERSION.text})


@SERVER.add("GET", "/v3/system/services")
def list_services(_: RestRequest) -> Answer:
    counts = {"min": 1, "max": 1, "requested": 1, "provisioned": 1}
    return send_json(
        [
            {"name": each, "description": "", "status": "OK", "logs": "NOTOK", **counts}
            for each in _SERVICES
        ]
    )


@SERVER.add("GET", "/v3/system/services/status")
def get_services(_: RestRequest) -> Answer:
    return send_json(dict.fromkeys(_SERVICES, "OK"))


@SERVER.add("GET", "/v3/system/services/{service}/status")
def get_service(request: RestRequest) -> Answer:
    _require_service(request)
    return send_json({"status": "OK"})


@SERVER.add("GET", "/v3/system/services/{service}/instances")
def get_instances(request: RestRequest) -> Answer:
    _require_service(request)
    return send_json({"requested": 1, "provisioned": 1})


@SERVER.add("GET", "/v3/system/services/{service}/live-info")
def get_live_info(request: RestRequest) -> Answer:
    """Return no containers, as the sandbox (CDAP 6 ``AbstractInMemoryMasterServiceManager``)."""
    _require_service(request)
    return send_json({"containers": []})


def _require_service(request: RestRequest) -> None:
    name = request.path["service"]
    if name not in _SERVICES:
        raise RestError(404, f"Invalid service name {name}")


APP_SERVICES: Final = RouteTable("Services of system applications")
_METHODS: Final = "/methods/{path...}"
_ALL: Final = "GET POST PUT DELETE"
_NO_CONTENT: Final = 204


@APP_SERVICES.add(_ALL, *list_patterns(_METHODS, "services/{service}"))
def call_service(request: RestRequest) -> Answer:
    return _call(request, "services")


@APP_SERVICES.add(_ALL, *list_patterns(_METHODS, "spark/{service}"))
def call_spark(request: RestRequest) -> Answer:
    return _call(request, "spark")


@APP_SERVICES.add("GET", *list_patterns("/available", "services/{service}"))
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
            request.body.read(),
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


def _require_system(request: RestRequest) -> None:
    if request.namespace != SYSTEM:
        request.cdap.namespaces.require(request.namespace)
        raise RestError(
            404, f"'{request.path['app']}' in namespace '{request.namespace}' has no services."
        )


DASHBOARD: Final = RouteTable("Dashboard and reports")


@DASHBOARD.add("GET", "/v3/dashboard")
def read_dashboard(request: RestRequest) -> Answer:
    """Return the runs of a window of time, and those that are planned in it; times in seconds."""
    for name in ("start", "duration"):
        if not request.get(name):
            raise RestError(400, f"'{name}' must be specified.")
    return send_json(
        request.cdap.statistics.read_dashboard(
            request.get_number("start", 0),
            request.get_number("duration", 0),
            request.query.get("namespace", []),
        )
    )


_NOT_BUILT: Final = 501
_GONE: Final = 404
_NAMESPACE: Final = "/v3/namespaces/{namespace}"
_APP: Final = f"{_NAMESPACE}/apps/{{app}}"
_VERSION: Final = f"{_APP}/versions/{{version}}"
_RUN: Final = "/runs/{run}"

OTHERS: Final = RouteTable("Others")
_BY_TABLE: Final[tuple[tuple[RouteTable, int, str, tuple[tuple[str, str], ...]], ...]] = (
    (
        OTHERS,
        _NOT_BUILT,
        "A pipeline runs as one: it cannot be suspended.",
        tuple(
            ("POST", each)
            for action in ("suspend", "resume")
            for each in list_patterns(f"{_RUN}/{action}", "workflows/{program}")
        ),
    ),
    (
        OTHERS,
        _NOT_BUILT,
        "Runs have no workflow tokens and no local datasets.",
        tuple(
            (method, each)
            for method, rest in (
                ("GET", f"{_RUN}/token"),
                ("GET", f"{_RUN}/nodes/{{node}}/token"),
                ("GET", f"{_RUN}/current"),
                ("GET DELETE", f"{_RUN}/localdatasets"),
            )
            for each in list_patterns(rest, "workflows/{program}")
        ),
    ),
    (
        OTHERS,
        _NOT_BUILT,
        "Services of applications are scaled with 'localcdap apps'; pipelines have no instances.",
        tuple(("GET PUT", each) for each in list_patterns("/instances")),
    ),
    (
        OTHERS,
        _NOT_BUILT,
        "Programs do not run in containers.",
        tuple(("GET", each) for each in list_patterns("/live-info")),
    ),
    (
        OTHERS,
        _NOT_BUILT,
        "Applications of JARs cannot run here; deploy a pipeline with PUT.",
        (("POST", f"{_NAMESPACE}/apps"),),
    ),
    (
        OTHERS,
        _NOT_BUILT,
        "A module is a Python artifact: add it with 'localcdap datasets modules add', or as an artifact.",
        (("PUT", f"{_NAMESPACE}/data/modules/{{module}}"),),
    ),
    (
        OTHERS,
        _NOT_BUILT,
        "Runs that were killed are not started again by the time of their end.",
        (("PUT", f"{_VERSION}/restart-programs"),),
    ),
    (
        OTHERS,
        _NOT_BUILT,
        "Repositories of pipelines are not built yet: use 'localcdap export' and 'localcdap import'.",
        (
            ("GET PUT DELETE", f"{_NAMESPACE}/repository"),
            ("GET POST", f"{_NAMESPACE}/repository/{{path...}}"),
        ),
    ),
    (
        OTHERS,
        _GONE,
        "CDAP 6 has no queries of Explore any more: use 'localcdap sql'.",
        (
            ("GET POST", "/v3/data/explore/{path...}"),
            ("GET POST", f"{_NAMESPACE}/data/explore/{{path...}}"),
        ),
    ),
    (OTHERS, _GONE, "localcdap has no GraphQL.", (("POST", "/v3/graphql"),)),
    (
        OTHERS,
        _NOT_BUILT,
        "The settings are those of localcdap: see 'localcdap doctor'.",
        (("GET", "/v3/config/cdap"), ("GET", "/v3/config/hadoop")),
    ),
    (
        OTHERS,
        _NOT_BUILT,
        "Support bundles are not built: 'localcdap doctor' says what a maintainer wants to know.",
        (("GET POST", "/v3/support/bundles"),),
    ),
    (
        OTHERS,
        _NOT_BUILT,
        "Privileges are kept in localcdap.toml, not granted over REST.",
        (
            ("POST", "/v3/security/authorization/{path...}"),
            ("GET", "/v3/security/authorization/{path...}"),
        ),
    ),
)


def _make_refusal(status: int, reason: str) -> Handler:
    def refuse(_: RestRequest) -> Answer:
        raise RestError(status, reason)

    return refuse


for _table, _status, _reason, _patterns in _BY_TABLE:
    for _methods, _pattern in _patterns:
        _table.routes.extend(
            RestRoute(_method, _pattern, _make_refusal(_status, _reason), _reason, is_built=False)
            for _method in _methods.split()
        )
