"""The recipes of namespaces: their table, rules and pages.

Rules, texts and JSON are those of wrangler ``RecipeHandler``, ``RecipeStore`` and ``RecipePageRequest``.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from localcdap.api.app import (
    BadRequestError,
    Bound,
    ConflictError,
    FieldType,
    NamespaceSummary,
    NotFoundError,
    Range,
    SortOrder,
    StructuredTable,
    TransactionContext,
    TransactionRunner,
    decode_json,
    namespaced_table,
)

RECIPES: Final = namespaced_table(
    "recipes_store",
    fields={
        "recipe_id": FieldType.STRING,
        "recipe_name": FieldType.STRING,
        "create_time": FieldType.LONG,
        "update_time": FieldType.LONG,
        "recipe_info": FieldType.STRING,
    },
    primary_key=["recipe_id"],
    indexes=["recipe_name", "update_time"],
)
_NAME: Final = re.compile(r"[a-zA-Z0-9 ]*")
_PAGE: Final = 10
_FIELDS: Final = {"name": "recipe_name", "updated": "update_time"}
"""The fields by which lists are sorted."""
T = TypeVar("T")


class RecipeRequest(msgspec.Struct, rename="camel"):
    """A recipe that is created or changed."""

    recipe_name: str | None = None
    description: str | None = None
    directives: list[str] | None = None

    def check(self) -> None:
        """Check that everything is there.

        :raises BadRequestError: when something is missing, or the name has other characters.
        """
        if self.recipe_name is None:
            raise BadRequestError("No name was specified for the Recipe")
        if self.description is None:
            raise BadRequestError("No description was specified for the Recipe")
        if not self.directives:
            raise BadRequestError("No directives were specified for the Recipe")
        if not _NAME.fullmatch(self.recipe_name):
            raise BadRequestError(
                "Recipe name should contain only alphanumeric characters or spaces"
            )


class RecipeId(msgspec.Struct, rename="camel"):
    """The identity of a recipe."""

    recipe_id: str
    namespace: NamespaceSummary


class Recipe(msgspec.Struct, rename="camel"):
    """A recipe with its directives."""

    recipe_id: RecipeId
    recipe_name: str
    description: str
    directives: list[str]
    created_time_millis: int
    updated_time_millis: int
    recipe_steps_count: int


class RecipePage(msgspec.Struct, rename="camel"):
    """Some recipes, and where the next ones begin."""

    recipes: list[Recipe]
    next_page_token: str
    """Empty on the last page."""


class RecipePageRequest(msgspec.Struct):
    """Which recipes are wanted."""

    size: int
    token: str | None
    sort_by: str
    order: SortOrder

    @classmethod
    def parse(
        cls, size: int | None, token: str | None, sort_by: str | None, order: str | None
    ) -> RecipePageRequest:
        """Check the query parameters of a request.

        :raises BadRequestError: when one is wrong.
        """
        if size is not None and size <= 0:
            raise BadRequestError("pageSize cannot be negative or zero.")
        if sort_by is not None and sort_by not in _FIELDS:
            raise BadRequestError(
                f"Invalid sortBy '{sort_by}' specified. sortBy must be one of: 'name' or 'updated'"
            )
        if order is not None and order.lower() not in ("asc", "desc"):
            raise BadRequestError(
                f"Invalid sortOrder '{order}' specified. sortOrder must be one of: 'asc' or 'desc'"
            )
        if token is not None and sort_by == "updated" and not re.fullmatch(r"-?\d{1,18}", token):
            raise BadRequestError(
                "pageToken value is of invalid data type: expected 'long' value for sortBy 'updated'"
            )
        descending = order is not None and order.lower() == "desc"
        return cls(
            size or _PAGE,
            token,
            _FIELDS[sort_by or "name"],
            SortOrder.DESC if descending else SortOrder.ASC,
        )


class RecipeStore:
    """The recipes of all namespaces. Threads may share it."""

    def __init__(self, transactions: TransactionRunner) -> None:
        self._transactions = transactions

    def create(self, namespace: NamespaceSummary, request: RecipeRequest) -> Recipe:
        """Create a recipe.

        :raises ConflictError: when there is one of that name.
        """
        made = _make_recipe(namespace, str(uuid.uuid4()), request)

        def write(table: StructuredTable) -> None:
            _refuse_taken_name(table, made)
            _upsert(table, made)

        self._run(write)
        return made

    def update(self, namespace: NamespaceSummary, id: str, request: RecipeRequest) -> None:
        """Change everything of a recipe but the time of its creation.

        :raises NotFoundError: when there is no such recipe.
        :raises ConflictError: when there is another one of that name.
        """
        made = _make_recipe(namespace, id, request)

        def write(table: StructuredTable) -> None:
            _refuse_taken_name(table, made)
            held = _require(table, namespace, id)
            _upsert(
                table, msgspec.structs.replace(made, created_time_millis=held.created_time_millis)
            )

        self._run(write)

    def get(self, namespace: NamespaceSummary, id: str) -> Recipe:
        """Return a recipe.

        :raises NotFoundError: when there is no such recipe.
        """
        return self._run(lambda table: _require(table, namespace, id))

    def get_by_name(self, namespace: NamespaceSummary, name: str) -> Recipe:
        """Return the recipe of a name.

        :raises NotFoundError: when there is none.
        """
        found = self._run(lambda table: _find_by_name(table, namespace, name))
        if found is None:
            raise NotFoundError(f"recipe with name '{name}' does not exist")
        return found

    def delete(self, namespace: NamespaceSummary, id: str) -> None:
        """Delete a recipe.

        :raises NotFoundError: when there is no such recipe.
        """

        def remove(table: StructuredTable) -> None:
            _require(table, namespace, id)
            table.delete(namespace.key | {"recipe_id": id})

        self._run(remove)

    def list_recipes(self, namespace: NamespaceSummary, page: RecipePageRequest) -> RecipePage:
        """Return a page of the recipes of a namespace."""
        begin, end = dict(namespace.key), dict(namespace.key)
        if page.token is not None:
            value = page.token if page.sort_by == "recipe_name" else int(page.token)
            (begin if page.order is SortOrder.ASC else end)[page.sort_by] = value
        wanted = Range(begin, end, Bound.INCLUSIVE, Bound.INCLUSIVE)

        def read(table: StructuredTable) -> list[Recipe]:
            rows = table.scan(wanted, limit=page.size + 1, order_by=page.sort_by, order=page.order)
            return [_decode(row["recipe_info"]) for row in rows]

        found = self._run(read)
        if len(found) <= page.size:
            return RecipePage(found, "")
        following = found.pop()
        by_name = page.sort_by == "recipe_name"
        token = following.recipe_name if by_name else str(following.updated_time_millis)
        return RecipePage(found, token)

    def _run(self, work: Callable[[StructuredTable], T]) -> T:
        def body(tx: TransactionContext) -> T:
            return work(tx.table("recipes_store"))

        return self._transactions.run(body)


def _make_recipe(namespace: NamespaceSummary, id: str, request: RecipeRequest) -> Recipe:
    request.check()
    now = time.time_ns() // 1_000_000
    directives = list(request.directives or ())
    return Recipe(
        RecipeId(id, namespace),
        request.recipe_name or "",
        request.description or "",
        directives,
        now,
        now,
        len(directives),
    )


def _decode(text: str) -> Recipe:
    return decode_json(text, type=Recipe)


def _upsert(table: StructuredTable, recipe: Recipe) -> None:
    table.upsert(
        recipe.recipe_id.namespace.key
        | {
            "recipe_id": recipe.recipe_id.recipe_id,
            "recipe_name": recipe.recipe_name,
            "create_time": recipe.created_time_millis,
            "update_time": recipe.updated_time_millis,
            "recipe_info": msgspec.json.encode(recipe).decode(),
        }
    )


def _require(table: StructuredTable, namespace: NamespaceSummary, id: str) -> Recipe:
    row = table.read(namespace.key | {"recipe_id": id})
    if row is None:
        raise NotFoundError(f"recipe with id '{id}' does not exist")
    return _decode(row["recipe_info"])


def _find_by_name(table: StructuredTable, namespace: NamespaceSummary, name: str) -> Recipe | None:
    rows = table.scan(Range.singleton(namespace.key | {"recipe_name": name}), limit=1)
    return next((_decode(row["recipe_info"]) for row in rows), None)


def _refuse_taken_name(table: StructuredTable, recipe: Recipe) -> None:
    held = _find_by_name(table, recipe.recipe_id.namespace, recipe.recipe_name)
    if held is not None and held.recipe_id.recipe_id != recipe.recipe_id.recipe_id:
        raise ConflictError(f"recipe with name '{recipe.recipe_name}' already exists")
