"""Recipes in the forms of CDAP's web studio (cdap-ui ``DataPrep/Directives``) and of tutorials."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest

from tests.plugin_lib.wrangler.directives.recipes import list_problems, run, run_failing, run_rows

LINK = (
    'Ann <ann@b.org> 01234-5678 <a class="q" href="http://b.org/c/d.html">L</a> 00:11:22:aa:bb:cc'
)
EMAIL = r"([a-zA-Z0-9!#$%&*+/=?^_`'{|}~-]+@(?!.*\.{2})[a-zA-Z0-9\.-]+(?:\.[a-zA-Z]{2,6})?)"
HREF = (
    r'<[aA](?:\s+[a-zA-Z]+=".*?")*\s+[hH][rR][eE][fF]="(.*?)"(?:\s+[a-zA-Z]+=".*?")*>(?:.*)</[aA]>'
)

VALUES: list[tuple[str, Any, dict[str, Any]]] = [
    ("uppercase :a", "x y", {"a": "X Y"}),
    ("titlecase :a", "ANN lee", {"a": "Ann Lee"}),
    ("trim :a", "\t x ", {"a": "x"}),
    ("find-and-replace :a s/^x y$/z/Ig", "X Y", {"a": "z"}),
    ("find-and-replace :a s/ //g", "x y z", {"a": "xyz"}),
    ("fill-null-or-empty :a 'none'", "", {"a": "none"}),
    ("fill-null-or-empty :a 0", None, {"a": "0"}),
    ("set-column :a a + 'x'", "1", {"a": "1x"}),
    ("set-column b 'x' + a", "1", {"a": "1", "b": "x1"}),
    ("set-column :b a / 2", 7, {"a": 7, "b": 3}),
    ("set-column :b a % 2", 1.5, {"a": 1.5, "b": 1.5}),
    ("set-column :b math:pow(a, 2)", 7, {"a": 7, "b": 49.0}),
    ("set-column :b math:round(a)", 1.5, {"a": 1.5, "b": 2}),
    ("set-column :b arithmetic:divideq(a, a)", 7, {"a": 7, "b": 1.0}),
    ("set-column :b arithmetic:average(a,a,a)", 7, {"a": 7, "b": 7.0}),
    ("set-column :b string:length(a)", "abc", {"a": "abc", "b": 3}),
    ("set-type :a decimal 2 HALF_UP", "1.235", {"a": Decimal("1.24")}),
    ("set-type :a decimal 2 'HALF_EVEN' prop:{precision=5}", "1.225", {"a": Decimal("1.22")}),
    ("set-type :a integer", "5", {"a": 5}),
    ("mask-number :a xxxx-####", "1234-5678", {"a": "xxxx-5678"}),
    ("mask-number :a ########xxxx", "(415) 555-12", {"a": "(415) 55xxxx"}),
    ("cut-character :a :b 2-3", "abcd", {"a": "abcd", "b": "bc"}),
    ("merge :a :a :b ,", "x", {"a": "x", "b": "x,x"}),
    (r"merge :a :a :b \u0020", "x", {"a": "x", "b": "x x"}),
    ("parse-as-fixed-length :a 1,2 ' '", "x y", {"a": "x y", "a_1": "x", "a_2": "y"}),
    (r"split-to-columns :a \t", "1\t2", {"a": "1\t2", "a_1": "1", "a_2": "2"}),
    ("decode base64 :a", "eA==", {"a": "eA==", "a_decode_base64": "x"}),
    ("set-charset :a 'utf-8'", "é".encode(), {"a": "é"}),
    ("parse-as-json :a 1", '{"b": {"c": 1}}', {"a_b": {"c": 1}}),
    ("parse-xml-to-json :a 1", "<b><c>1</c></b>", {"a_b": {"c": 1}}),
    (
        "parse-as-simple-date :a EEE MMM dd HH:mm:ss Z yyyy",
        "Sun Jun 09 12:34:56 +0200 2019",
        {"a": datetime.datetime(2019, 6, 9, 10, 34, 56, tzinfo=datetime.UTC)},
    ),
    (
        "format-date :a yyyy-MM-dd HH:mm",
        datetime.datetime(2020, 1, 2, 3, 4, tzinfo=datetime.UTC),
        {"a": "2020-01-02 03:04"},
    ),
    (
        "parse-as-datetime :a \"yyyy-MM-dd'T'HH:mm:ss\"",
        "2020-01-02T03:04:05",
        {"a": datetime.datetime(2020, 1, 2, 3, 4, 5)},
    ),
    (f"extract-regex-groups :a {EMAIL}", LINK, {"a": LINK, "a_1_1": "ann@b.org"}),
    (f"extract-regex-groups :a {HREF}", LINK, {"a": LINK, "a_1_1": "http://b.org/c/d.html"}),
    (
        r"extract-regex-groups :a ((?:\p{XDigit}{2}[:-]){5}(?:\p{XDigit}{2}))",
        LINK,
        {"a": LINK, "a_1_1": "00:11:22:aa:bb:cc"},
    ),
    (
        r"extract-regex-groups :a [^\d]?([0-9]{5}(?:-[0-9]{4})?)[^\d]?",
        LINK,
        {"a": LINK, "a_1_1": "01234-5678"},
    ),
]


@pytest.mark.parametrize(("directive", "value", "expected"), VALUES)
def test_a_value_becomes(directive: str, value: Any, expected: dict[str, Any]) -> None:
    assert run(directive, {"a": value}) == [expected]


FILTERS: list[tuple[str, list[Any], list[Any]]] = [
    (r'filter-rows-on condition-true a == null || a =~ "^\W*$"', [None, "", " - ", "x"], ["x"]),
    (r'filter-rows-on condition-false a == null || a =~ "^\W*$"', [None, "-", "x"], [None, "-"]),
    ("filter-rows-on regex-match a .*(?i)BC.*", ["abcd", "x"], ["x"]),
    ("filter-rows-on regex-not-match a ^(?i)AB$", ["ab", "abc"], ["ab"]),
    ('filter-rows-on condition-true a =^ "ab"', ["abc", "bab"], ["bab"]),
    (
        'filter-rows-on condition-false a.toLowerCase() =$ "C".toLowerCase()',
        ["abC", "b"],
        ["abC"],
    ),
    ("filter-rows-on condition-false a <=3", [1, 3, 4], [1, 3]),
    (r"split-to-rows :a \|", ["1|2", "3"], ["1", "2", "3"]),
    ("flatten a", [[1, 2], "x"], [1, 2, "x"]),
]


@pytest.mark.parametrize(("directive", "values", "left"), FILTERS)
def test_rows_are_left(directive: str, values: list[Any], left: list[Any]) -> None:
    assert [row["a"] for row in run(directive, *({"a": each} for each in values))] == left


@pytest.mark.parametrize(
    ("condition", "sent", "kept"),
    [
        ("empty(a)", "", "x"),
        ('a =~ "(?i).*ab.*"', "xAB", "x"),
        ('a =$ "c"', "abc", "b"),
        ("!dq:isEmail(a)", "ann@b@c.org", "ann@b.org"),
        ("!dq:isNumber(a) || !dq:isInteger(a) || (a == 0 || a > 125)", "0.75", "22"),
        ('!dq:isDate(a, "MM/dd/yyyy")', "2020", "01/02/2020"),
        ("dq:isIPv4(a)", "10.0.0.1", "x"),
        ("!dq:isCreditCard(a)", "4111111111111112", "4111111111111111"),
    ],
)
def test_rows_are_sent_to_error(condition: str, sent: str, kept: str) -> None:
    assert run(f"send-to-error {condition}", {"a": kept}) == [{"a": kept}]
    assert run_failing(f"send-to-error {condition}", {"a": sent}).code == 1


def test_a_list_of_passengers_is_cleaned() -> None:
    recipe = """parse-as-csv :body ',' true
        drop :body
        fill-null-or-empty :Cabin 'none'
        send-to-error empty(Age)
        parse-as-csv :Name ',' false
        drop Name
        rename Name_1 Last_Name
        rename Name_2 First_Name
        set-type :Id integer
        parse-as-csv :First_Name '.' false
        drop First_Name
        drop First_Name_3
        rename First_Name_1 Salutation
        rename First_Name_2 First_Name
        set-type :Age integer
        set-column Fare (toDouble(Fare) * 2)+1"""
    lines = [
        "Id,Name,Age,Fare,Cabin",
        '1,"Ng, Mr. Owen H",22,7.25,',
        '2,"Ray, Mrs. J. K",,8,C1',
        '3,"Lee, Miss. A",5,1,C2',
    ]
    found = run_rows("\n".join(map(str.strip, recipe.splitlines())), [{"body": x} for x in lines])
    assert [len(each) if isinstance(each, list) else each.message for each in found] == [
        *(0, 1, "empty(Age) (ecode: 1, directive: send-to-error)", 1)
    ]
    assert isinstance(found[1], list)
    assert dict(found[1][0]) == {
        "Id": 1,
        "Age": 22,
        "Fare": 15.5,
        "Cabin": "none",
        "Last_Name": "Ng",
        "Salutation": " Mr",
        "First_Name": " Owen H",
    }


def test_nested_documents_of_a_database_become_columns() -> None:
    recipe = r"""split-to-rows body \n
        parse-as-json :body 1
        parse-as-json :body__id 1
        parse-as-json :body_rank 1
        parse-as-json :body_price 1
        parse-as-json :body_published 2
        columns-replace s/^body_//g
        cleanse-column-names
        rename _id__oid id
        rename rank__numberint rank
        fill-null-or-empty :price__numberint '0'
        fill-null-or-empty :price__numberdouble '0'
        set-type :price__numberint float
        set-type :price__numberdouble float
        set-column :price price__numberint+price__numberdouble
        drop price__numberint
        drop price__numberdouble
        rename published__date__numberlong published
        set-type :published long
        set-type :rank long
        filter-rows-on condition-false rank <=3"""

    def book(number: int, price: dict[str, str]) -> str:
        published = {"$date": {"$numberLong": "1212883200000"}}
        rank = {"$numberInt": str(number)}
        id = {"$oid": f"5b{number}"}
        return json.dumps({"_id": id, "rank": rank, "price": price, "published": published})

    books = [book(1, {"$numberInt": "27"}), book(2, {"$numberDouble": "24.5"}), book(4, {})]
    text = "\n".join(map(str.strip, recipe.splitlines()))
    found = run(text, *({"body": each} for each in books[:2]))
    assert [(row["id"], row["rank"], row["price"]) for row in found] == [
        ("5b1", 1, 27.0),
        ("5b2", 2, 24.5),
    ]
    assert {row["published"] for row in found} == {1212883200000}
    assert run(text, {"body": books[2]}) == []


def test_a_comparison_of_javascript_is_explained() -> None:
    (problem,) = list_problems("send-to-error a === null")
    assert "Compare values with '==' or '!='." in problem
