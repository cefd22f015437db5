"""The search for the route of a path."""

from __future__ import annotations

import pytest

from localcdap.server.rest.answers import DONE
from localcdap.server.rest.router import RestRouter, RouteTable
from localcdap.server.rest.table import TABLES, build_router


@pytest.fixture(scope="module")
def router() -> RestRouter:
    table = RouteTable("things")
    for pattern in (
        "/v3/things",
        "/v3/things/{thing}",
        "/v3/things/known",
        "/v3/things/{thing}/parts/{part}",
        "/v3/files/{path...}",
        "/v3/{entity}/metadata/tags",
    ):
        table.add("GET", pattern)(lambda _: DONE)
    return RestRouter(table.routes)


@pytest.mark.parametrize(
    ("path", "pattern", "values"),
    [
        ("/v3/things", "/v3/things", {}),
        ("/v3/things/", "/v3/things", {}),
        ("/api/v3/things", "/v3/things", {}),
        ("/v3/things/known", "/v3/things/known", {}),
        ("/v3/things/a%20b", "/v3/things/{thing}", {"thing": "a b"}),
        ("/v3/things/a%2Fb", "/v3/things/{thing}", {"thing": "a/b"}),
        (
            "/v3/things/known/parts/p",
            "/v3/things/{thing}/parts/{part}",
            {"thing": "known", "part": "p"},
        ),
        ("/v3/files/a/b%20c", "/v3/files/{path...}", {"path": "a/b%20c"}),
        ("/v3/files", "/v3/files/{path...}", {"path": ""}),
        (
            "/v3/datasets/d/field/f/metadata/tags",
            "/v3/{entity}/metadata/tags",
            {"entity": "datasets/d/field/f"},
        ),
    ],
)
def test_a_path_has_a_route(router, path, pattern, values):
    match = router.find(path)

    assert match.routes["GET"].pattern == pattern
    assert match.get_parameters(match.routes["GET"]) == values


@pytest.mark.parametrize("path", ["/", "/v3", "/v3/things//parts/x"])
def test_nothing_is_at_other_paths(router, path):
    assert router.find(path) is None


def test_every_route_is_found_by_its_own_pattern():
    router = build_router()

    for route in (route for table in TABLES for route in table.routes):
        path = route.pattern.replace("{path...}", "x").replace("{entity}", "namespaces/n")
        match = router.find(path.replace("{", "").replace("}", ""))
        assert match.routes[route.method].pattern == route.pattern
