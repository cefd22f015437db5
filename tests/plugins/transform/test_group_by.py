"""GroupByAggregate: reading its aggregates, output schema, failures."""

from __future__ import annotations

import pytest
from core_plugins.aggregators.group_by_aggregate import GroupByAggregate

from localcdap.api import Schema, StageConfigurer
from tests.plugins.transform.support import causes, configure, messages, only_failure, record

INPUT = record(
    "purchases",
    user=Schema.STRING,
    item=Schema.STRING.as_nullable,
    price=Schema.FLOAT.as_nullable,
    n=Schema.INT,
    ok=Schema.BOOLEAN.as_nullable,
    day=Schema.DATE,
    kv=Schema.map(Schema.STRING, Schema.INT),
    money=Schema.decimal(10, 2),
)


def group(aggregates, keys="user"):
    return configure(GroupByAggregate, {"groupByFields": keys, "aggregates": aggregates}, INPUT)


@pytest.mark.parametrize(
    ("aggregate", "type"),
    [
        ("count(*)", Schema.LONG),
        ("Count(item)", Schema.LONG),
        ("COUNTDISTINCT(item)", Schema.INT),
        ("countNulls(kv)", Schema.LONG),
        ("sum(n)", Schema.INT),
        ("sum(money)", Schema.decimal(10, 2)),
        ("min(price)", Schema.FLOAT.as_nullable),
        ("avg(n)", Schema.DOUBLE),
        ("variance(price)", Schema.DOUBLE.as_nullable),
        ("first(day)", Schema.DATE),
        ("any(kv)", Schema.map(Schema.STRING, Schema.INT)),
        ("collectList(item)", Schema.array(Schema.STRING.as_nullable)),
        ("collectSet(n)", Schema.array(Schema.INT)),
        ("concat(item)", Schema.STRING.as_nullable),
        ("longestString(user)", Schema.STRING),
        ("logicalAnd(ok)", Schema.BOOLEAN),
        ("sumOfSquares(price)", Schema.DOUBLE.as_nullable),
        ("sumIf(n):condition(n > 3)", Schema.INT.as_nullable),
        ("countIf(*):condition(ok)", Schema.LONG),
        ("collectListIf(n):condition(item.equals('x'))", Schema.array(Schema.INT)),
    ],
)
def test_output_types(aggregate, type):
    stage = group(f"out:{aggregate}", "user, item")

    assert messages(stage) == []
    assert stage.output_schema == record(
        "purchases.agg", user=Schema.STRING, item=Schema.STRING.as_nullable, out=type
    )


@pytest.mark.parametrize(
    ("aggregates", "message"),
    [
        ("total", "Could not find ':' separating aggregate name from its function in 'total'."),
        (
            "a:count(*),a:sum(n)",
            "Cannot create multiple aggregate functions with the same name 'a'.",
        ),
        (
            "a:count",
            "Could not find '(' in function 'count'. Functions must be specified as function(field).",
        ),
        (
            "a:count(*",
            (
                "Could not find closing ')' in function 'count(*'. "
                "Functions must be specified as function(field)."
            ),
        ),
        ("a:sum( )", "Invalid function 'sum( )'. A field must be given as an argument."),
        ("a:sumIf(n)", "Missing 'condition' property for conditional function."),
        ("a:sumIf(n):condition()", "The 'condition' property is missing arguments."),
        ("a:sum(n):condition(ok)", "Function 'Sum' takes no condition; use 'SumIf'."),
        ("a:sum(x)", "Invalid aggregate Sum(x): Field 'x' does not exist in input schema."),
        ("a:sum(item)", "Field 'item' is of unsupported non-numeric type 'string'."),
        ("a:concat(n)", "Field 'n' is of unsupported non-string type 'int'."),
        ("a:logicalOr(n)", "Field 'n' is of unsupported non-boolean type 'int'."),
        (
            "a:countDistinct(price)",
            "Distinct counting is not supported for the field price of type float.",
        ),
        ("a:sumIf(n):condition(x > 1)", "Field x not found in output schema."),
        ("user:count(*)", "Aggregate 'user' has the name of a field to group by."),
        ("a:collectSet(kv)", "Field 'kv' is or contains a map, and maps cannot be compared."),
    ],
)
def test_wrong_aggregates(aggregates, message):
    failure = only_failure(group(aggregates))

    assert failure.message == message
    assert causes(failure)[0]["stageConfig"] == "aggregates"


def test_an_unknown_function_lists_the_known_ones():
    failure = only_failure(group("a:median(n)"))

    assert failure.message.startswith("Invalid function 'median'. Must be one of COUNT,COUNTIF,")
    assert "FIRSTIF" not in failure.message


def test_failures_are_found_all_at_once():
    stage = group("a:sum(x),b:count(*),c", "user,x,kv")

    assert messages(stage) == [
        "Could not find ':' separating aggregate name from its function in 'c'.",
        "Cannot group by field 'x' because it does not exist in input schema.",
        "Field 'kv' is or contains a map, and maps cannot be compared.",
        "Invalid aggregate Sum(x): Field 'x' does not exist in input schema.",
    ]


def test_elements_of_failures():
    stage = group("a:SUM(x)", "y")

    assert [causes(failure) for failure in stage.failures] == [
        [{"stageConfig": "groupByFields", "configElement": "y"}],
        [{"stageConfig": "aggregates", "configElement": "a:Sum(x)"}],
    ]


def test_nothing_is_known_before_macros_have_values():
    stage = configure(
        GroupByAggregate,
        {"groupByFields": "${keys}", "aggregates": "a:count(*)"},
        INPUT,
        macros=["groupByFields"],
    )

    assert messages(stage) == []
    assert stage.output_schema is None


def test_only_the_needed_input_fields_are_read():
    config = GroupByAggregate.Config(
        {"groupByFields": ["user"], "aggregates": "a:sumIf(n):condition(ok),b:count(*)"}
    )

    stage = StageConfigurer("s", {"in": INPUT})
    assert GroupByAggregate(config).input_fields(stage) == ["user", "n", "ok"]
