"""Whatever the text is: a recipe or problems, in linear time; what was read can be written and read again."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.plugin_lib.wrangler.language import format_recipe
from localcdap.plugin_lib.wrangler.language.parser import _split_recipe
from tests.plugin_lib.wrangler.language.support import CLASSES, DECLARED, describe_call, read

PARTS = [
    *CLASSES,
    "set column",
    "filter-rows-on",
    "condition-true",
    "exp:{",
    "prop:{",
    "}",
    "{",
    "(",
    ")",
    ":a",
    ":b",
    "'",
    '"',
    "'x'",
    '"y z"',
    ",",
    ";",
    "\n",
    " ",
    "\\",
    "${m}",
    "${",
    "#pragma load-directives",
    "#pragma version",
    "if (",
    "else",
    "1",
    "-2.5",
    "1:2=3",
    "true",
    "null",
    "//",
    "--",
    "/*",
    "*/",
    "s/a/b/g",
    "=",
    "é",
    "\x00",
    "\ud800",
]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=25).map(" ".join) | st.lists(
    st.sampled_from(PARTS), max_size=25
).map("".join)


@settings(max_examples=400, deadline=None)
@given(TEXTS | st.text(max_size=80))
def test_any_text_is_read_without_an_exception(text):
    recipe = read(text)

    lines = text.count("\n") + 1
    for problem in recipe.problems:
        assert 1 <= problem.line <= lines
        assert problem.column >= 1
        assert problem.message


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_what_was_read_is_read_again_from_what_is_written(text):
    recipe = read(text)
    again = read(format_recipe(recipe, DECLARED))

    assert again.errors == []
    assert [describe_call(call) for call in again.calls] == [
        describe_call(call) for call in recipe.calls
    ]
    assert [load.name for load in again.loads] == [load.name for load in recipe.loads]


@pytest.mark.parametrize(
    "piece",
    [
        "exp:{",
        pytest.param("a exp:{\n", marks=pytest.mark.slow),  # 13 s
        "'",
        "\\",
        "${",
        "${a",
        ":a,",
        "rename 'b;",
        "1:2=3,",
        "9",
        " ,",
        "prop:{a=1,",
        "if (",
        "/*",
        "--",
        "a;",
        "{}",
        "drop a  ",
        "set-column :a exp:{'\\",
        "x" * 50 + "\n",
    ],
)
def test_work_grows_with_the_length_only(piece):
    def count_calls(count: int) -> int:
        """Return how many functions are called, also those in C such as searches of patterns."""
        _split_recipe.cache_clear()
        calls = 0

        def note(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            read("drop " + piece * count)
        finally:
            sys.setprofile(before)
        return calls

    # An open brace is looked for in a bounded number of lines, so short texts say little of long ones.
    short, long = count_calls(400), count_calls(3200)

    # 8 times the text; were the work squared, it would be 64 times as much.
    assert long < 16 * short
