"""Joiner: reading its properties, output schema, failures."""

from __future__ import annotations

import pytest
from core_plugins.joins.joiner import Joiner

from localcdap.api import Schema, StageConfigurer
from localcdap.api.join.definition import find_qualified_names
from tests.plugins.transform.support import causes, configure, messages, only_failure, record

USERS = record("user", id=Schema.LONG, name=Schema.STRING, email=Schema.STRING.as_nullable)
SALES = record("sale", id=Schema.LONG, user_id=Schema.LONG.as_nullable, price=Schema.DOUBLE)
CITIES = record("city", uid=Schema.LONG, city=Schema.STRING)
SELECTED = "users.name, sales.price as paid"
BASIC = {"selectedFields": SELECTED, "joinKeys": "users.id = sales.user_id"}
ADVANCED = {
    "selectedFields": SELECTED,
    "conditionType": "advanced",
    "conditionExpression": "u.id = s.user_id and s.price > 3",
    "inputAliases": "users=u; sales=s",
    "requiredInputs": "users,sales",
}


def join(properties, **inputs):
    named = inputs or {"users": USERS, "sales": SALES}
    return configure(Joiner, properties, named=named)


@pytest.mark.parametrize(
    ("required", "name", "paid"),
    [
        ("users, sales", Schema.STRING, Schema.DOUBLE),
        ("users", Schema.STRING, Schema.DOUBLE.as_nullable),
        ("sales", Schema.STRING.as_nullable, Schema.DOUBLE),
        ("", Schema.STRING.as_nullable, Schema.DOUBLE.as_nullable),
    ],
)
def test_fields_of_optional_inputs_are_nullable(required, name, paid):
    stage = join(BASIC | {"requiredInputs": required})

    assert messages(stage) == []
    assert stage.output_schema == record("join.output", name=name, paid=paid)


def test_three_inputs_and_composite_keys():
    stage = join(
        {
            "selectedFields": "a.name,b.price,c.city",
            "joinKeys": "a.id=b.user_id=c.uid & a.name = b.name = c.city",
        },
        a=USERS,
        b=record(user_id=Schema.LONG, price=Schema.DOUBLE, name=Schema.STRING),
        c=CITIES,
    )

    assert messages(stage) == []


@pytest.mark.parametrize(
    ("properties", "message", "cause"),
    [
        ({"joinKeys": ""}, "Join keys cannot be empty", "joinKeys"),
        ({"joinKeys": " & "}, "Join keys cannot be empty", "joinKeys"),
        (
            {"joinKeys": "users.id"},
            "There should be one join key from each of the stages",
            "joinKeys",
        ),
        (
            {"joinKeys": "users.id=sales.user_id & users.name"},
            "There should be one join key from each of the stages",
            "joinKeys",
        ),
        ({"selectedFields": ","}, "Must select at least one field", "selectedFields"),
        (
            {"selectedFields": "name"},
            (
                "Invalid syntax. Selected Fields must be of syntax <stageName>.<oldFieldName> as <alias>, "
                "but found name"
            ),
            "selectedFields",
        ),
        (
            {"selectedFields": "users.nope"},
            (
                "Selected field 'users'.'nope' is invalid because stage 'users' does not contain field "
                "'nope'."
            ),
            "selectedFields",
        ),
        (
            {"selectedFields": "x.name"},
            "Selected field 'x'.'name' is invalid because stage 'x' is not part of the join.",
            "selectedFields",
        ),
        (
            {"selectedFields": "users.id, sales.id"},
            "Field 'id' from stage 'sales' is a duplicate. Set an alias to make it unique.",
            "selectedFields",
        ),
        (
            {"joinKeys": "users.nope = sales.user_id"},
            "Join key for stage 'users' is invalid. Field 'nope' does not exist in the stage.",
            "joinKeys",
        ),
        (
            {"joinKeys": "users.name = sales.user_id"},
            (
                "Type mismatch on join keys. 'users'.'name' is of type 'string' while 'sales'.'user_id' "
                "is of type 'long'."
            ),
            "joinKeys",
        ),
        ({"conditionType": "fancy"}, "Invalid condition type fancy", "conditionType"),
        ({"inMemoryInputs": "users,sales"}, "Cannot broadcast all stages.", "inMemoryInputs"),
        ({"requiredInputs": "user"}, "Stage 'user' is not an input of the join.", "requiredInputs"),
        (
            {"mostSkewedInput": "users,sales"},
            "Only one stage can be specified as the stage with the larger skew.",
            "mostSkewedInput",
        ),
    ],
)
def test_wrong_properties(properties, message, cause):
    failure = only_failure(join(BASIC | properties))

    assert failure.message == message
    assert causes(failure)[0]["stageConfig"] == cause


def test_the_element_of_a_wrong_selected_field():
    failure = only_failure(join(BASIC | {"selectedFields": "users.nope as n"}))

    assert causes(failure)[0]["configElement"] == "users.nope as n"


def test_distribution_needs_size_and_stage():
    stage = join(BASIC | {"distributionEnabled": "true"})

    assert messages(stage) == [
        "Distribution Size is a required value if distribution is enabled.",
        "Skewed Stage name is a required value if distribution is enabled.",
    ]
    enough = {"distributionFactor": "4", "distributionStageName": "sales"}
    left = {"requiredInputs": "sales"}
    assert messages(join(BASIC | {"distributionEnabled": "true"} | enough | left)) == []


