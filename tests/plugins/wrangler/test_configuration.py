"""What Wrangler says of its recipe and its precondition before a run."""

from __future__ import annotations

import pytest
from wrangler_transform.wrangler import Wrangler

from localcdap.api import Schema
from localcdap.testing import StageTester

TEXT = Schema.STRING.as_nullable
GIVEN = Schema.record("r", [("country", TEXT), ("age", Schema.INT), ("flag", Schema.BOOLEAN)])
ONLY_DATA = "The output of this recipe depends on the data"


def reported(stage: StageTester) -> tuple[list[str], list[str]]:
    """The failures and the warnings, each with its corrective action."""
    return (
        [f"{each.message} {each.corrective_action}" for each in stage.failures],
        [f"{each.message} {each.corrective_action}" for each in stage.warnings],
    )


def configure(**properties: str) -> StageTester:
    return StageTester(Wrangler, properties, GIVEN)


def test_misspelt_columns_are_warnings_where_the_output_is_known():
    failures, warnings = reported(
        configure(directives="uppercase :contry\nfilter-row exp:{contry == null} true")
    )

    assert failures == []
    assert warnings == [
        "Recipe, line 1, column 1: uppercase: There is no column 'contry'. Did you mean 'country'?",
        "Recipe, line 2, column 17: filter-row: There is no column 'contry'. Did you mean 'country'?",
    ]


@pytest.mark.parametrize(
    "rest",
    ["parse-as-json :country", "split-to-columns :country ','", "set-column :x exp:{contry}"],
)
def test_an_output_that_only_the_data_decide_does_not_hide_them(rest):
    failures, warnings = reported(configure(directives=f"uppercase :contry\n{rest}"))

    assert [ONLY_DATA in each for each in failures] == [True]
    assert "uppercase: There is no column 'contry'. Did you mean 'country'?" in warnings[0]


def test_unknown_methods_and_functions_are_failures_beside_the_warnings():
    failures, warnings = reported(
        configure(
            directives="set-column :a exp:{country.toUperCase()}\n"
            "set-column :b exp:{string:uperCase(country)}\n"
            "set-column :c exp:{country.getYear()}\n"
            "uppercase :contry"
        )
    )

    assert [each.partition(": ")[2].partition(" Usage")[0] for each in failures] == [
        "There is no method 'toUperCase' Did you mean 'toUpperCase'?.",
        "There is no function 'string:uperCase' Did you mean 'string:upperCase'?.",
        "set-column: Values of the type string have no method 'getYear'. Did you mean 'getBytes'?",
    ]
    assert len(warnings) == 1


def test_a_macro_in_the_recipe_does_not_hide_them():
    failures, warnings = reported(
        configure(directives="uppercase :contry\nfilter-row exp:{age > ${n}}")
    )

    assert failures == []
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("contry == null", "column 1: There is no column 'contry'. Did you mean 'country'?"),
        ("'true'", "column 1: Precondition ''true'' does not result in true or false."),
        ("age", "column 1: Precondition 'age' does not result in true or false."),
        ("country.getYear() == 1", "have no method 'getYear'"),
        ("country =", "ends too early"),
    ],
)
def test_a_precondition_that_fails_for_every_record_is_a_failure(text, message):
    (failure,), warnings = reported(configure(directives="drop :flag", precondition=text))

    assert failure.startswith("The precondition, line 1, column ")
    assert message in failure
    assert warnings == []


@pytest.mark.parametrize("text", ["flag", "age > 1 || COUNTRY == 'US'", "dq:isNumber(country)"])
def test_a_precondition_that_is_true_or_false_is_right(text):
    assert reported(configure(directives="drop :flag", precondition=text)) == ([], [])


def test_an_sql_precondition_is_checked_like_one_in_jexl():
    failures, warnings = reported(
        configure(preconditionLanguage="SQL", preconditionSQL="agee > 30 AND uper(country) = 'A'")
    )

    assert failures == [
        "Spark has no function 'uper'. Did you mean 'upper'?",
        "There is no column 'agee'. Did you mean 'age'?",
    ]
    assert warnings == []
    assert reported(configure(preconditionLanguage="SQL", preconditionSQL="age > ${n}")) == ([], [])


def test_the_line_that_makes_the_output_depend_on_the_data_is_said():
    result = configure(directives="uppercase :country\nset-type :age decimal\nlowercase :country")

    (failure,) = result.failures
    assert failure.message.startswith(ONLY_DATA)
    assert "from line 2 on, with 'set-type'" in failure.message
