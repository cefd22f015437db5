"""Macros: the cases of CDAP 6 ``MacroParserTest``, and the options."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import MacroError
from localcdap.pipeline.macros.parser import (
    MacroOptions,
    MacroParser,
    create_call,
    create_lookup,
    has_macro,
    list_macros,
)


def parse(text, values=None, calls=None, **options):
    """``calls`` are the values of the function ``test`` by its argument text."""

    def test(*arguments: str) -> str:
        value = (calls or {}).get(",".join(arguments))
        if value is None:
            raise MacroError(f"no value for {arguments}")
        return value

    parser = MacroParser(
        create_lookup(values or {}), create_call({"test": test}), MacroOptions(**options)
    )
    return parser.parse(text)


HOST = {
    "simpleHostnameTree": "${simpleHostname}/${simplePath}:${simplePort}",
    "simpleHostname": "localhost",
    "simplePath": "index.html",
    "simplePort": "80",
}
CASE_6 = {
    "macro": "42",
    "{}": "brackets",
    "${escapedMacroLiteral}": "Times",
    "funTimes": "ahead",
}


@pytest.mark.parametrize(
    ("text", "lookups", "calls", "expected"),
    [
        pytest.param("${}", {"": "emptyMacro"}, None, "emptyMacro", id="2"),
        pytest.param("${test()}", None, {"": "emptyMacro"}, "emptyMacro", id="3"),
        pytest.param(r"\${val}", {"val": "no"}, None, "${val}", id="4"),
        pytest.param(r"$${{\}}", {"{}": "brackets"}, None, "$brackets", id="5"),
        pytest.param(
            r"\${${macro}}\${${{\}}}\${one}${fun${\${escapedMacroLiteral\}}}",
            CASE_6,
            None,
            "${42}${brackets}${one}ahead",
            id="6",
        ),
        pytest.param(
            "${test(simpleEscape)}",
            None,
            {"simpleEscape": r"\${test(\${test(expansiveHostnameTree)})}"},
            "${test(${test(expansiveHostnameTree)})}",
            id="8",
        ),
        pytest.param(
            r"\\file\\path\\name\\${filePathMacro}",
            {"filePathMacro": "executable.exe"},
            None,
            r"\file\path\name\executable.exe",
            id="9",
        ),
        pytest.param(r"${test(test\\)}", None, {"test\\": "password"}, "password", id="10"),
        pytest.param(r"${test(test\\\))}", None, {r"test\)": "password"}, "password", id="12"),
        pytest.param(r"${test\\\}}", {r"test\}": "password"}, None, "password", id="13"),
        pytest.param("${simpleHostnameTree}", HOST, None, "localhost/index.html:80", id="14"),
    ],
)
def test_cases_with_a_value(text, lookups, calls, expected):
    assert parse(text, lookups, calls) == expected


@pytest.mark.parametrize(
    ("text", "calls", "message"),
    [
        pytest.param("${undefined}", None, "Argument 'undefined' is not defined.", id="1"),
        pytest.param(
            "${test(key)}", {"key": "${test(key)}"}, "expansion exceeded 10 levels.", id="7"
        ),
        pytest.param(r"${test(test\\))}", None, "have extra invalid trailing ')'.", id="11"),
        pytest.param("${a", None, "Could not find enclosing '}' for macro '${a'.", id="open"),
        pytest.param(
            "${test(a}",
            None,
            "Could not find enclosing ')' for macro arguments in 'test(a'.",
            id="(",
        ),
        pytest.param("${other(a)}", None, "Unsupported macro function other", id="function"),
    ],
)
def test_cases_without_a_value(text, calls, message):
    with pytest.raises(MacroError) as raised:
        parse(text, None, calls)
    assert message in raised.value.message
    assert raised.value.corrective_action or "no value for" in raised.value.message


def test_case_15_contains_macro():
    for malformed in ("${badFormatting", "${nested${macros${are${ok}}}"):
        with pytest.raises(MacroError):
            has_macro(malformed)
    assert has_macro("${nested${macros${are${ok}}}}")
    assert not has_macro("hostname/path:port")
    assert not has_macro(r"\{definitely\{not\{test(aMacro)}}}")
    assert not has_macro(None)


def test_null_in_null_out():
    assert parse(None) is None


def test_inner_macros_come_first():
    assert parse("${host-${env}}", {"env": "dev", "host-dev": "h"}) == "h"


def test_arguments_are_split_on_every_comma_without_trimming():
    assert parse("${test(a, b,)}", None, {"a, b,": "x"}) == "x"


def test_ten_levels_are_fine_and_eleven_are_not():
    chain = {str(i): f"${{{i + 1}}}" for i in range(12)}
    values = {**chain, "12": "end"}
    assert parse("${3}", values) == "end"
    with pytest.raises(MacroError, match="10 levels"):
        parse("${2}", values)


def test_an_expansion_without_end_is_refused():
    with pytest.raises(MacroError, match="without end|10 levels"):
        parse("${a}", {"a": "${b}" * 50, "b": "${c}" * 50, "c": "${d}" * 50, "d": "x"})


def test_without_escaping_a_backslash_is_an_ordinary_character():
    assert parse(r"\d${x}\\", {"x": "1"}, escaping=False) == r"\d1\\"


def test_lookups_and_functions_can_be_left_alone():
    text = "${x} ${test(a)}"
    assert parse(text, {"x": "1"}, {"a": "2"}, lookups=False) == "${x} 2"
    assert parse(text, {"x": "1"}, {"a": "2"}, functions=False) == "1 ${test(a)}"


def test_functions_outside_the_whitelist_are_left_alone():
    text = "${test(a)}"
    assert parse(text, None, {"a": "2"}, whitelist=frozenset(["secure"])) == text
    assert parse(text, None, {"a": "2"}, whitelist=frozenset(["test"])) == "2"


def test_invalid_macros_can_be_left_alone():
    assert parse("${x}/${y}", {"y": "1"}, skip_invalid=True) == "${x}/1"
    assert parse("${y}/${x}", {"y": "1"}, skip_invalid=True) == "1/${x}"
    assert parse("${test(b)}", None, {"a": "1"}, skip_invalid=True) == "${test(b)}"


def test_a_function_around_a_macro_that_is_left_is_left_too():
    assert parse("${test(${key})}!", None, {"k": "v"}, skip_invalid=True) == "${test(${key})}!"
    assert parse("${test(${key})}!", {"key": "k"}, {"k": "v"}, skip_invalid=True) == "v!"


def test_what_is_left_is_reported():
    parser = MacroParser(
        create_lookup({"y": "1"}), create_call({}), MacroOptions(skip_invalid=True, escaping=False)
    )
    expansion = parser.expand("${x}${y}${z}")
    assert (expansion.text, expansion.unresolved) == ("${x}1${z}", ["z", "x"])
    assert parser.expand("${y}").unresolved == []


def test_macros_in_a_text():
    assert list_macros("${a}/${secure(k)}/${b-${c}}") == ["c", "secure(k)", "a"]
    assert list_macros("plain") == []


@given(st.text(alphabet="${}()\\,ab ", max_size=30), st.booleans(), st.booleans())
def test_any_text_is_parsed_or_refused(text, escaping, skip):
    with contextlib.suppress(MacroError):
        parse(text, {"a": "${b}", "b": "x"}, {"a": "1"}, escaping=escaping, skip_invalid=skip)
        has_macro(text, escaping=escaping)


@given(st.text(alphabet="abc /:,.-", max_size=30))
def test_a_text_without_macros_stays(text):
    assert parse(text) == text
