"""Completion in SQL queries: names of tables and columns, keywords and functions.

It also finds the statement at the cursor, and the word that is being typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from localcdap.api.sql_names import quote_identifier
from localcdap.datasets.sql import SqlTable

_MOST: Final = 8
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")
_WORDS: Final = """
    SELECT FROM WHERE GROUP BY ORDER BY HAVING LIMIT OFFSET JOIN LEFT JOIN FULL JOIN CROSS JOIN ASOF JOIN
    USING ON AS AND OR NOT IN IS NULL LIKE ILIKE BETWEEN CASE WHEN THEN ELSE END DISTINCT UNION ALL EXCEPT
    INTERSECT WITH VALUES DESCRIBE SUMMARIZE EXPLAIN SHOW TABLES QUALIFY WINDOW OVER PARTITION BY EXCLUDE
    REPLACE PIVOT UNPIVOT UNNEST CAST TRY_CAST DESC ASC NULLS LAST FILTER SAMPLE
"""
_FUNCTIONS: Final = """
    count sum avg min max median mode stddev quantile_cont approx_count_distinct arg_max arg_min first last
    list string_agg histogram coalesce nullif ifnull greatest least abs round floor ceil lower upper trim
    length substring replace regexp_matches regexp_extract split_part concat strftime strptime date_trunc
    date_diff date_part year month day now today row_number rank lag lead
"""
_RESERVED: Final = {*_WORDS.lower().split(), "default", "table", "column", "user"}


@dataclass(frozen=True)
class SqlCompletion:
    """A completion of a word.

    :param detail: shown next to it, such as the type of a column.
    """

    text: str
    detail: str


def find_completions(
    text: str, rest: str, tables: Sequence[SqlTable], namespace: str
) -> tuple[str, list[SqlCompletion]]:
    """Return the beginning of the word before the cursor, and its completions.

    An empty word has completions only after the dot of a table or schema.

    :param text: the query up to the cursor.
    :param rest: the query after the cursor; tables that it names count too.
    :param tables: the tables of all schemas.
    :param namespace: the namespace whose tables need no schema before them.
    """
    typed = parse_typed_word(text)
    if typed is None or (typed[0] is None and not typed[1]):
        return "", []
    owner, word = typed
    whole = text + rest
    begun = word.lstrip('"').lower()
    candidates = (
        _list_members(owner, whole, tables) if owner else _list_all(whole, tables, namespace)
    )
    found: dict[str, SqlCompletion] = {}
    for each in candidates:
        if each.text.strip('"').lower().startswith(begun) and each.text.lower() != word.lower():
            found.setdefault(each.text.lower(), each)
    return word, list(found.values())[:_MOST]


def quote_where_needed(name: str) -> str:
    """Return a name as it is written in a query: in quotes where it needs them."""
    if _PLAIN.fullmatch(name) and name not in _RESERVED:
        return name
    return quote_identifier(name)


def _list_all(text: str, tables: Sequence[SqlTable], namespace: str) -> Iterator[SqlCompletion]:
    mentioned = [table for table in tables if _is_mentioned(table, text)]
    for table in mentioned:
        for column in table.columns:
            yield SqlCompletion(quote_where_needed(column.name), f"{column.type} of {table.name}")
    for table in tables:
        if table.schema == namespace:
            yield SqlCompletion(quote_where_needed(table.name), "table")
    for table in tables:
        if table.schema != namespace:
            name = f"{quote_where_needed(table.schema)}.{quote_where_needed(table.name)}"
            yield SqlCompletion(name, "table")
            yield SqlCompletion(quote_where_needed(table.schema), "schema")
    yield from (SqlCompletion(word, "") for word in _WORDS.split())
    yield from (SqlCompletion(name, "function") for name in _FUNCTIONS.split())


def _list_members(owner: str, text: str, tables: Sequence[SqlTable]) -> Iterator[SqlCompletion]:
    """Yield what can follow ``owner.``: columns of a table or of an alias, tables of a schema."""
    for table in tables:
        if table.schema.lower() == owner.lower():
            yield SqlCompletion(quote_where_needed(table.name), "table")
        if owner.lower() in (table.name.lower(), *_find_aliases(table, text)):
            for column in table.columns:
                yield SqlCompletion(quote_where_needed(column.name), column.type)


def _is_mentioned(table: SqlTable, text: str) -> bool:
    return re.search(rf"\b{re.escape(table.name)}\b", text, re.IGNORECASE) is not None


def _find_aliases(table: SqlTable, text: str) -> list[str]:
    found = re.findall(rf'\b{re.escape(table.name)}"?\s+(?:AS\s+)?(\w+)', text, re.IGNORECASE)
    return [alias.lower() for alias in found if alias.lower() not in _RESERVED]


_TOKEN: Final = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|(\$\w*\$).*?(?:\1|\Z)|;""",
    re.DOTALL,
)
_WORD: Final = re.compile(r'(?:(?P<owner>\w+|"[^"]*")\.)?(?P<word>"?\w*)$')
_INSIDE: Final = re.compile(r"--[^\n]*$|/\*(?:(?!\*/).)*$|'(?:[^']|'')*$", re.DOTALL)


def find_statement(text: str, offset: int) -> str:
    """Return the statement at an offset; between two statements, the first of them."""
    chosen = ""
    for start, end in _split_statements(text):
        if text[start:end].strip():
            chosen = text[start:end]
            if offset <= end + 1:
                break
    return chosen


def _split_statements(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each statement. Semicolons in quotes and comments end no statement."""
    start = 0
    for found in _TOKEN.finditer(text):
        if found[0] == ";":
            yield start, found.start()
            start = found.end()
    yield start, len(text)


def parse_typed_word(text: str) -> tuple[str | None, str] | None:
    """Return the owner (``owner.``) of the word at the end of a text, and the beginning of the word.

    :returns: None inside a quoted text or a comment, where nothing is completed.
    """
    plain = re.sub(r"'(?:[^']|'')*'|/\*.*?\*/|--[^\n]*\n", " ", text, flags=re.DOTALL)
    if _INSIDE.search(plain):
        return None
    found = _WORD.search(text)
    if found is None:
        return None
    owner = found["owner"]
    return (owner.strip('"') if owner else None), found["word"]
