"""The connectors Pipelines and Runs, without an instance."""

from __future__ import annotations

import pytest
from core_plugins.connectors.instance import PipelinesConnector, RunsConnector

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.schema import Schema
from localcdap.testing import ConnectorTester
from localcdap.testing.records import TableData

ROWS = TableData(Schema.record("r", [("n", Schema.INT)]), [{"n": n} for n in range(5)])
SHOP = {"shop": {"Orders": ROWS, "a/b": ROWS}, "empty": {}}


def make(kind: str, **properties: str) -> ConnectorTester:
    if kind == "runs":
        return ConnectorTester(RunsConnector, runs=SHOP)
    return ConnectorTester(PipelinesConnector, properties, pipelines=SHOP)


@pytest.mark.parametrize("kind", ["pipelines", "runs"])
def test_stages_are_browsed_and_sampled(kind: str) -> None:
    connector = make(kind)

    assert connector.problems == []
    assert sorted(each.path for each in connector.browse().entities) == ["/empty", "/shop"]
    found = connector.browse("/shop").entities
    assert [(each.path, each.can_sample) for each in found] == [
        ("/shop/Orders", True),
        ("/shop/a/b", True),
    ]
    (one,) = connector.browse("/shop/a/b").entities
    assert one.name == "a/b"
    sampled = connector.sample("/shop/Orders", limit=2)
    assert (sampled.records, sampled.total) == ([{"n": 0}, {"n": 1}], 5)
    assert connector.specify("/shop/Orders").related_plugins == []


@pytest.mark.parametrize("kind", ["pipelines", "runs"])
def test_paths_without_records_are_errors(kind: str) -> None:
    connector = make(kind)

    for path in ("/", "/shop"):
        with pytest.raises(BadRequestError, match="has no records of its own"):
            connector.sample(path)
    for path in ("/shop/none", "/none/Orders", "/empty/x"):
        with pytest.raises(NotFoundError):
            connector.sample(path)
    with pytest.raises(NotFoundError, match="available: Orders, a/b"):
        connector.browse("/shop/none")


def test_arguments_need_values() -> None:
    assert make("pipelines", arguments="day: 2026-11-01\n\nurl: http://x").problems == []
    (problem,) = make("pipelines", arguments="day").problems
    assert problem == "arguments: The argument 'day' has no value."
