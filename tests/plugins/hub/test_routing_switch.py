"""RoutingSwitch: rules, their failures, ports and what is sent to none."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pytest
from switch_plugins.routing_switch import Router, RoutingSwitch

from localcdap.api import Schema
from localcdap.testing import StageTester
from tests.plugins.transform.support import configure, messages, only_failure, record

INPUT = record("in", id=Schema.INT, v=Schema.STRING.as_nullable)
OTHER = {"defaultHandling": "Send to default port", "nullHandling": "send to null port"}


def route(schema: Schema, value: Any, rule: str) -> bool:
    """Whether a value of a field matches a rule."""
    properties = {"routingField": "v", "portSpecification": f"hit:{rule}", **OTHER}
    ports = StageTester(RoutingSwitch, properties, record(v=schema)).run([{"v": value}]).ports
    assert sum(map(len, ports.values())) == 1
    return bool(ports["hit"])


@pytest.mark.parametrize(
    ("rule", "hits"),
    [
        ("equals(supplierA)", ["supplierA"]),
        ("not_equals(supplierA)", ["supplierB", "suppli", ""]),
        ("contains(lierB)", ["supplierB"]),
        ("not_contains(lier)", ["suppli", ""]),
        ("in(supplierA|suppli|)", ["supplierA", "suppli"]),
        ("NOT_IN(supplierA|suppli)", ["supplierB", ""]),
        ("matches(.*lier[AB]$)", ["supplierA", "supplierB"]),
        ("matches(lierA)", []),
        ("not_matches(.*lierA)", ["supplierB", "suppli", ""]),
        ("starts_with(supplier)", ["supplierA", "supplierB"]),
        ("not_starts_with(s)", [""]),
        ("ends_with(B)", ["supplierB"]),
        ("not_ends_with(B)", ["supplierA", "suppli", ""]),
    ],
)
def test_texts(rule: str, hits: list[str]):
    values = ["supplierA", "supplierB", "suppli", ""]
    assert [each for each in values if route(Schema.STRING, each, rule)] == hits


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        (Schema.INT, [1, 2, 3, 4]),
        (Schema.LONG, [1, 2, 3, 4]),
        (Schema.FLOAT, [1.0, 2.0, 3.0, 4.0]),
        (Schema.DOUBLE, [1.0, 2.0, 3.0, math.nan]),
        (Schema.decimal(10, 2), [Decimal("1.00"), Decimal(2), Decimal("3.0"), Decimal(4)]),
    ],
    ids=lambda each: getattr(each, "display_name", ""),
)
@pytest.mark.parametrize(
    ("rule", "hits"),
    [
        ("number_equals(2)", [1]),
        ("number_not_equals(2)", [0, 2, 3]),
        ("number_greater_than(2)", [2, 3]),
        ("number_greater_than_or_equals(2)", [1, 2, 3]),
        ("number_lesser_than(2)", [0]),
        ("number_lesser_than_or_equals(2)", [0, 1]),
        ("number_between(2|3)", [1, 2]),
        ("number_not_between(2|3)", [0, 3]),
    ],
)
def test_numbers(schema: Schema, values: list[Any], rule: str, hits: list[int]):
    assert [i for i, each in enumerate(values) if route(schema, each, rule)] == hits


def test_a_float_is_compared_in_its_own_precision():
    tenth = 0.10000000149011612  # 0.1 in 32 bits
    assert route(Schema.FLOAT, tenth, "number_equals(0.1)")
    assert not route(Schema.DOUBLE, tenth, "number_equals(0.1)")


NOON = datetime.datetime(2020, 5, 2, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("schema", "values", "parameter"),
    [
        (Schema.DATE, [datetime.date(2020, 5, day) for day in (1, 2, 3)], "2020-05-02"),
        (Schema.TIME, [datetime.time(hour) for hour in (1, 2, 3)], "02:00:00"),
        (
            Schema.TIMESTAMP,
            [NOON + datetime.timedelta(hours=hours) for hours in (-1, 0, 1)],
            "2020-05-02T05:00:00-07:00[America/Los_Angeles]",
        ),
    ],
    ids=["date", "time", "timestamp"],
)
@pytest.mark.parametrize(
    ("function", "hits"),
    [
        ("date_equals", [1]),
        ("date_not_equals", [0, 2]),
        ("date_after", [2]),
        ("date_after_or_on", [1, 2]),
        ("date_before", [0]),
        ("date_before_or_on", [0, 1]),
    ],
)
def test_dates_and_times(
    schema: Schema, values: list[Any], parameter: str, function: str, hits: list[int]
):
    rule = f"{function}({parameter})"
    assert [i for i, each in enumerate(values) if route(schema, each, rule)] == hits
    assert route(schema, values[1], f"date_between({parameter}|{parameter})")
    assert route(schema, values[0], f"date_not_between({parameter}|{parameter})")


def test_the_first_rule_that_matches_decides():
    properties = {"routingField": "v", "portSpecification": "a:contains(x),b:equals(xy)"}
    output = StageTester(RoutingSwitch, properties, INPUT).run(
        [{"id": 1, "v": "xy"}, {"id": 2, "v": "z"}, {"id": 3, "v": None}]
    )
    assert output.ports == {"a": [{"id": 1, "v": "xy"}], "b": []}
    assert [(each["record"]["id"], each["code"], each["message"]) for each in output.errors] == [
        (2, 1, "Record contained unknown value for field v"),
        (3, 2, "Record contained null value for field v"),
    ]


def test_records_that_match_no_rule_have_ports_or_are_skipped():
    properties = {"routingField": "v", "portSpecification": "a:equals(x)"}
    records = [{"id": 1, "v": "y"}, {"id": 2, "v": None}]
    sent = StageTester(RoutingSwitch, properties | OTHER, INPUT).run(records)
    assert sent.ports == {"a": [], "Default": records[:1], "Null": records[1:]}
    named = OTHER | {"defaultPort": "rest", "nullPort": "rest"}
    assert configure(Router, properties | named, INPUT).port_schemas == {"a": INPUT, "rest": INPUT}
    skipped = {"defaultHandling": "Skip", "nullHandling": "Skip"}
    output = StageTester(RoutingSwitch, properties | skipped, INPUT).run(records)
    assert (output.ports, output.errors) == ({"a": []}, [])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            "a",
            "Could not find ':' separating port name from its routing specification in 'a'.",
        ),
        ("a:equals", "Could not find '(' in function 'equals'. "),
        ("a:same(x)", "Invalid routing function 'same'."),
        ("a:equals(x", "Could not find closing ')' in function 'equals(x'."),
        ("a:equals( )", "Invalid function 'equals( )'."),
        ("a:equals(x),a:equals(y)", "Cannot create multiple ports with the same name 'a'."),
        ("", "No port specifications defined."),
        (
            "a:number_equals(1)",
            "The function 'number_equals' of port 'a' cannot be applied to a field of type 'string'.",
        ),
    ],
)
def test_wrong_rules(rules: str, message: str):
    properties = {"routingField": "v", "portSpecification": rules}
    failure = only_failure(configure(RoutingSwitch, properties, INPUT))
    assert failure.message == message
    assert failure.causes[0].attributes["stageConfig"] == "portSpecification"


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        (Schema.INT, "number_equals(1.5)"),
        (Schema.INT, "number_between(1)"),
        (Schema.DATE, "date_after(2020-13-01)"),
        (Schema.TIMESTAMP, "date_after(2020-05-02T00:03:20)"),
        (Schema.STRING, "matches([)"),
    ],
)
def test_wrong_parameters(schema: Schema, rule: str):
    properties = {"routingField": "v", "portSpecification": f"a:{rule}"}
    failure = only_failure(configure(RoutingSwitch, properties, record(v=schema)))
    assert failure.message.startswith("The parameter '")


def test_all_failures_are_reported_at_once():
    stage = configure(RoutingSwitch, {"portSpecification": "a,b:same(x)"}, INPUT)
    assert len(messages(stage)) == 3
    assert messages(configure(RoutingSwitch, {"routingField": "w"} | OTHER, INPUT)) == [
        "No port specifications defined.",
        "Routing field w not found in the input schema",
    ]
    flags = record(v=Schema.BOOLEAN)
    properties = {"routingField": "v", "portSpecification": "a:equals(true)"}
    assert "Found 'boolean'" in only_failure(configure(RoutingSwitch, properties, flags)).message


def test_macros_leave_the_ports_open():
    macros = ["routingField", "portSpecification"]
    properties = {"routingField": "${f}", "portSpecification": "${p}"}
    stage = configure(RoutingSwitch, properties, INPUT, macros=macros)
    assert (messages(stage), stage.port_schemas) == ([], {})
