"""Texts split to columns and rows, addresses taken apart, groups of regular expressions."""

from __future__ import annotations

import pytest

from tests.plugin_lib.wrangler.directives.recipes import list_problems, run, run_failing

NAMED = [
    ("split-to-columns :a '\\n'", "AABB\nEEFF", {"a_1": "AABB", "a_2": "EEFF"}),
    ("split-to-columns :a ','", "x,,y,,", {"a_1": "x", "a_2": "", "a_3": "y"}),
    ("split-to-columns :a ','", "", {"a_1": ""}),
    ("split-to-columns :a ','", "x", {"a_1": "x"}),
    ("split :a ',' :b :c", "x,y,z", {"b": "x", "c": "y,z"}),
    ("split :a ',' :b :c", ",y", {"b": "y", "c": None}),
    ("split :a ',' :b :c", None, {"b": None, "c": None}),
    ("indexsplit :a 2 4 :b", "abcdef", {"b": "bc"}),
    ("indexsplit :a 1 90 :b", "abcdef", {"b": "abcde"}),
    ("indexsplit :a 3 4 :b", "😀bc", {"b": "b"}),
    ("indexsplit :a 1 2 :b", "😀bc", {"b": "?"}),
    ("extract-regex-groups :a '[^(]+\\(([0-9]{4})\\).*'", "Toy Story (1995)", {"a_1_1": "1995"}),
    ("extract-regex-groups :a '[^(]+\\(([0-9]{4})\\).*'", "Toy Story", {}),
    (
        "extract-regex-groups :a '(\\w)(\\d)?'",
        "a1b",
        {"a_1_1": "a", "a_1_2": "1", "a_2_1": "b", "a_2_2": None},
    ),
    ("extract-regex-groups :a '(a)'", None, {}),
    ("extract-regex-groups :a '(a)'", 5, {}),
    (
        'extract-regex-groups :a <([a-zA-Z]+)(?:\\s+[a-zA-Z]+=".*?")*(?:(?:>(.*)</\\1>)|(?:\\s*/?>))',
        '<tag color="orange">content</tag>',
        {"a_1_1": "tag", "a_1_2": "content"},
    ),
    ("split-email :a", "root@joltie.io", {"a_account": "root", "a_domain": "joltie.io"}),
    (
        "split-email :a",
        "Joltie, Root <joltie.root@yahoo.com>",
        {"a_account": "joltie.root", "a_domain": "yahoo.com"},
    ),
    ("split-email :a", "Root <root@a.b", {"a_account": None, "a_domain": None}),
    ("split-email :a", "root@a@b", {"a_account": "root@a", "a_domain": "b"}),
    ("split-email :a", "@b", {"a_account": "", "a_domain": "b"}),
    ("split-email :a", "nothing", {"a_account": None, "a_domain": None}),
    ("split-email :a", None, {"a_account": None, "a_domain": None}),
]


@pytest.mark.parametrize(("recipe", "value", "expected"), NAMED)
def test_a_text_gives_columns(recipe, value, expected):
    assert run(recipe, {"a": value}) == [{"a": value, **expected}]


URLS = [
    (
        "http://example.com:80/docs/books/tutorial/index.html?name=networking#DOWNLOADING",
        ("http", "example.com:80", "example.com", 80, "/docs/books/tutorial/index.html"),
        ("/docs/books/tutorial/index.html?name=networking", "name=networking"),
    ),
    ("https://u:p@host/x?", ("https", "u:p@host", "host", -1, "/x"), ("/x?", "")),
    ("file:///etc/passwd", ("file", "", "", -1, "/etc/passwd"), ("/etc/passwd", None)),
    ("mailto:a@b.c", ("mailto", None, "", -1, "a@b.c"), ("a@b.c", None)),
    ("http://[::1]:8080", ("http", "[::1]:8080", "[::1]", 8080, ""), ("", None)),
    ("HTTP://h?q=1", ("http", "h", "h", -1, ""), ("?q=1", "q=1")),
]


@pytest.mark.parametrize(("url", "server", "rest"), URLS)
def test_a_url_is_taken_apart_as_java_does(url, server, rest):
    (row,) = run("split-url :u", {"u": url})

    parts = ("protocol", "authority", "host", "port", "path", "filename", "query")
    assert tuple(row[f"u_{part}"] for part in parts) == (*server, *rest)


def test_a_null_url_has_null_parts():
    (row,) = run("split-url :u", {"u": None})

    assert len(row) == 8
    assert set(row.values()) == {None}


ROWS = [
    ("split-to-rows :a '\\n'", {"a": "x\ny", "b": 1}, [{"a": "x", "b": 1}, {"a": "y", "b": 1}]),
    ("split-to-rows :a '\\|'", {"b": 1, "a": "U|A||"}, [{"b": 1, "a": "U"}, {"b": 1, "a": "A"}]),
    ("split-to-rows :a X", {"a": "x\ny"}, [{"a": "x\ny"}]),
    ("split-to-rows :a ''", {"a": "xy"}, [{"a": "x"}, {"a": "y"}]),
    ("split-to-rows :a ','", {"b": 1}, []),
    ("split-to-columns :a ','", {"b": 1}, []),
    ("set-record-delim :a '\\n'", {"a": "x\ny\nz", "b": 1}, [{"a": "x"}, {"a": "y"}, {"a": "z"}]),
    ("set-record-delim :a '\\n' 1", {"a": "x\ny\nz"}, [{"a": "x"}, {"a": "y"}]),
    ("set-record-delim :a '\\n'", {"a": None}, []),
    ("set-record-delim :a '\\n'", {"b": 1}, []),
]


@pytest.mark.parametrize(("recipe", "row", "expected"), ROWS)
def test_a_text_gives_rows(recipe, row, expected):
    assert run(recipe, row) == expected


FAILING = [
    ("split-to-rows :a ','", {"a": None}, "is null"),
    ("split-to-rows :a ','", {"a": 1}, "is a int"),
    ("split-to-columns :a ','", {"a": None}, "is null"),
    ("split :a ',' :b :c", {"x": 1}, "does not exist"),
    ("split :a ',' :b :c", {"a": "x"}, "does not hold"),
    ("indexsplit :a 3 4 :b", {"a": "x"}, "too few"),
    ("split-email :a", {"b": 1}, "does not exist"),
    ("split-email :a", {"a": 1}, "is a int"),
    ("split-url :a", {"a": "nonsense"}, "no protocol"),
    ("split-url :a", {"a": "foo://x"}, "unknown protocol"),
    ("split-url :a", {"a": "http://h:ab/"}, "not a host with a port"),
    ("split-url :a", {"b": 1}, "does not exist"),
]


@pytest.mark.parametrize(("recipe", "row", "message"), FAILING)
def test_a_row_fails(recipe, row, message):
    assert message in run_failing(recipe, row).message


@pytest.mark.parametrize(
    "directive", ["split-to-rows :a '('", "split-to-columns :a '['", "extract-regex-groups :a '*'"]
)
def test_a_wrong_regular_expression_is_reported_with_the_recipe(directive):
    assert "is not a regular expression" in list_problems(directive)[0]


@pytest.mark.slow
def test_an_exploding_regular_expression_fails_its_row_in_time():
    reported = run_failing("extract-regex-groups :a '((a|aa)+)$'", {"a": "a" * 60 + "!"})

    assert "extract-regex-groups" in reported.message
