"""Names and texts in SQL: what is quoted means itself."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.sql_names import quote_column, quote_identifier, quote_literal

TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)


@pytest.mark.parametrize(
    ("quoted", "expected"),
    [
        (quote_identifier("a"), '"a"'),
        (quote_identifier("a.b", 'c"d'), '"a.b"."c""d"'),
        (quote_identifier("a`b", "c", mark="`"), "`a``b`.`c`"),
        (quote_identifier(), ""),
        (quote_column("a.b`c"), "`a.b``c`"),
        (quote_literal("it's \\n"), "'it''s \\n'"),
        (quote_literal(""), "''"),
    ],
)
def test_quoted_texts(quoted, expected):
    assert quoted == expected


@given(TEXTS.filter(bool), TEXTS)
def test_duckdb_reads_what_was_quoted(name, text):
    with duckdb.connect() as database:
        query = f"SELECT {quote_literal(text)} AS {quote_identifier(name)}"
        found = database.execute(query)
        assert [column[0] for column in found.description] == [name]
        assert found.fetchall() == [(text,)]
