"""Patterns of Java mean here what they mean there."""

from __future__ import annotations

import pytest

from localcdap.java import regex
from localcdap.java.regex import RegexError, compile_regex, has_nested_repeats


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a.c", "abc", True),
        ("a.c", "a\nc", False),
        ("a.c", "a\u2028c", False),
        ("(?s)a.c", "a\nc", True),
        (r"\d+", "٣", False),
        (r"\w+", "é", False),
        (r"\s", "\xa0", False),
        (r"\h", "\xa0", True),
        (r"[\d-]+", "12-3", True),
        (r"[a-z&&[^aeiou]]+", "xyz", True),
        (r"[a-z&&[^aeiou]]+", "xya", False),
        (r"[a[bc]]+", "abc", True),
        (r"[||~]", "|", True),
        (r"\p{Upper}\p{Lower}", "Aa", True),
        (r"\p{Lower}", "é", False),
        (r"\p{L}+", "éß", True),
        (r"\p{Punct}+", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", True),
        (r"\P{Digit}", "x", True),
        (r"\p{IsLatin}", "é", True),
        (r"\Qa.b*\E+", "a.b**", True),
        (r"\x41B\x{43}\0104", "ABCD", True),
        (r"\cA", "\x01", True),
        ("(?i)abc", "ABC", True),
        ("(?i)é", "É", False),
        ("(?iu)é", "É", True),
        ("a++a", "aaa", False),
        ("(?>a+)a", "aaa", False),
        ("(?<x>a)\\k<x>", "aa", True),
        (r"(a)\1", "aa", True),
        (r"\R", "\r\n", True),
        (r"^a$", "a", True),
        (r"a\Z", "a", True),
        ("x{2,3}", "xx", True),
        (r"\bfoo\b", "foo", True),
        ("[^]a]", "b", True),
    ],
)
def test_matches(pattern: str, text: str, matches: bool) -> None:
    assert compile_regex(pattern).matches(text) is matches


def test_ends_of_lines_and_words_are_found_as_in_java() -> None:
    assert compile_regex("a$").search("a\n") is not None
    assert compile_regex("a$").search("a\u2028") is not None
    assert compile_regex(r"a\z").search("a\n") is None
    assert compile_regex("(?m)^b$").search("a\nb\nc") is not None
    assert compile_regex(r"\bé").search("xé") is None


@pytest.mark.parametrize(
    "pattern", ["[a", "(a", "a{", "*a", r"\y", r"\p{Nope}", r"\x{110000}", "a{,3}", "\\"]
)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(RegexError):
        compile_regex(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "limit", "parts"),
    [
        (",", "a,b,,", 0, ["a", "b"]),
        (",", "a,b,,", -1, ["a", "b", "", ""]),
        (",", "a,b,c", 2, ["a", "b,c"]),
        (",", ",a", 0, ["", "a"]),
        ("", "abc", 0, ["a", "b", "c"]),
        (",", "", 0, [""]),
        (",", ",,", 0, []),
        (r"\s*;\s*", "a ; b;c", 0, ["a", "b", "c"]),
    ],
)
def test_split(pattern: str, text: str, limit: int, parts: list[str]) -> None:
    assert compile_regex(pattern).split(text, limit) == parts


def test_replacements_name_groups() -> None:
    assert compile_regex("(a)(?<n>b)").replace("abab", r"${n}$1\$") == "ba$ba$"
    assert compile_regex("a*").replace("baac", "-") == "-b--c-"
    assert compile_regex("a").replace("aaa", "b", 1) == "baa"
    with pytest.raises(RegexError):
        compile_regex("a").replace("a", "$")


def test_a_match_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "TIME_LIMIT", 0.05)
    with pytest.raises(TimeoutError):
        compile_regex("(a|a)+(a|a)+(a|a)+c").matches("a" * 60)


def test_repeats_in_repeats_are_seen() -> None:
    assert has_nested_repeats("(a+)+")
    assert has_nested_repeats("(a|aa)*")
    assert not has_nested_repeats("[a-z]+@[a-z]+")
