"""Lines split as CDAP's sources of delimited text split them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.files.delimited import OPEN_QUOTE, join_quoted_lines, split_values

ORIGINAL_CASES = [
    # SplitQuotesIteratorTest, in its order.
    ("a", ",,", ["a"]),
    ("a", "aa", ["a"]),
    ("aaa", "a", ["", "", "", ""]),
    ("aaa", "aa", ["", "a"]),
    ("aaaaaaa", "aa", ["", "", "", "a"]),
    ("aaaaaaaa", "aa", ["", "", "", "", ""]),
    ("a,b,c,d,e", ",", ["a", "b", "c", "d", "e"]),
    ("a1,b1,c1,d1,e1", ",", ["a1", "b1", "c1", "d1", "e1"]),
    ("1###sam###a@b.com###male", "###", ["1", "sam", "a@b.com", "male"]),
    (
        "a1,,,b1,,,c1,,,d1,,,e1",
        ",",
        ["a1", "", "", "b1", "", "", "c1", "", "", "d1", "", "", "e1"],
    ),
    ('a,"b,c"', ",", ["a", "b,c"]),
    ('a,"aaaaa"aaaab"aaaac",c', ",", ["a", "aaaaaaaaabaaaac", "c"]),
    ('a,"b,c","d,e,f"', ",", ["a", "b,c", "d,e,f"]),
    ('a###"b###c"###"d###e###f"', "###", ["a", "b###c", "d###e###f"]),
]
BAD_QUOTES = 'Value1,value2.1 value2.2"value2.2.1,value2.3",val"ue3,value4'
ALPHABET = st.text('a",# ', max_size=12)


@pytest.mark.parametrize(("line", "delimiter", "values"), ORIGINAL_CASES)
def test_cases_of_the_original(line: str, delimiter: str, values: list[str]) -> None:
    assert split_values(line, delimiter, quoted=True) == values
    assert list(join_quoted_lines([line])) == [line]


def test_open_quotes() -> None:
    for read in (lambda: split_values(BAD_QUOTES, ",", quoted=True), lambda: join([BAD_QUOTES])):
        with pytest.raises(ValueError, match="unenclosed quote"):
            read()
    with pytest.raises(ValueError, match="unenclosed quote"):
        join(['a,"b', "", 'c"'])
    assert list(join_quoted_lines(['a,"b', "", 'c"'], doubled=True)) == ['a,"b\n\nc"']


def test_lines_within_quotes() -> None:
    """The case of SplitQuotesIteratorWithMultilineTest."""
    lines = ['Value1,"value2.1.1,value2.1.2","data in first line ', 'data in next line"', "x"]

    first, second = join(lines)

    assert split_values(first, ",", quoted=True) == [
        "Value1",
        "value2.1.1,value2.1.2",
        "data in first line \ndata in next line",
    ]
    assert second == "x"


def test_quotes_are_characters_or_doubled() -> None:
    assert split_values('a,"b,c"', ",", quoted=False) == ["a", '"b', 'c"']
    line = '"say ""hi""", "in blanks" ,a"b"c,"",""""'
    doubled = ['say "hi"', "in blanks", "abc", "", '"']
    assert split_values(line, ",", quoted=True, doubled=True) == doubled
    assert split_values(line, ",", quoted=True) == ["say hi", " in blanks ", "abc", "", ""]


def join(lines: list[str]) -> list[str]:
    return list(join_quoted_lines(lines))


def transcribe(lines: list[str], delimiter: str) -> list[list[str]]:
    """The values of lines, as ``SplitQuotesIterator.computeNext`` finds them, character by character."""
    remaining = iter(lines)
    records = []
    for line in remaining:
        text, index, is_quoted, values, value = line, 0, False, [], ""
        while index < len(text):
            if text[index] == '"':
                is_quoted = not is_quoted
                index += 1
            elif text.startswith(delimiter, index) and not is_quoted:
                values.append(value)
                value = ""
                index += len(delimiter)
            else:
                value += text[index]
                index += 1
            if index == len(text) and is_quoted:
                text, index = next(remaining, ""), 0
                value += "\n"
        if is_quoted:
            raise ValueError(OPEN_QUOTE)
        records.append([*values, value])
    return records


@given(st.lists(ALPHABET, max_size=5), st.sampled_from([",", "#", "##", ", "]))
def test_any_lines_are_split_as_by_the_original(lines: list[str], delimiter: str) -> None:
    try:
        expected = transcribe(lines, delimiter)
    except ValueError:
        with pytest.raises(ValueError, match="unenclosed quote"):
            join(lines)
        return
    assert [split_values(line, delimiter, quoted=True) for line in join(lines)] == expected


@given(ALPHABET, st.sampled_from([",", "#", "##"]))
def test_lines_without_quotes_are_split_at_each_delimiter(line: str, delimiter: str) -> None:
    text = line.replace('"', "")
    assert split_values(text, delimiter, quoted=True) == text.split(delimiter)
    assert list(itertools.chain(join([text]))) == [text]
