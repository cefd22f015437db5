"""Directives in their present and their older form, and both mixed."""

from __future__ import annotations

from decimal import Decimal

import pytest

from localcdap.api.directive.argument import NumberRange
from tests.plugin_lib.wrangler.language.support import describe_call, parse_call, parse_calls, read

PRESENT = [
    ("rename :a :b", ("rename", {"source": "a", "target": "b"})),
    ("rename :a :b;", ("rename", {"source": "a", "target": "b"})),
    ("drop :a", ("drop", {"columns": ["a"]})),
    ("drop :a,:b , :c", ("drop", {"columns": ["a", "b", "c"]})),
    (
        "parse-as-csv :body ',' true",
        ("parse-as-csv", {"col": "body", "delimiter": ",", "header": True}),
    ),
    ("parse-as-csv :body ' '", ("parse-as-csv", {"col": "body", "delimiter": " "})),
    (
        r"parse-as-csv :body '\t' false",
        ("parse-as-csv", {"col": "body", "delimiter": r"\t", "header": False}),
    ),
    (
        r"parse-as-csv :body '\' true",
        ("parse-as-csv", {"col": "body", "delimiter": "\\", "header": True}),
    ),
    ("parse-as-csv :body true", ("parse-as-csv", {"col": "body", "header": True})),
    ("set-column :a exp:{b + 1}", ("set-column", {"column": "a", "expression": "b + 1"})),
    ("set-column :a exp:{ {'x': 1} }", ("set-column", {"column": "a", "expression": "{'x': 1}"})),
    (
        "set-column :a exp:{b == '}' ? 1 : 2}",
        ("set-column", {"column": "a", "expression": "b == '}' ? 1 : 2"}),
    ),
    ("set-column :a exp : {b}", ("set-column", {"column": "a", "expression": "b"})),
    ("filter-row exp:{a > 1} false", ("filter-row", {"condition": "a > 1", "type": False})),
    ("send-to-error exp:{a} 'why'", ("send-to-error", {"condition": "a", "message": "why"})),
    (
        "send-to-error exp:{a} metric 'why'",
        ("send-to-error", {"condition": "a", "metric": "metric", "message": "why"}),
    ),
    (
        "set-type :a decimal 2 'HALF_UP' prop:{precision=5}",
        (
            "set-type",
            {
                "column": "a",
                "type": "decimal",
                "scale": 2,
                "rounding_mode": "HALF_UP",
                "precision": {"precision": 5},
            },
        ),
    ),
    ("set-type :value int null null", ("set-type", {"column": "value", "type": "int"})),
    (
        "quantize :a :b 0:10='low',10:20.5=\"high\",20.5:30=:c",
        (
            "quantize",
            {
                "source": "a",
                "destination": "b",
                "ranges": [
                    NumberRange(0, 10, "low"),
                    NumberRange(10, Decimal("20.5"), "high"),
                    NumberRange(Decimal("20.5"), 30, ":c"),
                ],
            },
        ),
    ),
    (
        "parse-as-fixed-length :a 1,2,3 ' '",
        ("parse-as-fixed-length", {"column": "a", "width": [1, 2, 3], "padding": " "}),
    ),
    ("parse-as-fixed-length :a 7", ("parse-as-fixed-length", {"column": "a", "width": [7]})),
    ("cleanse-column-names", ("cleanse-column-names", {})),
    ("rename :a :b -- why not", ("rename", {"source": "a", "target": "b"})),
    ("rename :a /* or z */ :b // why not", ("rename", {"source": "a", "target": "b"})),
    ("uppercase :Straße", ("uppercase", {"column": "Straße"})),
    (
        "filter-by-regex IF-matched :a '^x'",
        ("filter-by-regex", {"match_type": "if-matched", "column": "a", "regex": "^x"}),
    ),
]
OLDER = [
    ("rename body_fname fname", "rename :body_fname :fname"),
    ("rename :a b", "rename :a :b"),
    ("drop fname,lname", "drop :fname,:lname"),
    ("drop fname, lname", "drop :fname,:lname"),
    ("keep :body,Customer_id,First", "keep :body,:Customer_id,:First"),
    ("merge fname lname name ,", "merge :fname :lname :name ','"),
    ("merge a b c ' '", "merge :a :b :c ' '"),
    (
        "set column salary salary > 100 ? 100 : salary",
        "set-column :salary exp:{salary > 100 ? 100 : salary}",
    ),
    ("set columns a,b", "set-headers :a,:b"),
    ("set columns a,b,,", "set-headers :a,:b"),
    (
        "set-column value output > 10 ? 'test' : 'non-test'",
        "set-column :value exp:{output > 10 ? 'test' : 'non-test'}",
    ),
    ("set-column :greeting 'hello ' + name;", "set-column :greeting exp:{'hello ' + name}"),
    ("filter-row-if-matched address .*?", "filter-by-regex if-matched :address '.*?'"),
    ("filter-row-if-not-matched address .*?", "filter-by-regex if-not-matched :address '.*?'"),
    ("filter-row-if-true age < 10.0", "filter-row exp:{age < 10.0} true"),
    (
        "filter-row-if-false age < 10.0 && gender == 'm'",
        "filter-row exp:{age < 10.0 && gender == 'm'} false",
    ),
    ("filter-rows-on condition-false rank <=3", "filter-row exp:{rank <=3} false"),
    (
        'filter-rows-on condition-true a == null || a =~ "^\\W*$"',
        'filter-row exp:{a == null || a =~ "^\\W*$"} true',
    ),
    ("filter-rows-on empty-or-null-columns a, b", "filter-empty-or-null :a,:b"),
    ("filter-rows-on regex-match price ^0.0$", "filter-by-regex if-matched :price '^0.0$'"),
    ("filter-rows-on regex-not-match a ^0$", "filter-by-regex if-not-matched :a '^0$'"),
    ('send-to-error !dq:isDate(d, "yyyy")', 'send-to-error exp:{!dq:isDate(d, "yyyy")}'),
    ("set-variable test count > 10", "set-variable test exp:{count > 10}"),
    ("increment-variable test 1 count > 10", "increment-variable test 1 exp:{count > 10}"),
    ("increment-variable n 1 true", "increment-variable n 1 exp:{true}"),
    ("quantize col1 col2 1:2=test,3:4=test1", "quantize :col1 :col2 1:2='test',3:4='test1'"),
    ("find-and-replace name s/test//g", "find-and-replace :name 's/test//g'"),
    ("find-and-replace a,b s/x y/z/g", "find-and-replace :a,:b 's/x y/z/g'"),
    ("find-and-replace body s/[\\r\\n]//g", "find-and-replace :body 's/[\\r\\n]//g'"),
    ("parse-as-csv body , true", "parse-as-csv :body ',' true"),
    ("parse-as-csv body ;", "parse-as-csv :body"),
    ("parse-as-fixed-length body 3,4,5 #", "parse-as-fixed-length :body 3,4,5 '#'"),
    (
        "invoke-http http://a.b/json fname,lname a=b,x=y",
        "invoke-http 'http://a.b/json' :fname,:lname 'a=b,x=y'",
    ),
    ("uppercase name // loud", "uppercase :name"),
]


