"""The application ``dataprep`` and the routes of its service.

The directives of a namespace as version 2 lists them (wrangler ``proto.workspace.v2.DirectiveUsage``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

from localcdap.api.app import (
    CONNECTIONS,
    Header,
    NamespaceSummary,
    SystemApplication,
    application,
    delete,
    get,
    post,
    put,
)

from .configuration import CONFIGURATION, ConfigStore
from .connection_routes import ConnectionRoutes
from .recipes import RECIPES, Recipe, RecipePage, RecipePageRequest, RecipeRequest, RecipeStore
from .responses import ServiceResponse, respond
from .version_1 import MovedRoutes, Version1Routes
from .workspaces import (
    DELIMITER,
    WORKSPACES,
    ExecutionRequest,
    ResamplingRequest,
    Workspace,
    WorkspaceCreationRequest,
    WorkspaceStore,
    WorkspaceUpdate,
)

_TYPES: Final = {
    "column": "COLUMN_NAME",
    "columns": "COLUMN_NAME_LIST",
    "text": "TEXT",
    "texts": "TEXT_LIST",
    "number": "NUMERIC",
    "numbers": "NUMERIC_LIST",
    "bool": "BOOLEAN",
    "bools": "BOOLEAN_LIST",
    "identifier": "IDENTIFIER",
    "expression": "EXPRESSION",
    "ranges": "RANGES",
    "properties": "PROPERTIES",
}
"""The ``TokenType`` of the original by the kind of an argument."""


def describe_directives(found: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the directives that the plugin Wrangler lists, in the original's JSON.

    Beyond the original, a directive has ``examples``, and a token ``description`` and ``choices``.
    """
    return [
        {**each, "arguments": _describe_usage(each["directive"], each["arguments"])}
        for each in found
    ]


