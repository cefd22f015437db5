"""Tests of localcdap.java.json_path."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from localcdap.java.json_path import JsonPathError, NothingFoundError, parse_path, select

STORE = {
    "store": {
        "book": [
            {"title": "A", "price": 8.95, "tags": ["x"]},
            {"title": "B", "price": 12.99, "isbn": "1"},
            {"title": "C d", "price": 22.99, "isbn": "2"},
        ],
        "a b": {"c": None},
    },
    "limit": 10,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.limit", 10),
        ("limit", 10),
        ("$['store']['a b']", {"c": None}),
        ("$.store.book[0].title", "A"),
        ("$.store.book[-1].title", "C d"),
        ("$.store.book[*].title", ["A", "B", "C d"]),
        ("$..title", ["A", "B", "C d"]),
        ("$.store.book[0,2].price", [8.95, 22.99]),
        ("$.store.book[1:].title", ["B", "C d"]),
        ("$.store.book[:-1].title", ["A", "B"]),
        ("$.store.book.length()", 3),
        ("$.store.book[?(@.isbn)].title", ["B", "C d"]),
        ("$.store.book[?(@.price < 10)].title", ["A"]),
        ("$.store.book[?(@.price > 10 && @.title == 'B' || @.price < 9)].title", ["A", "B"]),
        ("$.store.book[?(!(@.isbn))].title", ["A"]),
        ("$.store.book[?(@.title =~ /c.*/i)].price", [22.99]),
        ("$.store.book[0]['title','price']", {"title": "A", "price": 8.95}),
        ("$.store.book[0]['tags','nope'][0]", ["x"]),
        ("$.store.*.c", [None]),
        ("$.store['a b'][?(@.c)]", [{"c": None}]),
        ("$..[?(@.price < $.limit)].title", ["A"]),
        ("$..[?(@.isbn)].isbn", ["1", "2"]),
        ("$.store.book[?(@.price <= $['limit'])].title", ["A"]),
        ("$.store.book[?(@.title in ['A', 'C d'] && @.price nin [8.95])].price", [22.99]),
        ("$.store.book[?(@.tags contains 'x' || @['isbn'] == 2)].title", ["A", "C d"]),
        ("$.store.book[?(@.tags size 1)].title", ["A"]),
        ("$.store.book[?(@.title size 3 && @.title empty false)].title", ["C d"]),
        ("$.store.book[?(@.tags subsetof ['x', 'y'])].title", ["A"]),
        ("$.store.book[?(@.tags anyof ['x', 'y'])].title", ["A"]),
        ("$.store.book[?(@.tags noneof ['y'])].title", ["A"]),
        ("$.store.book[?(@.tags all ['x'])].title", ["A"]),
        ("$.store.book[?(@.isbn == null)].title", []),
        ("$.store.book[?(@.isbn != '1')].title", ["A", "C d"]),
        ("$.store.book[?(@.isbn === 1 || !(@.isbn !== '2'))].title", ["C d"]),
        ("$.store.book[?(@.title > 'B')].title", ["C d"]),
        ("$.store.book[?(@.title =~ /a|b/ || @.tags =~ /X/i)].title", ["A"]),
        ("$.store.book[?(@.tags.length() > 0)].title", ["A"]),
        ("$..book.length()", 3),
        ("$..limit.sum()", 10.0),
        ("$.store.book[*].tags.length()", [1]),
        ("$.store.book[0]['tags'].last()", "x"),
        ("$.store.keys()", ["book", "a b"]),
    ],
)
def test_json_paths(path: str, found: Any) -> None:
    assert select(STORE, path) == found


@pytest.mark.parametrize(
    ("function", "found"),
    [("min", 1.0), ("max", 4.0), ("avg", 2.5), ("sum", 10.0), ("stddev", 1.118033988749895)],
)
def test_functions_of_numbers_in_json_paths(function: str, found: float) -> None:
    assert select({"n": [1, 2, "7", 3, 4, None, True]}, f"$.n.{function}()") == found
    with pytest.raises(NothingFoundError, match="no numbers"):
        select({"n": ["7"]}, f"$.n.{function}()")


@pytest.mark.parametrize("path", ["$.nope", "$.limit.deeper", "$.store.book[9]", "$['a','b'].c"])
def test_a_path_to_one_thing_that_is_not_there(path: str) -> None:
    if "," in path:
        assert select(STORE, path) == []
    else:
        with pytest.raises(NothingFoundError, match=r"nothing is at"):
            select(STORE, path)


@pytest.mark.parametrize(
    "path",
    [
        *["$.a[", "$.a[b c]", "$.a.nope()", "$.[?(", "$.a[?(@.x ==)]", "$.a[?(@.x in)]"],
        *["$.a[?(@.x =~ /[/)]", "$.a[?(@.x in ['a)]", "$.a[?(1)]", "$.a[?(@.x) 2]", "$.a[?@.x]"],
        *[f"$[?({50 * '('}@.x{50 * ')'})]", f"$[?({60 * '!'}@.x)]", 400 * "$[?(@" + 400 * ")]"],
        *["$.a[?((@.x)]", "$.a.length().b", "$.a['b'c]", "", " "],
    ],
)
def test_json_paths_that_are_none(path: str) -> None:
    with pytest.raises(JsonPathError):
        select(STORE, path)


@pytest.mark.parametrize(
    ("path", "is_definite"), [("$.a[0]['b']", True), ("$..a", False), ("a[*].b", False)]
)
def test_a_parsed_path_can_be_pickled_and_says_whether_it_is_definite(
    path: str, is_definite: bool
) -> None:
    document = {"a": [{"b": 1}]}
    copy = pickle.loads(pickle.dumps(parse_path(path)))

    assert copy.is_definite is is_definite
    assert copy.read(document) == parse_path(path).read(document)
