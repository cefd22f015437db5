"""CSV dialects read text as Apache Commons CSV does."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transform_plugins.csv import dialect
from transform_plugins.csv.dialect import CsvError, _Lexer

DEFAULT, MYSQL, TAB = dialect.DEFAULT, dialect.MYSQL, dialect.TAB_DELIMITED
PIPE = dialect.unquoted("|")


@pytest.mark.parametrize(
    ("dialect", "text", "rows"),
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
        (dialect.RFC4180, "a\n\nb\n", [["a"], [""], ["b"]]),
        (dialect.EXCEL, "\n", [[""]]),
        (dialect.EXCEL, '"x" \n\n', [["x"], [""]]),
        (TAB, " a \t b\t", [["a", "b", ""]]),
        (TAB, '"a\tb"\t" c "', [["a\tb", " c "]]),
        (TAB, "a b\tc\n\nd\te", [["a b", "c"], ["d", "e"]]),
        (MYSQL, "a\\tb\tc\\\td\t\\N", [["a\tb", "c\td", None]]),
        (MYSQL, "\\N\tx\\\\y\t\\q", [[None, "x\\y", "\\q"]]),
        (MYSQL, '"a"\tb\n\nc', [['"a"', "b"], [""], ["c"]]),
        (PIPE, "a | b|c\\|d", [["a", "b", "c|d"]]),
        (PIPE, "a,b|\\N|", [["a,b", "\\N", ""]]),
        (PIPE, "x\ny", [["x"], ["y"]]),
        (dialect.unquoted(";"), "1;2", [["1", "2"]]),
    ],
)
def test_rows(dialect, text, rows):
    assert dialect.rows(text) == rows


@pytest.mark.parametrize(
    ("dialect", "text", "message"),
    [
        (DEFAULT, 'a\n"b,c', "(line 2) a quoted value is not closed"),
        (DEFAULT, '"a"b,c', "(line 1) 'b' follows a closing quote"),
        (MYSQL, "a\\", "the text ends after the escape character"),
    ],
)
def test_malformed_text_says_line_and_problem(dialect, text, message):
    with pytest.raises(CsvError) as error:
        dialect.rows(text)
    assert message in str(error.value)


texts = st.text(alphabet='ab ,"\n\r', max_size=30)


@given(texts, st.sampled_from([dialect.DEFAULT, dialect.RFC4180]))
def test_every_shortcut_reads_what_the_full_rules_read(text, dialect):
    def outcome(read):
        try:
            return read()
        except CsvError as error:
            return str(error)

    assert outcome(lambda: dialect.rows(text)) == outcome(lambda: _Lexer(dialect, text).rows())


@given(st.lists(st.lists(st.text(alphabet='a,"\n é', min_size=1), min_size=1), min_size=1))
def test_what_csv_writers_write_is_read_back(rows):
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(rows)

    assert dialect.RFC4180.rows(stream.getvalue()) == rows
