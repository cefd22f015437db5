"""The values of expressions: operators, access, scripts, null everywhere."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import pytest

from localcdap.api.directive.rows import Row
from localcdap.plugin_lib.jexl import EvaluationError, parse, to_truth

ROW = Row(
    a=1,
    b=2,
    f=1.5,
    big=2**62,
    dec=Decimal("12.50"),
    s="x",
    age="32",
    wage="11.79",
    word="Root",
    yes=True,
    none=None,
    blank="",
    items=[1, 2, 3],
    tree={"k": {"z": 5}, "list": ["p", "q"], "null": None},
    day=datetime.date(2020, 2, 29),
    moment=datetime.datetime(2017, 2, 2, 21, 6, 44, tzinfo=datetime.UTC),
)
ROW["dotted.name"] = 7


def value(text: str, row: Any = ROW) -> Any:
    return parse(text).compile()(row)


def failure(text: str, row: Any = ROW) -> str:
    with pytest.raises(EvaluationError) as caught:
        parse(text).compile()(row)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # arithmetic of whole numbers: it grows, divides towards zero, the rest has the sign of the left
        ("a + b", 3),
        ("a - b", -1),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("-7 % 3", 2),
        ("7 div 2", 3),
        ("7 mod 4", 3),
        ("2147483647 + 1", 2147483648),
        ("9223372036854775807 + 1", 9223372036854775808),
        ("big * 4", 2**64),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("10 - 3 - 2", 5),
        ("100 / 10 / 5", 2),
        ("0x1F + 017", 46),
        ("5L", 5),
        ("3H", 3),
        # doubles and decimals
        ("f * 2", 3.0),
        ("7.0 / 2", 3.5),
        ("7.5 % 2", 1.5),
        ("1e3", 1000.0),
        ("2.5f", 2.5),
        ("1d", 1.0),
        ("dec + 1", Decimal("13.50")),
        ("dec * 2", 25),
        ("dec + 0.5", Decimal("13.00")),
        ("1.5b", Decimal("1.5")),
        # texts are numbers in all arithmetic but sums
        ("wage*40*4", 1886.3999999999999),
        ("age * 2", 64),
        ("age - '2'", 30),
        ("age + 1", "321"),
        ("'7' / '2'", 3),
        ("'7' % '2'", 1),
        ("'' * 2", 0),
        ("true * 3", 3),
        # concatenation writes values as Java does
        ("s + 'y'", "xy"),
        ("'a' + 1.0e10", "a1.0E10"),
        ("'a' + true", "atrue"),
        ("'a' + 100.0", "a100.0"),
        ("'a' + 0.0001", "a1.0E-4"),
        ("'a' + dec", "a12.50"),
        ("1 + 2 + 'x'", "3x"),
        ("'x' + 1 + 2", "x12"),
        ("'d ' + day", "d 2020-02-29"),
        ("'m ' + moment", "m 2017-02-02T21:06:44Z[UTC]"),
        ("'a' + NaN", "a"),
        ("'j' + tree", 'j{"k":{"z":5},"list":["p","q"],"null":null}'),
        # comparison: a number beside a text reads it; null compares without an error
        ("age < 15", False),
        ("age > '4'", False),
        ("age == 32", True),
        ("age == '32.0'", False),
        ("age == 32.0", True),
        ("f > a", True),
        ("dec == 12.5", True),
        ("dec > '12.4'", True),
        ("'B' < 'a'", True),
        ("none < 1", False),
        ("none > 1", False),
        ("none <= null", True),
        ("none == null", True),
        ("none != 'x'", True),
        ("missing == null", True),
        ("a != b", True),
        ("a eq 1 and b ne 1", True),
        ("a lt b", True),
        ("a le 1", True),
        ("b gt a", True),
        ("b ge 3", False),
        ("NaN == NaN", True),
        ("NaN < 0", True),
        ("true == 'true'", True),
        ("yes == 1", True),
        ("yes == ''", False),
        ("[1, 2] == [1, 2]", True),
        ("day < datetime:GetDate('2020-03-01')", True),
        ("day == '2020-02-29'", True),
        # logic
        ("yes && a == 1", True),
        ("!yes", False),
        ("not blank", True),
        ("a && 'false'", False),
        ("0 || ''", False),
        ("NaN || 0.0", False),
        ("a == 2 && none", False),
        ("a == 1 || none", True),
        # patterns and affixes
        ("word =~ '[A-Z].*'", True),
        ("word =~ 'oo'", False),
        ("word !~ '.*t'", False),
        (r"s =~ '^\W*$'", False),
        ("a =~ '[0-9]'", True),
        ("a =~ [1, 2]", True),
        ("a !~ {3, 4}", True),
        ("'k' =~ tree", True),
        ("none =~ null", True),
        ("none =~ 'x'", False),
        ("a =~ (1..5)", True),
        ("word =^ 'Ro'", True),
        ("word =$ 'ot'", True),
        ("word !^ 'Ro'", False),
        ("word !$ 'x'", True),
        ("none =^ 'a'", False),
        ("a =^ 1", True),
        # choices
        ("age < 15 ? 'yes' : 'no'", "no"),
        ("none ? 1 : 2", 2),
        ("none ?: 'd'", "d"),
        ("blank ?: 'd'", "d"),
        ("a ?: 'd'", 1),
        ("none ?? 'q'", "q"),
        ("blank ?? 'q'", ""),
        ("a == 1 ? b == 2 ? 'x' : 'y' : 'z'", "x"),
        ("none.trim() ?: 'z'", "z"),
        ("yes ? none.trim() : 1", None),
        ("none?.trim()", None),
        # empty and size
        ("empty(none)", True),
        ("empty ''", True),
        ("empty 0", True),
        ("empty(items)", False),
        ("empty [] ", True),
        ("empty {:}", True),
        ("empty(none.trim())", True),
        ("size(word)", 4),
        ("size items", 3),
        ("size(tree)", 3),
        ("size(none)", 0),
        ("size(5)", None),
        ("size('😀')", 2),
        ("word.size()", 4),
        ("items.empty()", False),
        ("size(none.x.trim()) < 3", True),
        # elements, members, methods
        ("items[1]", 2),
        ("tree.k.z", 5),
        ("tree['k']['z'] + 1", 6),
        ("tree.list.1", "q"),
        ("tree.nope", None),
        ("tree.null.deeper", None),
        ("none[0]", None),
        ("dotted.name", 7),
        ("this.dotted", None),
        ("this['a']", 1),
        ("this.size()", 17),
        ("WORD", "Root"),
        ("this.WORD", "Root"),
        ("tree.get('k').get('z')", 5),
        ("items.contains(3)", True),
        ("items.size() - 1", 2),
        ("' x '.trim()", "x"),
        ("word.toUpperCase()", "ROOT"),
        ("word.substring(1)", "oot"),
        ("word.substring(1, 3)", "oo"),
        ("word.indexOf('o')", 1),
        ("word.charAt(0)", "R"),
        ("word.replace('o', '0')", "R00t"),
        ("word.replaceAll('[a-z]+', '$0!')", "Root!"),
        ("'a1b22'.replaceFirst('[0-9]', '#')", "a#b22"),
        ("'a,b,,'.split(',')", ["a", "b"]),
        ("'a,b'.split(',')[1]", "b"),
        ("word.matches('R.*')", True),
        ("word.equalsIgnoreCase('ROOT')", True),
        ("word.hashCode()", 2553090),
        ("a.toString() + b", "12"),
        ("f.intValue()", 1),
        ("dec.scale()", 2),
        ("age.length()", 2),
        ("word.compareTo('Roos')", 1),
        ("day.getYear()", 2020),
        ("moment.hour", 21),
        ("day.plusDays(1)", datetime.date(2020, 3, 1)),
        ("day.dayOfWeek", "SATURDAY"),
        # literals
        ("[1, 'a', null]", [1, "a", None]),
        ("{'a': 1, 'b': [2]}", {"a": 1, "b": [2]}),
        ("{1, 1, 2}", [1, 2]),
        ("{:}", {}),
        ("[]", []),
        ("'it\\'s'", "it's"),
        ('"say \\"x\\""', 'say "x"'),
        (r"'\u0041\n\\'", "A\\n\\"),
        ("null", None),
        ("true", True),
        ("-2147483648", -(2**31)),
        ("1..3", range(1, 4)),
        # bits
        ("6 & 3", 2),
        ("6 | 3", 7),
        ("6 ^ 3", 5),
        ("~6", -7),
        ("1 << 4", 16),
        ("-16 >> 2", -4),
        ("a | 6 & 3", 3),
    ],
)
def test_values(text: str, expected: Any) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("none + 1", "'+' cannot be used with null"),
        ("none + 'x'", "'+' cannot be used with null"),
        ("none * none", "'*' cannot be used with null"),
        ("1 - missing", "'-'"),
        ("!none", "A condition is null"),
        ("none && yes", "A condition is null"),
        ("none | 1", "'|'"),
        ("-none", "'-' cannot be used with a null"),
        ("1 / 0", "zero"),
        ("1.0 / 0", "zero"),
        ("dec % 0", "zero"),
        ("'7' % '-2'", "negative"),
        ("7 % -3", "negative"),
        ("word > 5", 'For input string: "Root"'),
        ("word * 2", 'For input string: "Root"'),
        ("wage > 11", "Type mismatch"),
        ("word < 1.5", "Type mismatch"),
        ("none.trim()", "'trim' cannot be called on null"),
        ("word.getHour()", "A text has no method 'getHour'"),
        ("word.substring(9)", "there is no part from 9 to 4"),
        ("items[7]", "none at 7"),
        ("items['x']", "no element 'x'"),
        ("items.indexOf(1, 2)", "does not take 2"),
        ("a[0]", "no elements"),
        ("string:left(5, 1)", "string:left cannot be used with (whole number, whole"),
        ("math:ceil(none)", "math:ceil cannot be used with (null)"),
        ("toInteger('x')", 'For input string: "x"'),
        ("math:ceil(wage)", "math:ceil cannot be used with (text)"),
        ("{[1]: 2}", "key of a map"),
        ("items < 3", "whole number"),
        ("day < 3", "date"),
        ("1..9999999", "more than"),
        ("while (true) { a }", "did not end"),
        ("word =~ s + '['", "not a regular expression"),
        ("'a'.repeat(99999999)", "repeated"),
        ("string:repeat('abc', 999999999)", "too long"),
    ],
)
def test_errors_of_rows(text: str, part: str) -> None:
    assert part in failure(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("var x; x = math:ceil(toFloat(wage)); x + 1", 13.0),
        ("{ q = 5.0; number:AsDouble(q/2) }", 2.5),
        ("if(IsNotNull(none)){ a } else {b}", 2),
        ("if (a == 1) 'one'", "one"),
        ("if (a == 2) 'two'", None),
        ("if (a == 2) 'two'; else if (a == 1) 'one'; else 'many'", "one"),
        ("var t = 0; for (i : items) { t = t + i } t", 6),
        ("var t = ''; for (var i : items) { if (i == 2) continue; t += i } t", "13"),
        ("var i = 0; while (true) { i += 1; if (i >= 5) break } i", 5),
        ("var t = 1; for (i : 1..5) t *= i; t", 120),
        ("a = a + 1; a * 10", 20),
        ("a; b;", 2),
        ("return a; b", 1),
        ("{ var y = 3; { y = y + 1 } y }", 4),
        (";", None),
        ("", None),
        ("// a comment\n a /* more */ + b ## end", 3),
        ("for (x : none) { 1 }", None),
    ],
)
def test_scripts(text: str, expected: Any) -> None:
    assert value(text) == expected


def test_the_row_is_not_changed_by_assignments() -> None:
    row = Row(a=1)
    assert value("a = 5; a", row) == 5
    assert row == {"a": 1}


def test_transient_variables_win_over_columns() -> None:
    run = parse("a + b").compile()
    assert run({"a": 1, "b": 2}, {"a": 10}) == 12


def test_the_context_is_there() -> None:
    assert value("ctx.environment") == "TRANSFORM"
    assert value("ctx.nano > 0") is True
    assert parse("ctx.name").compile()({}, {"ctx": {"name": "stage"}}) == "stage"


def test_variables_are_what_is_read() -> None:
    assert parse("a + math:max(b, c.d) - this.x").variables == {
        "a",
        "b",
        "c",
        "c.d",
        "this",
        "this.x",
    }
    assert parse("var x = a; for (y : z) { x += y }").variables == {"a", "z"}
    assert parse("'text' + 1").variables == set()


def test_long_chains_cost_no_depth() -> None:
    assert value(" + ".join(["a"] * 3000)) == 3000
    assert value(" || ".join(["a == 2"] * 3000)) is False
    assert value("(" * 300 + "a" + ")" * 300) == 1


def test_an_expression_pickles_as_its_text() -> None:
    copy = pickle.loads(pickle.dumps(parse("a + b")))
    assert copy.compile()(ROW) == 3


def test_what_directives_make_of_a_value() -> None:
    values = [True, False, "TRUE", "false", "yes", 1, None]
    assert [to_truth(one) for one in values] == [True, False, True, False, False, None, None]


def test_a_pattern_that_explodes_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localcdap.java.regex.TIME_LIMIT", 0.05)
    assert "took too long" in failure("s =~ '(a|a)+(a|a)+(a|a)+c'", {"s": "a" * 60})
