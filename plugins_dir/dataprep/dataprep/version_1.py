"""The routes of version 1: those that CDAP's integration test calls, and the moved ones.

Paths, JSON and texts are those of wrangler ``DirectivesHandler``; the test is ``WranglerServiceTest`` of
cdap-integration-tests. The moved routes are also those of wrangler ``ConnectionHandler``; each answers 404
with the route of version 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec

from localcdap.api.app import (
    BadRequestError,
    Header,
    NamespaceSummary,
    NotFoundError,
    Permission,
    SystemService,
    delete,
    get,
    post,
    put,
)

from .configuration import ConfigStore, DirectiveConfig
from .workspaces import DELIMITER, ExecutionRequest, WorkspaceStore

_WORKSPACES: Final = "/contexts/{context}/workspaces"
_TYPES: Final = ("text/plain", "application/octet-stream", "application/data-prep")


class RequestWorkspace(msgspec.Struct):
    """The part ``workspace`` of a request."""

    name: str = ""
    results: int = 1000
    """How many rows are shown."""


class RequestRecipe(msgspec.Struct):
    """The part ``recipe`` of a request."""

    directives: list[str] = []
    save: bool = True
    name: str | None = None


class RequestSampling(msgspec.Struct):
    """The part ``sampling`` of a request: always the first records."""

    method: str = "first"
    seed: int = 0
    limit: int = 1000


class Version1Request(msgspec.Struct):
    """A recipe that runs on the sample (wrangler ``Request``)."""

    version: float = 1.0
    workspace: RequestWorkspace = msgspec.field(default_factory=RequestWorkspace)
    recipe: RequestRecipe = msgspec.field(default_factory=RequestRecipe)
    sampling: RequestSampling = msgspec.field(default_factory=RequestSampling)
    properties: dict[str, Any] | None = None


class Version1Routes(SystemService):
    """The part of the service that older clients call."""

    workspaces: WorkspaceStore
    configuration: ConfigStore

    @get("/health")
    def check_health(self) -> None:
        """Answer that the service runs."""

    @put(_WORKSPACES + "/{id}", operation="Creating workspace")
    def put_workspace_1(
        self, context: NamespaceSummary, id: str, name: str = "", scope: str = "default"
    ) -> dict[str, Any]:
        """Create a workspace with this id."""
        self.workspaces.create(context, id, name or id)
        return _succeed(f"Successfully created workspace '{id}'")

    @get(_WORKSPACES, operation="Listing workspaces")
    def list_workspaces_1(
        self, context: NamespaceSummary, scope: str = "default"
    ) -> dict[str, Any]:
        """List the ids and names of workspaces."""
        found = self.workspaces.list_workspaces(context)
        return _list([{"id": each.workspace_id, "name": each.workspace_name} for each in found])

    @get(_WORKSPACES + "/{id}", operation="Getting workspace")
    def get_workspace_1(self, context: NamespaceSummary, id: str) -> dict[str, Any]:
        """Return a workspace."""
        found = self.workspaces.get(context, id)
        recipe = {"directives": found.directives, "save": True}
        properties = {"name": found.workspace_name, "id": found.workspace_id}
        return _list([{"recipe": recipe, "properties": properties}])

    @delete(_WORKSPACES + "/{id}", operation="Deleting workspace")
    def delete_workspace_1(self, context: NamespaceSummary, id: str) -> dict[str, Any]:
        """Delete a workspace."""
        self.workspaces.delete(context, id)
        return _succeed(f"Successfully deleted workspace '{id}'")

    @post(_WORKSPACES + "/{id}/upload", operation="Uploading data")
    def upload_1(
        self,
        context: NamespaceSummary,
        id: str,
        record_delimiter: Annotated[str, Header("recorddelimiter")] = DELIMITER,
        delimiter: Annotated[str | None, Header("delimiter")] = None,
        content_type: Annotated[str, Header("Content-Type")] = "application/data-prep",
        body: bytes | None = None,
    ) -> dict[str, Any]:
        """Replace the sample of a workspace by the lines of the body, in a column of the workspace's name."""
        if body is None:
            raise BadRequestError(
                "Body not present, please post the file containing the records to be wrangled."
            )
        if content_type.partition(";")[0].strip() not in _TYPES:
            raise BadRequestError(
                "Invalid content type. Must be 'text/plain', 'application/octet-stream' or "
                "'application/data-prep'"
            )
        self.workspaces.replace_lines(context, id, delimiter or record_delimiter, body)
        return _succeed(f"Successfully uploaded data to workspace '{id}'")

    @post(_WORKSPACES + "/{id}/execute", operation="Executing directives")
    def execute_1(
        self, context: NamespaceSummary, id: str, body: Version1Request | None = None
    ) -> dict[str, Any]:
        """Run directives on the sample of a workspace, which keeps them."""
        request = _require(body)
        found = self.workspaces.execute(context, id, _to_execution(request), config=self._config())
        shown = {name: found[name] for name in ("values", "types")}
        directives = self.workspaces.get(context, id).directives
        return _succeed("Success") | {
            **shown,
            "count": len(found["values"]),
            "header": found["headers"],
            "directives": directives,
        }

    @post(_WORKSPACES + "/{id}/summary", operation="Executing directives")
    def summarize_1(
        self, context: NamespaceSummary, id: str, body: Version1Request | None = None
    ) -> dict[str, Any]:
        """Run directives on the sample of a workspace, and return the statistics of the columns."""
        request = _to_execution(_require(body))
        found = self.workspaces.run(context, id, request, self._config())
        return _list([found["summary"]])

    @post(_WORKSPACES + "/{id}/schema", operation="Executing directives")
    def find_schema_1(
        self, context: NamespaceSummary, id: str, body: Version1Request | None = None
    ) -> list[Any]:
        """Run directives on the sample of a workspace, and return the fields of the schema."""
        request = _to_execution(_require(body))
        found = self.workspaces.run(context, id, request, self._config())
        schema = found["schema"]
        fields: list[Any] = [] if schema is None else schema["fields"]
        return fields

    @get("/config")
    def get_config(self) -> dict[str, Any]:
        """Return the excluded directives and the aliases."""
        return _list([self._config()])

    @post("/config")
    def put_config(self, body: DirectiveConfig) -> dict[str, Any]:
        """Replace the excluded directives and the aliases."""
        self.context.require_permission("system", Permission.ADMIN)
        self.configuration.put(body)
        return _succeed("Successfully updated configuration.")

    def _config(self) -> DirectiveConfig:
        return self.configuration.get()


def _require(body: Version1Request | None) -> Version1Request:
    if body is None:
        raise BadRequestError("Request body is empty.")
    return body


def _to_execution(request: Version1Request) -> ExecutionRequest:
    return ExecutionRequest(
        request.recipe.directives, request.workspace.results, request.sampling.limit
    )


def _succeed(message: str) -> dict[str, Any]:
    return {"status": 200, "message": message}


def _list(values: list[Any]) -> dict[str, Any]:
    return _succeed("Success") | {"count": len(values), "values": values}


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
