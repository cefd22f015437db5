"""Texts are read and written as Apache Commons CSV does."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.java.commons_csv import (
    BLANKS,
    DEFAULT,
    EXCEL,
    MYSQL,
    RFC4180,
    TDF,
    WHITESPACE,
    CsvError,
    CsvFormat,
    _Lexer,
)

PIPE = CsvFormat("|", quote=None, escape="\\", ignore_surrounding_spaces=True)


@pytest.mark.parametrize(
    ("format_", "text", "rows"),
    [
        (DEFAULT, "", []),
        (DEFAULT, "a", [["a"]]),
        (DEFAULT, "a,b,", [["a", "b", ""]]),
        (DEFAULT, ",", [["", ""]]),
        (DEFAULT, " a , b ", [[" a ", " b "]]),
        (DEFAULT, "a,b\r\nc,d\n\n\ne,f\r", [["a", "b"], ["c", "d"], ["e", "f"]]),
        (DEFAULT, '"a,1","say ""hi""",c', [["a,1", 'say "hi"', "c"]]),
        (DEFAULT, '"two\nlines",b', [["two\nlines", "b"]]),
        (DEFAULT, '"a" ,b', [["a", "b"]]),
        (DEFAULT, 'a"b,c', [['a"b', "c"]]),
        (DEFAULT, ' "a",b', [[' "a"', "b"]]),
        (DEFAULT, '"",', [["", ""]]),
        (DEFAULT, "a\\,b", [["a\\", "b"]]),
        (DEFAULT._replace(delimiter="\t"), '"a"\t"b" \tc', [["a", "b", "c"]]),
        (RFC4180, "a\n\nb\n", [["a"], [""], ["b"]]),
        (EXCEL, "\n", [[""]]),
        (EXCEL, '"x" \n\n', [["x"], [""]]),
        (TDF, " a \t b\t", [["a", "b", ""]]),
        (TDF, '"a\tb"\t" c "', [["a\tb", " c "]]),
        (TDF, "a b\tc\n\nd\te", [["a b", "c"], ["d", "e"]]),
        (MYSQL, "a\\tb\tc\\\td\t\\N", [["a\tb", "c\td", None]]),
        (MYSQL, "\\N\tx\\\\y\t\\q", [[None, "x\\y", "\\q"]]),
        (MYSQL, '"a"\tb\n\nc', [['"a"', "b"], [""], ["c"]]),
        (PIPE, "a | b|c\\|d", [["a", "b", "c|d"]]),
        (PIPE, "a,b|\\N|", [["a,b", "\\N", ""]]),
        (PIPE, "x\ny", [["x"], ["y"]]),
        (PIPE._replace(delimiter=";"), "1;2", [["1", "2"]]),
    ],
)
def test_rows(format_, text, rows):
    assert format_.parse(text) == rows


@pytest.mark.parametrize(
    ("format_", "text", "message"),
    [
        (DEFAULT, 'a\n"b,c', "(line 2) a quoted value is not closed"),
        (DEFAULT, '"a"b,c', "(line 1) 'b' follows a closing quote"),
        (DEFAULT, 'x\r"1\r\n2"b', "(line 3) 'b' follows a closing quote"),
        (DEFAULT, '"""', "(line 1) a quoted value is not closed"),
        (MYSQL, "a\\", "the text ends after the escape character"),
    ],
)
def test_malformed_text_says_line_and_problem(format_, text, message):
    with pytest.raises(CsvError) as error:
        format_.parse(text)
    assert message in str(error.value)


@pytest.mark.parametrize("blank", BLANKS)
def test_every_blank_of_java_may_follow_a_quoted_value(blank):
    assert DEFAULT.parse(f'"a"{blank},b') == [["a", "b"]]
    assert TDF._replace(delimiter=",").parse(f"{blank}a{blank},b") == [["a", "b"]]


@pytest.mark.parametrize("char", ["\xa0", "\u2007", "\u202f", "\x85", "\u180e", "\ufeff"])
def test_other_spaces_are_no_blanks(char):
    assert char not in WHITESPACE
    with pytest.raises(CsvError):
        DEFAULT.parse(f'"a"{char},b')


@pytest.mark.parametrize(
    ("format_", "values", "line"),
    [
        (DEFAULT, [], ""),
        (DEFAULT, [""], '""'),
        (DEFAULT, ["", ""], '"",'),
        (DEFAULT, [None, None], ","),
        (DEFAULT, ["-5", "-5", "#", "a "], '"-5",-5,"#","a "'),
        (DEFAULT, ["é", "é"], '"é",é'),
        (DEFAULT, ["a\nb", 'say "x"', "a,b"], '"a\nb","say ""x""","a,b"'),
        (TDF, ["a,b", "c\td"], 'a,b\t"c\td"'),
        (MYSQL, ["a\tb", None, "c\\d\ne\r", ""], "a\\\tb\t\\N\tc\\\\d\\ne\\r\t"),
    ],
)
def test_a_row_is_written(format_, values, line):
    assert format_.format_row(values) == line


texts = st.text(alphabet='ab ,"\n\r', max_size=30)


@pytest.mark.slow
@given(texts, st.sampled_from([DEFAULT, RFC4180]))
def test_every_shortcut_reads_what_the_full_rules_read(text, format_):
    def outcome(read):
        try:
            return read()
        except CsvError as error:
            return str(error)

    assert outcome(lambda: format_.parse(text)) == outcome(
        lambda: _Lexer(format_, text).read_rows()
    )


@given(st.text(alphabet='a," \n\r\t'), st.sampled_from(", \t"))
def test_any_text_is_read_or_rejected(text, delimiter):
    try:
        rows = DEFAULT._replace(delimiter=delimiter).parse(text)
    except CsvError:
        return
    assert all(rows)


@given(st.lists(st.lists(st.text(alphabet='a,"\n é', min_size=1), min_size=1), min_size=1))
def test_what_csv_writers_write_is_read_back(rows):
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(rows)

    assert RFC4180.parse(stream.getvalue()) == rows


@given(st.lists(st.text(), min_size=1), st.sampled_from([DEFAULT, RFC4180, MYSQL]))
def test_what_is_written_is_read_again(values, format_):
    line = format_.format_row(values)

    assert format_.parse_texts(line) == ([values] if line else [])