@pytest.mark.parametrize(("text", "expected"), PRESENT, ids=[text for text, _ in PRESENT])
def test_the_present_form(text, expected):
    assert parse_call(text) == expected


@pytest.mark.parametrize(("older", "present"), OLDER, ids=[older for older, _ in OLDER])
def test_the_older_form_means_the_same_as_the_present_one(older, present):
    assert parse_call(older) == parse_call(present)


def test_semicolons_and_line_ends_both_end_a_directive():
    text = "parse-as-csv :body '\t' true; drop :body;\n\n rename a b\r\nuppercase :b"

    assert [name for name, _ in parse_calls(text)] == [
        "parse-as-csv",
        "drop",
        "rename",
        "uppercase",
    ]


def test_a_semicolon_may_be_part_of_an_older_text():
    assert parse_call("find-and-replace body s/;/,/g") == (
        "find-and-replace",
        {"column": ["body"], "pattern": "s/;/,/g"},
    )
    assert parse_call("find-and-replace body s/'/x/g") == (
        "find-and-replace",
        {"column": ["body"], "pattern": "s/'/x/g"},
    )


def test_comments_are_lines_of_their_own_or_follow_a_directive():
    text = "// one\n# two\n/* three\nfour */ uppercase :a // five\n  // six"

    assert parse_call(text) == ("uppercase", {"column": "a"})


def test_an_expression_may_go_on_over_lines():
    assert parse_call("set-column :a exp:{\n  b +\n  1\n};") == (
        "set-column",
        {"column": "a", "expression": "b +\n  1"},
    )


def test_pragmas_load_directives_wherever_they_stand():
    recipe = read("#pragma version 2.0;\nmine :a 3;\n#pragma load-directives mine, yours;")

    assert not recipe.problems
    assert recipe.version == "2.0"
    assert [(each.name, each.line) for each in recipe.loads] == [("mine", 3), ("yours", 3)]
    (call,) = recipe.calls
    assert (call.name, call.is_declared, call.source) == ("mine", False, "mine :a 3")


def test_what_holds_macros_is_known_but_for_these():
    recipe = read(
        "${all}\nrename :a ${to}\nparse-as-csv :body '${delimiter${n}}' true\nset-column :x exp:{a + ${b}}"
    )

    assert not recipe.problems
    assert recipe.has_macros
    assert [(describe_call(call), call.macros) for call in recipe.calls] == [
        (("rename", {"source": "a"}), ("target",)),
        (("parse-as-csv", {"col": "body", "header": True}), ("delimiter",)),
        (("set-column", {"column": "x"}), ("expression",)),
    ]


def test_macros_do_not_hide_other_mistakes():
    (problem,) = read("${first}\nrenam :a :b\nrename ${a} ${b}").problems

    assert (problem.line, problem.column, problem.nearest) == (2, 1, "rename")


def test_a_directive_knows_where_it_is_and_what_it_is_written_like():
    recipe = read("\n  rename a b ;set-column :x   exp:{  1 + a }")

    first, second = recipe.calls
    assert (first.line, first.column, first.source) == (2, 3, "rename a b")
    assert (second.line, second.column) == (2, 15)
    code = second.arguments["expression"]
    assert (code.text, code.line, code.column) == ("1 + a", 2, 38)