def _describe_usage(directive: str, arguments: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a directive takes (wrangler ``UsageDefinition``)."""
    return {
        "directive": directive,
        "tokens": [_describe_token(number, each) for number, each in enumerate(arguments)],
    }


def _describe_token(number: int, argument: Mapping[str, Any]) -> dict[str, Any]:
    label = argument["label"]
    return {
        "ordinal": number,
        "optional": not argument["required"],
        "name": argument["name"],
        "type": _TYPES[argument["kind"]],
        **({} if label is None else {"label": label}),
        "description": argument["description"],
        "choices": argument["choices"],
    }


_WORKSPACES = "/v2/contexts/{context}/workspaces"
_RECIPES = "/v2/contexts/{context}/recipes"


class DataPrepService(MovedRoutes, Version1Routes, ConnectionRoutes):
    """Connections, workspaces, recipes and directives."""

    name = "service"
    tables = [WORKSPACES, RECIPES, CONNECTIONS, CONFIGURATION]

    def initialize(self) -> None:
        self.workspaces = WorkspaceStore(self.context)
        self.configuration = ConfigStore(self.context.transactions)
        self._recipes = RecipeStore(self.context.transactions)

    @post(_WORKSPACES, operation="Creating workspace")
    def create_workspace(self, context: NamespaceSummary, body: WorkspaceCreationRequest) -> str:
        """Create a workspace with a sample of a connection; return its id."""
        return self.workspaces.create_from_sample(context, body)

    @get(_WORKSPACES, operation="Listing workspaces")
    def list_workspaces(self, context: NamespaceSummary) -> ServiceResponse:
        """List the workspaces of a namespace."""
        return respond(self.workspaces.list_workspaces(context))

    @post(_WORKSPACES + "/upload", operation="Uploading data")
    def upload(
        self,
        context: NamespaceSummary,
        file: Annotated[str | None, Header("file")] = None,
        record_delimiter: Annotated[str, Header("recorddelimiter")] = DELIMITER,
        delimiter: Annotated[str | None, Header("delimiter")] = None,
        body: bytes | None = None,
    ) -> str:
        """Create a workspace of the lines of the body; return its id."""
        return self.workspaces.upload(context, file, delimiter or record_delimiter, body)

    @get(_WORKSPACES + "/{id}", operation="Getting workspace")
    def get_workspace(self, context: NamespaceSummary, id: str) -> Workspace:
        """Return a workspace."""
        return self.workspaces.get(context, id)

    @post(_WORKSPACES + "/{id}", operation="Updating workspace")
    def update_workspace(self, context: NamespaceSummary, id: str, body: WorkspaceUpdate) -> None:
        """Replace the directives and the insights of a workspace."""
        self.workspaces.update(context, id, body)

    @delete(_WORKSPACES + "/{id}", operation="Deleting workspace")
    def delete_workspace(self, context: NamespaceSummary, id: str) -> None:
        """Delete a workspace."""
        self.workspaces.delete(context, id)

    @post(_WORKSPACES + "/{id}/resample", operation="Resampling workspace")
    def resample(self, context: NamespaceSummary, id: str, body: ResamplingRequest) -> None:
        """Replace the sample of a workspace."""
        self.workspaces.resample(context, id, body)

    @post(_WORKSPACES + "/{id}/execute", operation="Executing directives")
    def execute(self, context: NamespaceSummary, id: str, body: ExecutionRequest) -> dict[str, Any]:
        """Run directives on the sample of a workspace, which keeps them."""
        return self.workspaces.execute(context, id, body, config=self.configuration.get())

    @post(_WORKSPACES + "/{id}/applyRecipe/{recipe}", operation="Executing directives")
    def apply_recipe(
        self, context: NamespaceSummary, id: str, recipe: str, body: ExecutionRequest
    ) -> dict[str, Any]:
        """Run directives, then those of a recipe, on the sample of a workspace, which keeps them."""
        found = self._recipes.get(context, recipe)
        config = self.configuration.get()
        return self.workspaces.execute(context, id, body, found.directives, config)

    @get(_WORKSPACES + "/{id}/specification", operation="Getting specification")
    def specify(self, context: NamespaceSummary, id: str) -> dict[str, Any]:
        """Return the stages of a pipeline that does what a workspace does."""
        return self.workspaces.specify(context, id)

    @get("/v2/contexts/{context}/directives", operation="Listing directives")
    def list_directives(self, context: NamespaceSummary) -> ServiceResponse:
        """List the directives that the recipes of a namespace can use."""
        plugin = self.context.plugin(context.name, "transform", "Wrangler")
        return respond(describe_directives(plugin.call_method("directives")))

    @post(_RECIPES, operation="Creating recipe")
    def create_recipe(self, context: NamespaceSummary, body: RecipeRequest) -> Recipe:
        """Create a recipe."""
        return self._recipes.create(context, body)

    @get(_RECIPES, operation="Listing recipes")
    def list_recipes(
        self,
        context: NamespaceSummary,
        pageSize: int | None = None,  # noqa: N803  names of query parameters
        pageToken: str | None = None,  # noqa: N803
        sortBy: str | None = None,  # noqa: N803
        sortOrder: str | None = None,  # noqa: N803
    ) -> RecipePage:
        """List recipes by name, or by the time of their last change."""
        page = RecipePageRequest.parse(pageSize, pageToken, sortBy, sortOrder)
        return self._recipes.list_recipes(context, page)

    @get(_RECIPES + "/id/{id}", operation="Getting recipe")
    def get_recipe(self, context: NamespaceSummary, id: str) -> Recipe:
        """Return a recipe."""
        return self._recipes.get(context, id)

    @get(_RECIPES + "/name/{name}", operation="Getting recipe")
    def get_recipe_by_name(self, context: NamespaceSummary, name: str) -> Recipe:
        """Return the recipe of a name."""
        return self._recipes.get_by_name(context, name)

    @put(_RECIPES + "/id/{id}", operation="Updating recipe")
    def update_recipe(self, context: NamespaceSummary, id: str, body: RecipeRequest) -> None:
        """Change a recipe."""
        self._recipes.update(context, id, body)

    @delete(_RECIPES + "/id/{id}", operation="Deleting recipe")
    def delete_recipe(self, context: NamespaceSummary, id: str) -> None:
        """Delete a recipe."""
        self._recipes.delete(context, id)


@application(
    name="dataprep",
    description="Data Prep: samples of data, and recipes that clean them, of all namespaces.",
)
class DataPrep(SystemApplication):
    services = [DataPrepService]