@pytest.mark.parametrize(
    ("properties", "message", "cause"),
    [
        (
            {"requiredInputs": "users"},
            (
                "Distribution only supports inner or left outer joins, the skewed stage 'sales' must be "
                "required"
            ),
            "distributionStageName",
        ),
        (
            {"distributionStageName": "sale"},
            "Skewed stage 'sale' does not match any of the specified stages",
            "distributionStageName",
        ),
        (
            {"distributionFactor": "0"},
            "Distribution size must be greater than 0",
            "distributionFactor",
        ),
        (
            {"inMemoryInputs": "users"},
            "Distribution cannot be used if either stage will be broadcast",
            "inMemoryInputs",
        ),
    ],
)
def test_wrong_distributions(properties, message, cause):
    given = {"distributionFactor": "4", "distributionStageName": "sales", "requiredInputs": "sales"}
    failure = only_failure(join(BASIC | {"distributionEnabled": "true"} | given | properties))

    assert failure.message == message
    assert causes(failure)[0]["stageConfig"] == cause


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"conditionExpression": ""}, "A join condition must be specified."),
        (
            {"requiredInputs": "users"},
            "Advanced outer joins must specify an input to load in memory.",
        ),
        (
            {"conditionExpression": "u.id = x.user_id"},
            "'x' in the join condition is neither an input nor an alias of one.",
        ),
        (
            {"conditionExpression": "u.id = s.nope"},
            "Field 'nope' in the join condition does not exist in stage 'sales'.",
        ),
        ({"inputAliases": "users"}, "'users' in the input aliases is not of syntax"),
        ({"inputAliases": "users=u;sales=U"}, "Two inputs have the same alias."),
    ],
)
def test_wrong_conditions(properties, message):
    stage = join(ADVANCED | properties)

    assert messages(stage)[0].startswith(message)


def test_conditions_are_for_two_inputs():
    stage = join(
        ADVANCED | {"requiredInputs": "users,sales,cities"},
        users=USERS,
        sales=SALES,
        cities=CITIES,
    )

    assert messages(stage) == [
        "Advanced join conditions can only be used when there are two inputs."
    ]


def test_a_condition_that_fits():
    stage = join(ADVANCED | {"requiredInputs": "users", "inMemoryInputs": "sales"})

    assert messages(stage) == []
    assert stage.output_schema == record(
        "join.output", name=Schema.STRING, paid=Schema.DOUBLE.as_nullable
    )


def test_qualified_names_are_found_in_sql():
    sql = "a.x = `b c`.`y z` and lower(a.name) <> 'q.r' or a.rec.inner > 1.5 and c.d is null"

    assert list(find_qualified_names(sql)) == [
        ("a", "x"),
        ("b c", "y z"),
        ("a", "name"),
        ("a", "rec"),
        ("c", "d"),
    ]


def test_an_unknown_input_needs_the_output_schema():
    failure = only_failure(join(BASIC, users=None, sales=SALES))

    assert failure.message == "Output schema must be specified"
    assert causes(failure) == [{"stageConfig": "schema"}]


def test_a_given_schema_is_taken_for_an_unknown_input():
    given = record("typeoutput", name=Schema.STRING.as_nullable, paid=Schema.DOUBLE.as_nullable)

    stage = join(BASIC | {"schema": str(given)}, users=None, sales=SALES)

    assert messages(stage) == []
    assert stage.output_schema == given


def test_a_given_schema_is_checked_as_far_as_the_join_is_known():
    given = record(paid=Schema.STRING, extra=Schema.INT)

    stage = join(
        BASIC | {"selectedFields": "sales.price as paid,sales.id", "schema": str(given)},
        users=None,
        sales=SALES,
    )

    assert [failure.message.split(".")[0] for failure in stage.failures] == [
        "Provided schema does not match expected schema",
        "Provided schema is missing fields: id",
        "The output schema contains extra field 'extra' that is not selected",
    ]


def test_a_given_schema_does_not_matter_when_all_inputs_are_known():
    stage = join(BASIC | {"schema": str(record(other=Schema.INT))})

    assert messages(stage) == []


def test_nothing_is_known_before_macros_have_values():
    stage = configure(
        Joiner,
        BASIC | {"joinKeys": "${k}"},
        named={"users": USERS, "sales": SALES},
        macros=["joinKeys"],
    )

    assert messages(stage) == []
    assert stage.output_schema is None


@pytest.mark.parametrize(
    ("properties", "fields"),
    [
        (BASIC, {"users": ["id", "name"], "sales": ["user_id", "price"]}),
        (ADVANCED, {"users": ["id", "name"], "sales": ["user_id", "price"]}),
    ],
)
def test_only_the_needed_input_fields_are_read(properties, fields):
    stage = StageConfigurer("s", {"users": USERS, "sales": SALES})
    plugin = Joiner(Joiner.Config.build(properties, stage.failures))

    found = plugin.input_fields_by_stage(stage)

    assert {name: set(found[name]) - {"id"} for name in found} == {
        name: set(names) - {"id"} for name, names in fields.items()
    }
    assert "email" not in found["users"]
