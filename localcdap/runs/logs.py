"""What runs have reported: logs, read filtered, in pages, searched; profiles of what they wrote; alerts.

A log may have a million lines. A line has a number, which does not change, and a row, which is its index
among the lines that match a filter. An outline has the number of the line that begins each stretch of
``STRETCH`` rows, so that a reader can jump to any row without reading those before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.errors import NotFoundError
from localcdap.decoders import decode_json
from localcdap.engine.messages.samples import SinkProfile
from localcdap.engine.messages.spool import Alerted
from localcdap.runs.model import OF_RUN, StoredAlert, StoredLogLine
from localcdap.security.access import requires

if TYPE_CHECKING:
    from localcdap.store.store import Store, Transaction


STRETCH: Final = 500
"""Rows between two entries of an outline."""
LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
"""From the least to the most serious."""
_SERIOUS: Final = LEVELS[-2:]
_ALL: Final = 2**62
_ERRORS_READ: Final = 10_000
"""The errors of a log that are read at once."""
_MOST_LINES: Final = 1_000_000
"""The most lines of a run that are kept. Later lines are kept only if they are errors."""
LONGEST_TEXT: Final = 8_000
"""The most characters of a line's text in a page; :meth:`RunReports.get_log_line` has all of them."""


class LogFilter(msgspec.Struct, frozen=True):
    """A filter for log lines; by default all lines match."""

    level: str = LEVELS[0]
    """The least serious level."""
    stage: str | None = None
    """The stage of the lines; an empty text for lines without a stage; None for all lines."""


class LogOutline(msgspec.Struct):
    """The beginnings of the rows from some line on."""

    rows: int
    """The number of rows."""
    starts: list[int]
    """The numbers of the lines in rows 0, ``STRETCH``, 2 * ``STRETCH`` …"""
    newest: int
    """The number of the last line of the log, also if it does not match the filter; 0 for an empty log."""


class LogSummary(msgspec.Struct):
    """The levels and stages of the lines of a log."""

    levels: dict[str, int]
    """The number of lines by level, least serious first."""
    stages: list[str]
    """The stages that have lines, in alphabetical order."""


class LogHit(msgspec.Struct):
    """A line that contains the searched text."""

    number: int
    row: int
    """The index of the line among the lines that match the filter, from 0."""
    place: int
    """The number of the hit among all hits, from 1."""
    hits: int


class ErrorGroup(msgspec.Struct):
    """Errors of one kind in the log of a run: lines of one stage that differ only in values."""

    stage: str | None
    kind: str
    """Their text with an ellipsis for each value, without record, file and line."""
    count: int
    first: list[StoredLogLine]
    """The first :data:`MOST_SHOWN` of them."""


MOST_SHOWN: Final = 10
"""The most lines of a group that are kept."""
_MOST_GROUPS: Final = 1_000
_LOCATION: Final = re.compile(r"\s*(?:Record|Row|File): .*", re.DOTALL)
_VALUE: Final = re.compile(
    r"(?P<named>(?:[Ff]ield|[Ss]tage|[Cc]olumn|[Tt]able|[Pp]ipeline|[Dd]irective) '[^']*')"
    r"|'(?:[^'\\]|\\.)*'|\"[^\"]*\"|(?<![\w.-])[+-]?\d[\d.,:+-]*"
)


def find_error_kind(text: str) -> str:
    """Return what a message has in common with others of its kind.

    >>> find_error_kind("Field 'a' must be of type long, but it is 'x7'. File: /data/in.csv; line: 2,x7")
    "Field 'a' must be of type long, but it is …."
    """
    return _VALUE.sub(lambda found: found["named"] or "…", _LOCATION.sub("", text))


def group_errors(lines: Iterable[StoredLogLine]) -> list[ErrorGroup]:
    """Return the errors among log lines by kind, the most frequent kind first, else in their order."""
    groups: dict[tuple[str | None, str], ErrorGroup] = {}
    for line in lines:
        if line.level not in _SERIOUS:
            continue
        key = line.stage, find_error_kind(line.text)
        if key not in groups and len(groups) >= _MOST_GROUPS:
            key = None, "other kinds of errors"
        group = groups.setdefault(key, ErrorGroup(*key, 0, []))
        group.count += 1
        if len(group.first) < MOST_SHOWN:
            group.first.append(line)
    return sorted(groups.values(), key=lambda group: -group.count)


