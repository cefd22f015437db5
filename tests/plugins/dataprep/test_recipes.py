"""The recipes of Data Prep (wrangler ``RecipeHandler``, ``RecipeStore``)."""

from __future__ import annotations

import pytest

from .conftest import DataPrepClient

TRIM = {"recipeName": "Trim", "description": "Trims.", "directives": ["trim :a", "drop :b"]}


def create(client: DataPrepClient, name: str) -> str:
    answer = client.call("POST", "recipes", {**TRIM, "recipeName": name})
    assert answer.status == 200, answer.body
    id: str = answer.body["recipeId"]["recipeId"]
    return id


def test_a_recipe_is_created_read_changed_and_deleted(client: DataPrepClient) -> None:
    made = client.call("POST", "recipes", TRIM).body
    id = made["recipeId"]["recipeId"]
    assert made["recipeId"]["namespace"]["name"] == client.namespace
    assert made["recipeStepsCount"] == 2
    assert made["createdTimeMillis"] == made["updatedTimeMillis"]
    assert client.call("GET", f"recipes/id/{id}").body == made
    assert client.call("GET", "recipes/name/Trim").body == made

    changed = {"recipeName": "Trim 2", "description": "", "directives": ["trim :a"]}
    assert client.call("PUT", f"recipes/id/{id}", changed).status == 200
    found = client.call("GET", "recipes/name/Trim%202").body
    assert (found["recipeStepsCount"], found["description"]) == (1, "")
    assert found["createdTimeMillis"] == made["createdTimeMillis"]
    assert found["updatedTimeMillis"] >= made["updatedTimeMillis"]

    assert client.call("DELETE", f"recipes/id/{id}").status == 200
    gone = client.call("DELETE", f"recipes/id/{id}")
    assert (gone.status, gone.body["message"]) == (404, f"recipe with id '{id}' does not exist")
    gone = client.call("GET", "recipes/name/Trim")
    assert (gone.status, gone.body["message"]) == (404, "recipe with name 'Trim' does not exist")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recipeName": None}, "No name was specified for the Recipe"),
        ({"description": None}, "No description was specified for the Recipe"),
        ({"directives": []}, "No directives were specified for the Recipe"),
        (
            {"recipeName": "a-b"},
            "Recipe name should contain only alphanumeric characters or spaces",
        ),
    ],
)
def test_an_incomplete_recipe_is_refused(
    client: DataPrepClient, change: dict[str, object], message: str
) -> None:
    answer = client.call("POST", "recipes", {**TRIM, **change})
    assert (answer.status, answer.body["message"]) == (400, message)
    assert client.call("GET", "recipes").body == {"recipes": [], "nextPageToken": ""}


def test_a_name_is_taken_once_in_a_namespace(client: DataPrepClient, instance: object) -> None:
    first, second = create(client, "One"), create(client, "Two")
    for answer in (
        client.call("POST", "recipes", {**TRIM, "recipeName": "One"}),
        client.call("PUT", f"recipes/id/{second}", {**TRIM, "recipeName": "One"}),
    ):
        assert (answer.status, answer.body["message"]) == (
            409,
            "recipe with name 'One' already exists",
        )
    assert client.call("PUT", f"recipes/id/{first}", {**TRIM, "recipeName": "One"}).status == 200
    client.instance.cdap.namespaces.create(f"{client.namespace}other")
    other = DataPrepClient(client.instance, f"{client.namespace}other")
    assert create(other, "One")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["a", "b", "c", "d", "e"]),
        ({"sortOrder": "desc"}, ["e", "d", "c", "b", "a"]),
        ({"sortBy": "updated"}, ["c", "b", "e", "a", "d"]),
        ({"sortBy": "updated", "sortOrder": "DESC"}, ["d", "a", "e", "b", "c"]),
    ],
)
def test_pages(client: DataPrepClient, query: dict[str, str], names: list[str]) -> None:
    for name in "cbead":
        create(client, name)
        # Their times must differ.
        newest = client.call("GET", f"recipes/name/{name}").body["updatedTimeMillis"]
        while client.call("GET", "recipes", pageSize="1").status != 200 or newest == _now_ms():
            pass
    found, token = [], None
    while token != "":
        more = {} if token is None else {"pageToken": token}
        page = client.call("GET", "recipes", pageSize="2", **query, **more).body
        found.append([each["recipeName"] for each in page["recipes"]])
        token = page["nextPageToken"]
    assert [len(each) for each in found] == [2, 2, 1]
    assert sum(found, []) == names


def _now_ms() -> int:
    import time

    return time.time_ns() // 1_000_000


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"pageSize": "0"}, "pageSize cannot be negative or zero."),
        ({"sortBy": "size"}, "sortBy must be one of: 'name' or 'updated'"),
        ({"sortOrder": "up"}, "sortOrder must be one of: 'asc' or 'desc'"),
        ({"sortBy": "updated", "pageToken": "x"}, "expected 'long' value for sortBy 'updated'"),
    ],
)
def test_wrong_pages(client: DataPrepClient, query: dict[str, str], message: str) -> None:
    answer = client.call("GET", "recipes", **query)
    assert answer.status == 400
    assert message in answer.body["message"]


def test_recipes_are_gone_with_their_namespace(client: DataPrepClient) -> None:
    create(client, "One")
    client.instance.cdap.namespaces.delete(client.namespace)
    gone = client.call("GET", "recipes")
    assert (gone.status, gone.body["message"]) == (
        404,
        f"Namespace '{client.namespace}' does not exist.",
    )
    client.instance.cdap.namespaces.create(client.namespace)
    assert client.call("GET", "recipes").body["recipes"] == []
    system = DataPrepClient(client.instance, "system").call("GET", "recipes")
    assert system.status == 400
    assert (
        system.body["message"] == "Listing recipes in system namespace is currently not supported."
    )
