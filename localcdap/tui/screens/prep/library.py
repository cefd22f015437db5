"""The library of recipes: those of the application Data Prep, which all users of a namespace share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.apps.model import AppRequest
from localcdap.decoders import convert
from localcdap.host.cdap import Cdap

_APP: Final = "dataprep"
_PAGE: Final = 100
"""Recipes of a page, as the application hands them out."""
_MACRO: Final = re.compile(r"\$\{([^${}()]+)\}")
_OK: Final = 200


class LibraryRecipe(msgspec.Struct, rename="camel"):
    """A recipe of the library; ``parameters`` are the macros of its directives."""

    recipe_name: str
    description: str
    directives: list[str]

    @property
    def parameters(self) -> list[str]:
        """The names of the values that it leaves open, in order."""
        return list_parameters(self.directives)


class _RecipePage(msgspec.Struct, rename="camel"):
    recipes: list[LibraryRecipe]
    next_page_token: str = ""


class _RecipeId(msgspec.Struct, rename="camel"):
    recipe_id: str


class _KeptRecipe(msgspec.Struct, rename="camel"):
    recipe_id: _RecipeId


def list_parameters(directives: Sequence[str]) -> list[str]:
    """Return the macros of directives, such as ``column`` of ``${column}``; functions are not among them."""
    return list(dict.fromkeys(name for each in directives for name in _MACRO.findall(each)))


def read_recipes(cdap: Cdap, namespace: str) -> list[LibraryRecipe]:
    """Return the recipes of a namespace by name.

    :raises BadRequestError: when the application answers with an error.
    """
    return list(_iterate(cdap, namespace))


def _iterate(cdap: Cdap, namespace: str) -> Iterator[LibraryRecipe]:
    token = ""
    while True:
        query: dict[str, str | list[str]] = {"pageSize": str(_PAGE)}
        if token:
            query["pageToken"] = token
        page = convert(_call(cdap, "GET", namespace, query=query), _RecipePage)
        yield from page.recipes
        token = page.next_page_token
        if not token:
            return


def save_recipe(cdap: Cdap, namespace: str, recipe: LibraryRecipe, *, replaces: bool) -> None:
    """Add a recipe to the library.

    :param replaces: whether it takes the place of the one of its name.
    :raises BadRequestError: when there is one already, or the name has other characters than letters of
        English, digits and blanks.
    """
    body = {
        "recipeName": recipe.recipe_name,
        "description": recipe.description,
        "directives": recipe.directives,
    }
    if not replaces:
        _call(cdap, "POST", namespace, body=body)
        return
    path = f"/name/{quote(recipe.recipe_name)}"
    kept = convert(_call(cdap, "GET", namespace, path), _KeptRecipe)
    _call(cdap, "PUT", namespace, f"/id/{kept.recipe_id.recipe_id}", body=body)


def delete_recipe(cdap: Cdap, namespace: str, name: str) -> None:
    """Delete a recipe of the library.

    :raises BadRequestError: when there is none of that name.
    """
    kept = convert(_call(cdap, "GET", namespace, f"/name/{quote(name)}"), _KeptRecipe)
    _call(cdap, "DELETE", namespace, f"/id/{kept.recipe_id.recipe_id}")


def _call(
    cdap: Cdap,
    method: str,
    namespace: str,
    path: str = "",
    *,
    query: dict[str, str | list[str]] | None = None,
    body: Any = None,
) -> Any:
    request = AppRequest(
        method, f"/v2/contexts/{quote(namespace)}/recipes{path}", query or {}, body
    )
    answer = cdap.apps.call(_APP, request)
    if answer.status == _OK:
        return answer.body
    message = answer.body.get("message") if isinstance(answer.body, dict) else None
    raise BadRequestError(
        str(message or f"The library answered {answer.status}."), "Correct the recipe or its name."
    )