class RunReports:
    """Reads what runs have reported: their logs, profiles of what they have written, and alerts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @requires(OF_RUN)
    def read_log(self, run: str, after: int = 0, limit: int = 0) -> list[StoredLogLine]:
        """Return the log lines of a run after the line ``after``, in order.

        :param limit: the most to return; 0 for all.
        """
        rows = self._store.read(
            "SELECT number, time, level, text, stage FROM run_logs WHERE run = ? AND number > ? "
            "ORDER BY number LIMIT ?",
            (run, after, limit or _ALL),
        )
        return [StoredLogLine(*row) for row in rows]

    @requires(OF_RUN)
    def group_errors(self, run: str) -> list[ErrorGroup]:
        """Return the errors in the log of a run by kind: how many, and the first ten of each."""
        return group_errors(self._read_serious(run))

    def _read_serious(self, run: str) -> Iterator[StoredLogLine]:
        after = 0
        while True:
            rows = self._store.read(
                "SELECT number, time, level, text, stage FROM run_logs WHERE run = ? AND number > ? "
                "AND list_contains(?, level) ORDER BY number LIMIT ?",
                (run, after, list(_SERIOUS), _ERRORS_READ),
            )
            lines = [StoredLogLine(*row) for row in rows]
            yield from lines
            if len(lines) < _ERRORS_READ:
                return
            after = lines[-1].number

    @requires(OF_RUN)
    def summarize_log(self, run: str) -> LogSummary:
        """Return the number of lines of each level in a log, and the stages that have lines."""
        with self._store.snapshot() as tx:
            counted = tx.execute(
                "SELECT level, count(*) FROM run_logs WHERE run = ? GROUP BY level", (run,)
            )
            named = tx.execute(
                "SELECT DISTINCT stage FROM run_logs WHERE run = ? AND stage IS NOT NULL ORDER BY 1",
                (run,),
            )
        by_level = dict(sorted(counted, key=lambda row: _get_rank(row[0])))
        return LogSummary(by_level, [stage for (stage,) in named])

    @requires(OF_RUN)
    def read_profiles(self, run: str) -> list[SinkProfile]:
        """Return the profiles of what a run has written, in the order of its phases and sinks;
        none when the setting is off.
        """
        rows = self._store.read(
            "SELECT profile FROM run_profiles WHERE run = ? ORDER BY rowid", (run,)
        )
        return [decode_json(profile, SinkProfile) for (profile,) in rows]

    @requires(OF_RUN)
    def read_alerts(self, run: str, limit: int = 0) -> list[StoredAlert]:
        """Return the alerts of a run: the first 1,000 of each stage and phase.

        :param limit: the most to return; 0 for all.
        """
        rows = self._store.read(
            "SELECT stage, payload FROM run_alerts WHERE run = ? ORDER BY rowid LIMIT ?",
            (run, limit or _ALL),
        )
        return [
            StoredAlert(stage, decode_json(payload, dict[str, str | None]))
            for stage, payload in rows
        ]

    def _get_newest_line(self, run: str) -> int:
        """Return the number of the last line; 0 for an empty log."""
        with self._store.snapshot() as tx:
            return get_newest(tx, run)

    @requires(OF_RUN)
    def read_log_outline(self, run: str, filter: LogFilter, since: int = 0) -> LogOutline:
        """Return where the rows of a filtered log begin, from the line ``since`` on.

        With the start of its last stretch as ``since``, a reader gets only the new part.
        """
        where, params = _build_condition(run, filter)
        where += " AND number >= ?"
        params.append(since)
        with self._store.snapshot() as tx:
            rows = tx.execute(f"SELECT count(*) FROM run_logs WHERE {where}", params)[0][0]  # noqa: S608
            starts = tx.execute(
                "SELECT number FROM (SELECT number, row_number() OVER (ORDER BY number) - 1 AS place "  # noqa: S608
                f"FROM run_logs WHERE {where}) WHERE place % ? = 0 ORDER BY number",
                (*params, STRETCH),
            )
            return LogOutline(rows, [number for (number,) in starts], get_newest(tx, run))

    @requires(OF_RUN)
    def read_log_page(
        self, run: str, filter: LogFilter, since: int, limit: int
    ) -> list[StoredLogLine]:
        """Return lines of a filtered log from the line ``since`` on, with texts cut to ``LONGEST_TEXT``."""
        where, params = _build_condition(run, filter)
        rows = self._store.read(
            "SELECT number, time, level, text[:?], stage, greatest(length(text) - ?, 0) FROM run_logs "  # noqa: S608
            f"WHERE {where} AND number >= ? ORDER BY number LIMIT ?",
            (LONGEST_TEXT, LONGEST_TEXT, *params, since, limit),
        )
        return [StoredLogLine(*row) for row in rows]

    @requires(OF_RUN)
    def get_log_line(self, run: str, number: int) -> StoredLogLine:
        """Return a line with its full text.

        :raises NotFoundError: when the log has no such line.
        """
        rows = self._store.read(
            "SELECT number, time, level, text, stage FROM run_logs WHERE run = ? AND number = ?",
            (run, number),
        )
        if not rows:
            raise NotFoundError(f"The log of run '{run}' has no line {number}.")
        return StoredLogLine(*rows[0])

    @requires(OF_RUN)
    def find_log_row(self, run: str, filter: LogFilter, number: int) -> int:
        """Return the row of a line in a filtered log, or of the next line that matches the filter."""
        where, params = _build_condition(run, filter)
        found: int = self._store.read(
            f"SELECT count(*) FROM run_logs WHERE {where} AND number < ?",  # noqa: S608
            (*params, number),
        )[0][0]
        return found

    @requires(OF_RUN)
    def find_in_log(
        self, run: str, filter: LogFilter, text: str, number: int = 0, *, backwards: bool = False
    ) -> LogHit | None:
        """Find the next line after (or before) ``number`` that contains ``text``, wrapping around at the end.

        Return None when no line contains it. The search is case-sensitive when ``text`` has a capital letter.
        """
        where, params = _build_condition(run, filter)
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


def add_lines(transaction: Transaction, run: str, lines: Sequence[StoredLogLine]) -> None:
    """Append numbered lines to the log of a run."""
    transaction.execute_many(
        "INSERT INTO run_logs VALUES (?, ?, ?, ?, ?, ?)",
        [
            (run, line.number, line.time, line.level, line.stage, line.text)
            for line in lines
            if line.number <= _MOST_LINES or line.level in _SERIOUS
        ],
    )


def add_profiles(transaction: Transaction, run: str, profiles: Sequence[SinkProfile]) -> None:
    """Store the profiles of what a run has written."""
    transaction.execute_many(
        "INSERT INTO run_profiles VALUES (?, ?, ?)",
        [(run, each.stage, msgspec.json.encode(each).decode()) for each in profiles],
    )


def add_alerts(transaction: Transaction, run: str, alerted: Alerted) -> None:
    """Store alerts of a stage."""
    transaction.execute_many(
        "INSERT INTO run_alerts VALUES (?, ?, ?)",
        [(run, alerted.stage, msgspec.json.encode(each).decode()) for each in alerted.payloads],
    )


def get_newest(tx: Transaction, run: str) -> int:
    """Return the number of the last line, as a transaction sees it; 0 for an empty log."""
    newest: int | None = tx.execute("SELECT max(number) FROM run_logs WHERE run = ?", (run,))[0][0]
    return newest or 0


def count_serious(tx: Transaction, run: str) -> tuple[int, int]:
    """Return the numbers of warnings and of errors in a log."""
    warnings, errors = tx.execute(
        "SELECT count(*) FILTER (level = 'WARNING'), count(*) FILTER (list_contains(?, level)) "
        "FROM run_logs WHERE run = ?",
        (list(_SERIOUS), run),
    )[0]
    return warnings, errors


def _build_condition(run: str, filter: LogFilter) -> tuple[str, list[Any]]:
    """Return the SQL condition of a filter, and its parameters."""
    parts, params = ["run = ?"], [run]
    lower = LEVELS[: _get_rank(filter.level)]
    if lower:
        # A level that only a plugin knows always matches, since its order among the levels is unknown.
        parts.append(f"level NOT IN ({', '.join('?' for _ in lower)})")
        params += lower
    if filter.stage is not None:
        parts.append("coalesce(stage, '') = ?")
        params.append(filter.stage)
    return " AND ".join(parts), params


def _get_rank(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)
