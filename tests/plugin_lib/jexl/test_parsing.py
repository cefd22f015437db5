"""Texts that are not expressions: every problem with its place and what to do."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.plugin_lib.jexl import EvaluationError, JexlError, Problem, parse


def problems(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(JexlError) as caught:
        parse(text)
    return [(p.line, p.column, f"{p.message} {p.hint or ''}") for p in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("a b", (1, 3), "'b' is not expected here"),
        ("a + :b", (1, 5), "names of columns without a colon"),
        ("a +", (1, 4), "ends too early"),
        ("a ? b", (1, 6), "ends too early"),
        ("(a", (1, 3), "ends too early"),
        ("a)", (1, 2), "')' is not expected here"),
        ("f(a,)", (1, 5), "')' is not expected here"),
        ("\n  'abc", (2, 3), "A text has no end"),
        ("5abc", (1, 1), "A number is followed by"),
        ("a -> b", (1, 3), "Functions cannot be declared"),
        ("new('java.io.File', 'x')", (1, 1), "Objects cannot be made ('new')"),
        ("`x`", (1, 1), "Template texts"),
        ("a[0] = 1", (1, 1), "cannot be assigned to"),
        ("break", (1, 1), "outside of a loop"),
        ("strin:left(a, 1)", (1, 1), "Did you mean 'string'?"),
        ("string:lefft(a, 1)", (1, 1), "Did you mean 'string:left'?"),
        ("string:left(a)", (1, 1), "Its usage is string:left(text, length)."),
        ("upperCase(a)", (1, 1), "Did you mean string:upperCase?"),
        ("a.trimm()", (1, 1), "There is no method 'trimm' Did you mean 'trim'?"),
        ("b + a.trim(1, 2)", (1, 5), "The method 'trim' does not take 2 arguments"),
        ("a =~ '[x'", (1, 6), "not a regular expression"),
        ("a.replaceAll('(', 'x')", (1, 14), "not a regular expression"),
        ("for (i : a) {" * 15 + "}" * 15, (1, 131), "10 loops"),
        ("!" * 300 + "a", (1, 61), "nested"),
    ],
)
def test_problems(text: str, place: tuple[int, int], part: str) -> None:
    found = problems(text)
    assert part in found[0][2]
    if "nested" not in part:
        assert found[0][:2] == place


def test_all_problems_are_reported_at_once() -> None:
    found = problems("string:lefft(a) +\n math:mox(1, 2) + nope(3) + (b =~ '[')")
    assert [(line, part.split("'")[1]) for line, _, part in found] == [
        (1, "string:lefft"),
        (2, "math:mox"),
        (2, "nope"),
        (2, "["),
    ]
    assert len(problems("a # 1\n b § 2")) == 2


def test_a_ternary_before_a_call_is_no_namespace() -> None:
    run = parse("a ? b : coalesce(c, d)").compile()
    assert run({"a": False, "c": None, "d": 4}) == 4
    assert parse("a ? date:isDate(b) : c").compile()({"a": True, "b": "2020-01-02"}) is True


_PIECES = st.sampled_from(
    [
        "a",
        "b.c",
        "1",
        "2.5",
        "'x'",
        "null",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "+",
        "-",
        "*",
        "/",
        "%",
        "==",
        "!=",
        "<",
        ">=",
        "=~",
        "!~",
        "=^",
        "&&",
        "||",
        "!",
        "not",
        "empty",
        "size",
        "?",
        ":",
        "?:",
        "??",
        ".",
        "?.",
        ",",
        ";",
        "=",
        "+=",
        "..",
        "string:",
        "left(",
        "coalesce(",
        "if (",
        "else",
        "var x",
        "for (",
        "while (",
        "return",
        " ",
        "\n",
        "//",
        "/*",
        "'",
        '"',
        "\\",
        "#",
        "@x",
        "this",
        "$",
        "0x",
        "1e",
        "🙂",
        "trim()",
    ]
)


@given(st.lists(_PIECES, max_size=12).map("".join) | st.text(max_size=40))
def test_any_text_is_an_expression_or_has_problems(text: str) -> None:
    found: list[Problem] | None = None
    try:
        expression = parse(text)
    except JexlError as error:
        found = error.problems
    if found is not None:
        assert found
        assert all(p.line >= 1 and p.column >= 1 and p.message for p in found)
    elif "while" not in text:
        with contextlib.suppress(EvaluationError):
            expression.compile()({"a": 1, "b": {"c": "x"}})


def test_a_long_text_costs_little_and_too_long_a_one_is_refused() -> None:
    assert parse("+".join(["1"] * 20_000)).compile()({}) == 20_000
    assert "allowed" in problems("a" * 200_000)[0][2]
