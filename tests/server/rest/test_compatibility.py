"""The page about compatibility is that of the routes."""

from __future__ import annotations

from localcdap.server.rest.compatibility import build_page
from localcdap.server.rest.table import TABLES
from tests.quality.source_tree import REPOSITORY


def test_the_page_is_that_of_the_routes():
    page = (REPOSITORY / "docs" / "rest-compatibility.md").read_text(encoding="utf-8")
    assert page == build_page(), "run: python -m localcdap.server.rest.compatibility > docs/…"


def test_a_route_that_is_not_built_says_why(client):
    for route in (route for table in TABLES for route in table.routes if not route.is_built):
        path = route.pattern.replace("{path...}", "x").replace("{", "").replace("}", "")
        status, text = client.refused(route.method, path)
        assert status in (404, 501), path
        assert text == route.lack
