"""Expressions of the Conditional condition."""

from __future__ import annotations

import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from localcdap.api.control import StageStatistics
from localcdap.artifacts.loading import import_module
from localcdap.plugin_lib.jexl import EvaluationError, JexlError
from localcdap.sandbox.stage_configuration import ConfigureRequest, configure_stage
from localcdap.testing import artifact_ref

ARTIFACT = Path(__file__).parents[3] / "plugins_dir" / "condition-plugins"
CONTEXT = SimpleNamespace(
    stage_statistics={"A": StageStatistics(5, 4, 1)},
    arguments={"n": "7", "flag": "true", "path": "/data"},
    pipeline="p",
    namespace="default",
    stage_name="if",
    logical_start_time=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
)


@pytest.fixture(scope="module")
def evaluate():
    ref = artifact_ref(ARTIFACT, "condition", "Conditional")
    module = import_module(ref.path, ref.digest, "condition_plugins.conditional")
    return lambda text: module.parse_condition(text).compile()(module.make_variables(CONTEXT))


@pytest.fixture(scope="module")
def decide():
    ref = artifact_ref(ARTIFACT, "condition", "Conditional")
    plugin = import_module(ref.path, ref.digest, "condition_plugins.conditional").Conditional
    context = SimpleNamespace(**vars(CONTEXT), fail=lambda message, action: ValueError(message))

    def run(text):
        return plugin(SimpleNamespace(expression=text)).decide(context)

    return run


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("token['A']['error'] > 1 ", False),
        ("token.A.input == 5", True),
        ("token['B']['input'] == 0 && token.B.error == 0", True),
        ("token['A']['error']<=1 && size('/x') > 1", True),
        # What file 116 of the corpus becomes with its macros.
        (
            "true != true || ((1.0-20/100.0)*5<token['A']['input'] && token['A']['input']<(1.0+20/100.0)*5)",
            True,
        ),
        ("runtime['n'] > 10", False),
        ("runtime['n'] == 7.0", True),
        ("'10' > '9'", False),
        ("runtime['nope'] == null", True),
        ("not (runtime.nope != null) and !false", True),
        ("runtime['flag'] ? 1 : 2", 1),
        ("runtime['nope'] ?: 'other'", "other"),
        ("runtime['flag'] == true", True),
        ("runtime['path'].startsWith('/d') or token['B']['input'] == 1", True),
        ("'abc' =~ 'a.c'", True),
        ("empty runtime['nope'] && empty('') && !empty('x')", True),
        ("math:max(token['A']['input'], 9)", 9),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 4", 1),  # the remainder of whole numbers is that of BigInteger.mod
        ("7 / 2.0", 3.5),
        ("9007199254740993 / 1", 9007199254740993),
        ("token['A']['input'] / 2", 2),
        ("2147483647 + 1", 2147483648),
        ("9223372036854775807 + 1 > 9223372036854775807", True),
        ("1 + 2 * 3 - 4", 3),
        ("'a' + 1", "a1"),
        ("1 lt 2 ? 'y' : 'n'", "y"),
        # JEXL's rules: null is below nothing, numbers but zero are true, Java's doubles overflow.
        ("null < 1", False),
        ("1 && true", True),
        ("math:pow(10, 10000) > 1", True),
    ],
)
def test_values(evaluate, text, expected):
    assert evaluate(text) == expected
    assert type(evaluate(text)) is type(expected)


def test_the_functions_of_the_original_are_there(evaluate):
    assert evaluate("strlen('abc') == 3 && isempty('') && isnull(runtime['nope'])") is True


@pytest.fixture
def configure():
    def run(text):
        request = ConfigureRequest(
            artifact_ref(ARTIFACT, "condition", "Conditional"),
            "if",
            {"expression": text},
            earlier_stages=frozenset({"Person", "Cities"}),
        )
        return configure_stage(request)

    return run


@pytest.mark.parametrize(
    ("text", "name", "action"),
    [
        ("token['Persons']['error'] > 1", "Persons", "Did you mean 'Person'?"),
        ("1 > 2 && token.Out.input > token.Out.error", "Out", "Choose one of: Cities, Person."),
    ],
)
def test_validation_warns_of_stages_that_are_not_before_the_condition(
    configure, text, name, action
):
    result = configure(text)

    (warning,) = result.warnings
    assert result.failures == []
    assert warning.message == f"No stage before the condition is called '{name}': its counts are 0."
    assert warning.corrective_action == action


def test_stages_before_the_condition_and_their_counts_are_known(configure):
    good = configure("token['Cities'] != null && token['Person']['input'] > 1")
    (failure,) = configure("token['Person']['inputs'] > 1").failures

    assert good.failures == good.warnings == []
    assert "no count 'inputs'" in failure.message
    assert failure.corrective_action == "Did you mean 'input'?"


def test_a_pattern_is_one_of_java(evaluate):
    assert evaluate(r"'aab1' =~ '\\p{Lower}++1'")


@pytest.mark.slow
def test_a_pattern_has_a_time_limit(evaluate):
    text = "'" + "a" * 40 + "!' =~ '(a|aa|aaa)*(a|aa|aaa)*(a|aa|aaa)*$'"
    with pytest.raises(EvaluationError, match="took too long"):
        evaluate(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("token['A'] >", "The expression ends too early"),
        ("", "The expression is empty"),
        ("a b", "'b' is not expected here"),
        ("yes != true", "Condition can only specify either 'token', 'runtime', or 'global'"),
        ("global[runtime['path']]", "There is no '/data'; available: pipeline, namespace"),
        ("true || token['A']['outpt'] > 1", "stage 'A' has no count 'outpt'"),
        ("true || token.A.outpt > 1", "Did you mean 'output'?"),
        ("true || global.pipelin == 'p'", "'global' has no entry 'pipelin'"),
        ("true || runtime['n'].trimm() == ''", "There is no method 'trimm'"),
        ("runtime['n'].getYear()", "A text has no method 'getYear'"),
        ("5 % 0", "zero"),
        ("'x' * 2", "Type mismatch"),
        ("runtime['n'].getClass()", "There is no method 'getClass'"),
        ("system('x')", "There is no function 'system'"),
        ("'a' =~ '('", "("),
    ],
)
def test_errors(evaluate, text, problem):
    with pytest.raises((JexlError, EvaluationError)) as caught:
        evaluate(text)

    error = caught.value
    action = error.corrective_action if isinstance(error, JexlError) else ""
    assert problem in f"{error} {action}"


@pytest.mark.parametrize(
    ("text", "expected"), [("1 < 2", True), ("'True'", True), ("runtime['path']", False)]
)
def test_decision(decide, text, expected):
    assert decide(text) is expected


@pytest.mark.parametrize("text", ["7", "null", "runtime['nope']"])
def test_a_value_that_is_neither_true_nor_false_fails_the_run(decide, text):
    with pytest.raises(ValueError, match="neither true nor false"):
        decide(text)
