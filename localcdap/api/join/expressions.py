"""The names in the SQL expression of a join, found without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_SQL_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]+`|[\w$]+|\S")


def list_words(sql: str) -> set[str]:
    """Return the tokens of an SQL expression in lower case; names are without backquotes."""
    return {token.strip("`").lower() for token in _SQL_TOKEN.findall(sql)}


def find_qualified_names(sql: str) -> Iterator[tuple[str, str]]:
    """Yield each ``name.field`` of an SQL expression, for a longer path its first two parts."""
    tokens = _SQL_TOKEN.findall(sql)
    at = 0
    while at + 2 < len(tokens):
        first, dot, second = tokens[at : at + 3]
        if dot == "." and _is_name(first) and _is_name(second):
            yield first.strip("`"), second.strip("`")
            at += 3
            while at + 1 < len(tokens) and tokens[at] == ".":
                at += 2
        else:
            at += 1


def _is_name(token: str) -> bool:
    return token.startswith("`") or (token[0].isalpha() or token[0] == "_")
