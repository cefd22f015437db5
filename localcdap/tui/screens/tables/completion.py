"""What a word of a query may become: tables, columns, words of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

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
    """What a word may become.

    :param what: told beside it, such as a column's type.
    """

    text: str
    what: str


def find_completions(
    text: str, rest: str, tables: Sequence[SqlTable], namespace: str
) -> tuple[str, list[SqlCompletion]]:
    """The beginning of the word that a text ends with, and what it may become.

    Nothing for an empty word, unless it stands behind the dot of a table or schema.

    :param text: the query up to the place where is typed.
    :param rest: what stands behind that place; tables that it names count too.
    :param tables: those there are.
    :param namespace: whose tables need no schema before them.
    """
    typed = parse_typed_word(text)
    if typed is None or (typed[0] is None and not typed[1]):
        return "", []
    owner, word = typed
    whole = text + rest
    begun = word.lstrip('"').lower()
    offered = _of_owner(owner, whole, tables) if owner else _all(whole, tables, namespace)
    found: dict[str, SqlCompletion] = {}
    for each in offered:
        if each.text.strip('"').lower().startswith(begun) and each.text.lower() != word.lower():
            found.setdefault(each.text.lower(), each)
    return word, list(found.values())[:_MOST]


def quote_identifier(name: str) -> str:
    """A name as it is written in a query: in quotes where it must be."""
    if _PLAIN.fullmatch(name) and name not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def _all(text: str, tables: Sequence[SqlTable], namespace: str) -> Iterator[SqlCompletion]:
    mentioned = [table for table in tables if _is_mentioned(table, text)]
    for table in mentioned:
        for column in table.columns:
            yield SqlCompletion(quote_identifier(column.name), f"{column.type} of {table.name}")
    for table in tables:
        if table.schema == namespace:
            yield SqlCompletion(quote_identifier(table.name), "table")
    for table in tables:
        if table.schema != namespace:
            name = f"{quote_identifier(table.schema)}.{quote_identifier(table.name)}"
            yield SqlCompletion(name, "table")
            yield SqlCompletion(quote_identifier(table.schema), "schema")
    yield from (SqlCompletion(word, "") for word in _WORDS.split())
    yield from (SqlCompletion(name, "function") for name in _FUNCTIONS.split())


def _of_owner(owner: str, text: str, tables: Sequence[SqlTable]) -> Iterator[SqlCompletion]:
    """What stands behind ``owner.``: columns of a table or of its alias, tables of a schema."""
    for table in tables:
        if table.schema.lower() == owner.lower():
            yield SqlCompletion(quote_identifier(table.name), "table")
        if owner.lower() in (table.name.lower(), *_aliases(table, text)):
            for column in table.columns:
                yield SqlCompletion(quote_identifier(column.name), column.type)


def _is_mentioned(table: SqlTable, text: str) -> bool:
    return re.search(rf"\b{re.escape(table.name)}\b", text, re.IGNORECASE) is not None


def _aliases(table: SqlTable, text: str) -> list[str]:
    found = re.findall(rf'\b{re.escape(table.name)}"?\s+(?:AS\s+)?(\w+)', text, re.IGNORECASE)
    return [alias.lower() for alias in found if alias.lower() not in _RESERVED]


_TOKEN: Final = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|(\$\w*\$).*?(?:\1|\Z)|;""",
    re.DOTALL,
)
_WORD: Final = re.compile(r'(?:(?P<owner>\w+|"[^"]*")\.)?(?P<word>"?\w*)$')
_INSIDE: Final = re.compile(r"--[^\n]*$|/\*(?:(?!\*/).)*$|'(?:[^']|'')*$", re.DOTALL)


def find_statement(text: str, offset: int) -> str:
    """The statement that a place in a text is in; of two that meet there, the one before it."""
    chosen = ""
    for start, end in _spans(text):
        if text[start:end].strip():
            chosen = text[start:end]
            if offset <= end + 1:
                break
    return chosen


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """From where to where statements go; semicolons in texts and comments end none."""
    start = 0
    for found in _TOKEN.finditer(text):
        if found[0] == ";":
            yield start, found.start()
            start = found.end()
    yield start, len(text)


def parse_typed_word(text: str) -> tuple[str | None, str] | None:
    """What a word at the end of a text belongs to (``owner.``) and its beginning.

    :returns: None inside a text or comment, where nothing is completed.
    """
    plain = re.sub(r"'(?:[^']|'')*'|/\*.*?\*/|--[^\n]*\n", " ", text, flags=re.DOTALL)
    if _INSIDE.search(plain):
        return None
    found = _WORD.search(text)
    if found is None:
        return None
    owner = found["owner"]
    return (owner.strip('"') if owner else None), found["word"]
