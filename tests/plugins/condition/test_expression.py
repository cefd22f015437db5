"""Expressions of the Conditional condition."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.artifacts.loading import import_module
from localcdap.testing import artifact_ref

ARTIFACT = Path(__file__).parents[3] / "plugins_dir" / "condition-plugins"
VARIABLES = {
    "token": {"A": {"input": 5, "output": 4, "error": 1}},
    "runtime": {"n": "7", "flag": "true", "path": "/data"},
    "global": {"pipeline": "p"},
}


@pytest.fixture(scope="module")
def value():
    ref = artifact_ref(ARTIFACT, "condition", "Conditional")
    parse = import_module(ref.path, ref.digest, "condition_plugins.expression").parse
    evaluate = import_module(ref.path, ref.digest, "condition_plugins.evaluation").evaluate
    return lambda text: evaluate(parse(text), VARIABLES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("token['A']['error'] > 1 ", False),
        ("token.A.input == 5", True),
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
        ("-7 % 4", -3),
        ("7 / 2.0", 3.5),
        ("9007199254740993 / 1", 9007199254740993),
        ("1 + 2 * 3 - 4", 3),
        ("'a' + 1", "a1"),
        ("1 lt 2 ? 'y' : 'n'", "y"),
    ],
)
def test_values(value, text, expected):
    assert value(text) == expected
    assert type(value(text)) is type(expected)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("token['A'] >", "it ends too early."),
        ("", "it ends too early."),
        ("a b", "'b' at position 3 is not supported."),
        ("1 = 1", "'=' at position 3 is not supported."),
        ("yes != true", "variable 'yes' is not defined; there are token, runtime, global."),
        ("token['B']['input']", "there is no 'B'; there is: A."),
        ("5 % 0", "a division by zero."),
        ("null < 1", "null is no number."),
        ("'x' * 2", "'x' is no number."),
        ("1 && true", "1 is neither true nor false."),
        ("runtime['n'].getClass()", "'7' has no method 'getClass' of 0 values."),
        ("system('x')", "there is no function system of 1 values."),
        ("'a' =~ '('", "unterminated subpattern"),
        ("math:pow(10, 10000)", "range"),
    ],
)
def test_what_is_wrong_is_told(value, text, problem):
    with pytest.raises(Exception) as caught:
        value(text)

    assert problem in str(caught.value)
    assert type(caught.value).__name__ == "ExpressionError"
