"""The routes of version 1 that are not there: each answers 404 with the route of version 2.

The paths are those of wrangler ``DirectivesHandler`` and ``ConnectionHandler``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from localcdap.api.app import (
    NamespaceSummary,
    NotFoundError,
    SystemService,
    delete,
    get,
    post,
    put,
)

_MOVED: Final = (
    ("POST", "/contexts/{context}/workspaces", "POST /v2/contexts/{context}/workspaces/upload"),
    ("DELETE", "/contexts/{context}/workspaces", "DELETE /v2/contexts/{context}/workspaces/{id}"),
    ("GET", "/contexts/{context}/usage", "GET /v2/contexts/{context}/directives"),
    ("GET", "/contexts/{context}/directives", "GET /v2/contexts/{context}/directives"),
    ("GET", "/contexts/{context}/directives/reload", "GET /v2/contexts/{context}/directives"),
    ("GET", "/contexts/{context}/artifacts", "GET /v2/contexts/{context}/directives"),
    ("GET", "/contexts/{context}/connections", "GET /v2/contexts/{context}/connections"),
    (
        "POST",
        "/contexts/{context}/connections/create",
        "PUT /v2/contexts/{context}/connections/{connection}",
    ),
    (
        "POST",
        "/contexts/{context}/connections/{id}/update",
        "PUT /v2/contexts/{context}/connections/{connection}",
    ),
    (
        "GET",
        "/contexts/{context}/connections/{id}",
        "GET /v2/contexts/{context}/connections/{connection}",
    ),
    (
        "DELETE",
        "/contexts/{context}/connections/{id}",
        "DELETE /v2/contexts/{context}/connections/{connection}",
    ),
    (
        "GET",
        "/contexts/{context}/connections/{id}/properties",
        "GET /v2/contexts/{context}/connections/{connection}",
    ),
    (
        "PUT",
        "/contexts/{context}/connections/{id}/properties",
        "PUT /v2/contexts/{context}/connections/{connection}",
    ),
    (
        "GET",
        "/contexts/{context}/connections/{id}/clone",
        "PUT /v2/contexts/{context}/connections/{connection}",
    ),
    ("GET", "/connectionTypes", "GET /v2/contexts/{context}/connectionTypes"),
)
"""The method and the path of routes of version 1 that are not there, and the route that takes their place."""


class MovedRoutes(SystemService):
    """The part of the service that tells older clients where to go; its routes are added below."""


def _add_moved_routes() -> None:
    """Add a route for each that has another place in version 2."""
    decorators = {"GET": get, "POST": post, "PUT": put, "DELETE": delete}
    for number, (method, path, instead) in enumerate(_MOVED):
        function = _make_moved(method, path, instead)
        name = function.__name__ = f"moved_{number}"
        setattr(MovedRoutes, name, decorators[method](path)(function))


def _make_moved(method: str, path: str, instead: str) -> Callable[..., None]:
    parts = set(re.findall(r"\{(\w+)\}", path))
    message = f"{method} {path} of version 1 is not there."

    def refuse_plain(self: MovedRoutes) -> None:  # noqa: ARG001
        raise NotFoundError(message, f"Use {instead}.")

    def refuse(self: MovedRoutes, context: NamespaceSummary) -> None:  # noqa: ARG001
        raise NotFoundError(message, f"Use {instead}.")

    def refuse_one(self: MovedRoutes, context: NamespaceSummary, id: str) -> None:  # noqa: ARG001
        raise NotFoundError(message, f"Use {instead}.")

    found = refuse_one if "id" in parts else refuse if parts else refuse_plain
    found.__doc__ = f"Answer that {instead} takes its place."
    return found


_add_moved_routes()
