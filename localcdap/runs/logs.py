"""The log of a run as a person reads it: filtered, in pages, searched; whatever its length.

Lines are addressed by their numbers, which stay, and by their rows, which are their places among the lines
that a filter lets through. An outline says which line begins each stretch of ``STRETCH`` rows, so that a
reader can go to any row of a million without having seen those before it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from localcdap.api.errors import NotFoundError
from localcdap.runs.model import StoredLogLine
from localcdap.store.store import Store, Transaction

STRETCH: Final = 500
"""Rows between two entries of an outline."""
LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
"""From the least to the most serious."""
LONGEST_TEXT: Final = 8_000
"""Characters of a line's text that a page holds; :meth:`RunLogs.line` has all of them."""


class LogFilter(msgspec.Struct, frozen=True):
    """Which lines; by default all."""

    level: str = LEVELS[0]
    """The least serious level."""
    stage: str | None = None
    """Of one stage; an empty text for the lines of no stage; None for all."""


class LogOutline(msgspec.Struct):
    """Where the rows from some line on begin."""

    rows: int
    """How many there are."""
    starts: list[int]
    """The numbers of the lines in rows 0, ``STRETCH``, 2 * ``STRETCH`` …"""
    newest: int
    """The number of the last line of the log, whether or not the filter lets it through; 0 for none."""


class LogSummary(msgspec.Struct):
    """What there is in a log."""

    levels: dict[str, int]
    """Lines by level, least serious first."""
    stages: list[str]
    """Those that have lines, in alphabetical order."""


class LogHit(msgspec.Struct):
    """A line that holds what was searched for."""

    number: int
    row: int
    """Its place among the lines that the filter lets through, from 0."""
    place: int
    """Its place among the hits, from 1."""
    hits: int


class RunLogs:
    """Reads logs from the instance's database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def summary(self, run: str) -> LogSummary:
        """What there is in a log."""
        with self._store.snapshot() as tx:
            counted = tx.execute(
                "SELECT level, count(*) FROM run_logs WHERE run = ? GROUP BY level", (run,)
            )
            named = tx.execute(
                "SELECT DISTINCT stage FROM run_logs WHERE run = ? AND stage IS NOT NULL ORDER BY 1",
                (run,),
            )
        by_level = dict(sorted(counted, key=lambda row: _rank(row[0])))
        return LogSummary(by_level, [stage for (stage,) in named])

    def newest(self, run: str) -> int:
        """The number of the last line; 0 for an empty log."""
        with self._store.snapshot() as tx:
            return _newest(tx, run)

    def outline(self, run: str, filter: LogFilter, since: int) -> LogOutline:
        """The rows from the line ``since`` on: with the start of its last stretch, a reader asks for no more
        than what is new.
        """
        where, params = _where(run, filter)
        where += " AND number >= ?"
        params.append(since)
        with self._store.snapshot() as tx:
            rows = tx.execute(f"SELECT count(*) FROM run_logs WHERE {where}", params)[0][0]  # noqa: S608
            starts = tx.execute(
                "SELECT number FROM (SELECT number, row_number() OVER (ORDER BY number) - 1 AS place "  # noqa: S608
                f"FROM run_logs WHERE {where}) WHERE place % ? = 0 ORDER BY number",
                (*params, STRETCH),
            )
            return LogOutline(rows, [number for (number,) in starts], _newest(tx, run))

    def page(self, run: str, filter: LogFilter, since: int, limit: int) -> list[StoredLogLine]:
        """Lines from the line ``since`` on, their texts cut to ``LONGEST_TEXT``."""
        where, params = _where(run, filter)
        rows = self._store.read(
            "SELECT number, time, level, text[:?], stage, greatest(length(text) - ?, 0) FROM run_logs "  # noqa: S608
            f"WHERE {where} AND number >= ? ORDER BY number LIMIT ?",
            (LONGEST_TEXT, LONGEST_TEXT, *params, since, limit),
        )
        return [StoredLogLine(*row) for row in rows]

    def line(self, run: str, number: int) -> StoredLogLine:
        """A line with all its text.

        :raises NotFoundError: when the log has no such line.
        """
        rows = self._store.read(
            "SELECT number, time, level, text, stage FROM run_logs WHERE run = ? AND number = ?",
            (run, number),
        )
        if not rows:
            raise NotFoundError(f"The log of run '{run}' has no line {number}.")
        return StoredLogLine(*rows[0])

    def row(self, run: str, filter: LogFilter, number: int) -> int:
        """The row of a line, or of the next one that the filter lets through."""
        where, params = _where(run, filter)
        found: int = self._store.read(
            f"SELECT count(*) FROM run_logs WHERE {where} AND number < ?",  # noqa: S608
            (*params, number),
        )[0][0]
        return found

    def find(
        self, run: str, filter: LogFilter, text: str, number: int, *, backwards: bool
    ) -> LogHit | None:
        """The next line behind (or before) ``number`` whose text holds ``text``; the first (or last) of the
        log where there is none. None where no line does.

        Case counts when there is a capital letter in ``text``.
        """
        where, params = _where(run, filter)
        column = "text" if text != text.lower() else "lower(text)"
        found = f"{where} AND contains({column}, ?)"
        then, order = ("<", "max") if backwards else (">", "min")
        with self._store.snapshot() as tx:
            hits, next_one, end = tx.execute(
                f"SELECT count(*), {order}(number) FILTER (number {then} ?), {order}(number) "  # noqa: S608
                f"FROM run_logs WHERE {found}",
                (number, *params, text),
            )[0]
            if not hits:
                return None
            hit = end if next_one is None else next_one
            row = tx.execute(
                f"SELECT count(*) FROM run_logs WHERE {where} AND number < ?",  # noqa: S608
                (*params, hit),
            )[0][0]
            place = tx.execute(
                f"SELECT count(*) FROM run_logs WHERE {found} AND number <= ?",  # noqa: S608
                (*params, text, hit),
            )[0][0]
        return LogHit(hit, row, place, hits)


def _newest(tx: Transaction, run: str) -> int:
    newest: int | None = tx.execute("SELECT max(number) FROM run_logs WHERE run = ?", (run,))[0][0]
    return newest or 0


def _where(run: str, filter: LogFilter) -> tuple[str, list[Any]]:
    """The condition of a filter, and its parameters."""
    parts, params = ["run = ?"], [run]
    lower = LEVELS[: _rank(filter.level)]
    if lower:
        # A level of a plugin's own is let through: nobody knows how serious it is.
        parts.append(f"level NOT IN ({', '.join('?' for _ in lower)})")
        params += lower
    if filter.stage is not None:
        parts.append("coalesce(stage, '') = ?")
        params.append(filter.stage)
    return " AND ".join(parts), params


def _rank(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)
