"""Requests of any kind: none is answered with a fault, and no answer has a traceback."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.server.rest.router import METHODS
from localcdap.server.rest.table import TABLES

PATTERNS = sorted(
    {
        (route.method, route.pattern)
        for table in TABLES
        for route in table.routes
        # These end processes, or start them; other tests call them.
        if not route.pattern.endswith(("/start", "/stop", "/previews", "/validations/output"))
        and not route.pattern.startswith("/v3/unrecoverable")
    }
)
WORDS = st.sampled_from(
    ["default", "system", "nope", "x", "workflows", "-SNAPSHOT", "", "..", "%00", "%ff"]
)
TEXTS = st.one_of(WORDS, st.text(max_size=8))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "config",
        "stages",
        "artifact",
        "plugin",
        "properties",
        "name",
        "stage",
        "tags",
        "typeName",
        "path",
    ]
)
BODIES = st.one_of(
    st.binary(max_size=40),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(KEYS, JSON, max_size=4).map(lambda value: json.dumps(value).encode()),
)
QUERIES = st.dictionaries(
    st.sampled_from(
        [
            "start",
            "end",
            "limit",
            "status",
            "scope",
            "type",
            "sort",
            "cursor",
            "keys",
            "format",
            "max",
        ]
        + [
            "fromOffset",
            "filter",
            "pageSize",
            "pageToken",
            "direction",
            "levels",
            "query",
            "offset",
        ]
    ),
    TEXTS | st.integers(-(2**70), 2**70).map(str),
    max_size=4,
)


def fill(pattern: str, values: list[str]) -> str:
    parts = []
    for part in pattern.split("/"):
        is_parameter = part.startswith("{")
        parts.append(values.pop() if is_parameter and values else part.strip("{}"))
    return "/".join(parts).replace("...", "")


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    route=st.sampled_from(PATTERNS),
    values=st.lists(TEXTS, max_size=6),
    query=QUERIES,
    body=BODIES,
    headers=st.dictionaries(
        st.sampled_from(["CDAP-UserId", "Artifact-Version", "Artifact-Plugins", "Content-Type"]),
        st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=8),
        max_size=2,
    ),
)
def test_routes_with_any_values(client, faults, route, values, query, body, headers):
    from urllib.parse import quote, urlencode

    path = quote(fill(route[1], values), safe="/%", errors="replace")
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    address = f"{path}?{urlencode(query, errors='replace')}"

    response = client.send(route[0], address, content=body, headers=encoded)

    assert response.status_code != 500, (faults[-1], response.text)
    assert "Traceback" not in response.text


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from([*METHODS, "HEAD", "OPTIONS", "PATCH", "TRACE"]),
    path=st.text(max_size=40),
)
def test_any_path(client, method, path):
    from urllib.parse import quote

    response = client.send(method, f"/v3/{quote(path, errors='replace')}")

    assert response.status_code in (200, 400, 404, 405)


@pytest.mark.parametrize("size", [4 * 1024 * 1024, 6 * 1024 * 1024])
def test_large_bodies_are_read(client, pipeline, size):
    pipeline["config"]["comments"] = [{"content": {"text": "x" * size}}]

    record = client.ok("PUT", "/v3/namespaces/default/apps/large", pipeline)

    assert record["name"] == "large"
