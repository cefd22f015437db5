"""Routes of the original that localcdap does not have: each answers why, so that nobody waits for nothing.

The page about compatibility lists them with the same reasons.
"""

from __future__ import annotations

from typing import Final

from localcdap.server.rest.answers import Answer, RestError
from localcdap.server.rest.programs import list_patterns
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import Handler, RestRoute, RouteTable

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
