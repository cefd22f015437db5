"""DuckDB's exceptions of a user's query as errors with line, column and a useful hint."""

from __future__ import annotations

import re
from typing import Final

from localcdap.api.errors import QueryError

_PLACE: Final = re.compile(r"\n+LINE (?P<line>\d+): (?P<text>.*)\n(?P<caret> *)\^")
_KIND: Final = re.compile(r"^[A-Za-z]+(?: [A-Z][a-z]+)* Error: ")
_INTERNAL: Final = re.compile(r'Did you mean "(pg|duckdb|sqlite)_')
_CUT: Final = "..."


def query_error(error: Exception, sql: str, memory_mb: int, lines_before: int = 0) -> QueryError:
    """Return the error for an exception of DuckDB.

    :param memory_mb: the memory limit of the query, in MiB.
    :param lines_before: the number of lines in DuckDB's statement before the first line of the query.
    """
    text = str(error).strip()
    if text.startswith("Out of Memory"):
        return QueryError(
            f"The query needs more than {memory_mb} MB of memory.",
            "Read fewer rows or columns before they are sorted, joined or grouped.",
        )
    place = _PLACE.search(text)
    body = text[: place.start()] if place is not None else text
    message, *hints = [line.strip() for line in body.splitlines() if line.strip()]
    if text.startswith("Permission Error"):
        hints = [
            "A query reads tables of the instance, not files; list the tables with SHOW ALL TABLES."
        ]
    if any(_INTERNAL.search(hint) for hint in hints):
        hints = ["SHOW ALL TABLES lists the tables."]
    line, column = None, None
    if place is not None:
        line, column = _find_position(place, sql, lines_before)
    shown = f"{_format_position(line, column)}{_to_sentence(_KIND.sub('', message))}"
    return QueryError(shown, " ".join(hints) or None, line=line, column=column)


def extract_message(error: Exception) -> str:
    """Return the first sentence of an exception of DuckDB, without its kind, position and hints."""
    return _to_sentence(_KIND.sub("", str(error).strip().partition("\n")[0].strip()))


def _format_position(line: int | None, column: int | None) -> str:
    if line is None:
        return ""
    return f"Line {line}: " if column is None else f"Line {line}, column {column}: "


def _to_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _find_position(
    place: re.Match[str], sql: str, lines_before: int
) -> tuple[int | None, int | None]:
    """Return line and column, counted from 1; DuckDB shows only a part of a long line."""
    at = len(place["caret"]) - len(f"LINE {place['line']}: ")
    number, shown = int(place["line"]) - lines_before, place["text"]
    lines = sql.splitlines()
    if not 1 <= number <= len(lines):
        return None, None
    if shown.startswith(_CUT):
        shown, at = shown.removeprefix(_CUT), at - len(_CUT)
    start = lines[number - 1].find(shown.removesuffix(_CUT))
    return (number, start + at + 1) if start >= 0 else (number, None)
