"""Version 1 as CDAP's integration test ``WranglerServiceTest`` calls it, and its configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from localcdap.apps.model import AppAnswer, AppRequest

from .conftest import DataPrepClient

SPLIT = [
    "split-to-columns test_ws ,",
    "drop test_ws",
    "rename test_ws_1 fname",
    "rename test_ws_2 lname",
]


def call(
    client: DataPrepClient,
    method: str,
    path: str,
    body: Any = None,
    headers: dict[str, str] | None = None,
) -> AppAnswer:
    whole = f"/contexts/{client.namespace}/{path}" if not path.startswith("/") else path
    request = AppRequest(method, whole, {}, body, headers=headers or {})
    return client.instance.cdap.apps.call("dataprep", request)


def request(directives: list[str]) -> dict[str, Any]:
    return {
        "version": 1.0,
        "workspace": {"name": "test_ws", "results": 2},
        "recipe": {"directives": directives, "save": True, "name": "my-recipe"},
        "sampling": {"method": "first", "seed": 1, "limit": 2},
    }


@pytest.fixture
def uploaded(client: DataPrepClient) -> DataPrepClient:
    made = call(client, "PUT", "workspaces/test_ws")
    assert made.body == {"status": 200, "message": "Successfully created workspace 'test_ws'"}
    separator = quote("\n")
    body = separator.join(["bob,anderson", "joe,mchall", "third,one"]).encode()
    sent = call(client, "POST", "workspaces/test_ws/upload", body, {"recorddelimiter": separator})
    assert sent.status == 200, sent.body
    return client


@pytest.fixture
def configured(client: DataPrepClient) -> Iterator[DataPrepClient]:
    yield client
    call(client, "POST", "/config", {})


def test_the_integration_test(uploaded: DataPrepClient) -> None:
    found = call(uploaded, "POST", "workspaces/test_ws/schema", request(SPLIT))
    assert found.body == [
        {"name": "fname", "type": ["string", "null"]},
        {"name": "lname", "type": ["string", "null"]},
    ]
    kept = call(uploaded, "GET", "workspaces/test_ws").body["values"][0]
    assert kept["recipe"]["directives"] == []

    shown = call(uploaded, "POST", "workspaces/test_ws/execute", request(SPLIT)).body
    assert (shown["status"], shown["count"]) == (200, 2)
    assert shown["values"][0] == {"fname": "bob", "lname": "anderson"}
    assert (shown["header"], shown["directives"]) == (["fname", "lname"], SPLIT)
    summary = call(uploaded, "POST", "workspaces/test_ws/summary", request(SPLIT)).body
    assert summary["values"][0]["validation"]["fname"] == {"valid": True}

    listed = call(uploaded, "GET", "workspaces").body
    assert listed["values"] == [{"id": "test_ws", "name": "test_ws"}]
    assert call(uploaded, "DELETE", "workspaces/test_ws").status == 200
    assert call(uploaded, "POST", "workspaces/test_ws/execute", request(SPLIT)).status == 404


def test_excluded_directives_and_aliases(
    uploaded: DataPrepClient, configured: DataPrepClient
) -> None:
    config = {"exclusions": ["uppercase"], "aliases": {"lower": "lowercase", "upper": "uppercase"}}
    changed = call(uploaded, "POST", "/config", config)
    assert changed.body["message"] == "Successfully updated configuration."
    assert call(uploaded, "GET", "/config").body["values"] == [config]
    for directive in ("uppercase :test_ws", "upper :test_ws"):
        refused = call(uploaded, "POST", "workspaces/test_ws/execute", request([directive]))
        assert refused.status == 400
        assert "Directive 'uppercase' has been configured as restricted" in refused.body["message"]
    shown = call(uploaded, "POST", "workspaces/test_ws/execute", request(["lower :test_ws"]))
    assert shown.status == 200, shown.body
    refused = uploaded.execute("test_ws", "uppercase :test_ws")
    assert refused.status == 400


@pytest.mark.parametrize(
    ("method", "path", "instead"),
    [
        ("GET", "usage", "GET /v2/contexts/{context}/directives"),
        ("POST", "connections/create", "PUT /v2/contexts/{context}/connections/{connection}"),
        ("GET", "connections/x/properties", "GET /v2/contexts/{context}/connections/{connection}"),
        ("GET", "/connectionTypes", "GET /v2/contexts/{context}/connectionTypes"),
        ("POST", "workspaces", "POST /v2/contexts/{context}/workspaces/upload"),
    ],
)
def test_other_routes_name_that_of_version_2(
    client: DataPrepClient, method: str, path: str, instead: str
) -> None:
    found = call(client, method, path)
    assert (found.status, found.body["correctiveAction"]) == (404, f"Use {instead}.")


def test_what_is_wrong(uploaded: DataPrepClient) -> None:
    for path in ("execute", "summary", "schema"):
        empty = call(uploaded, "POST", f"workspaces/test_ws/{path}")
        assert (empty.status, empty.body["message"]) == (400, "Request body is empty.")
    missing = call(uploaded, "POST", "workspaces/none/upload", b"x")
    assert missing.status == 404
    kind = call(uploaded, "POST", "workspaces/test_ws/upload", b"x", {"content-type": "image/png"})
    assert kind.status == 400
    assert kind.body["message"].startswith("Invalid content type.")
    assert call(uploaded, "GET", "/health").status == 200
