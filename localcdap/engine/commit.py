"""Sinks become visible together: they write beside their final place, and are renamed at the end.

A run's directory records every staging directory before it is made (``staging.jsonl``). When all sinks
have finished, the journal ``commit.json`` is written and synced: that is the decision. Only then are
directories renamed. Whoever finds a run that broke off calls :func:`recover`, which finishes a decided
commit and clears away an undecided one; doing so twice changes nothing.
"""

from __future__ import annotations

import enum
import os
import shutil
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.codec import plain, revived
from localcdap.api.errors import ConflictError
from localcdap.engine.tables import TableLoad

_STAGING: Final = "staging.jsonl"
_JOURNAL: Final = "commit.json"


class Move(msgspec.Struct):
    """A directory of a sink."""

    staging: str
    final: str


class Journal(msgspec.Struct):
    """What a decided commit consists of."""

    moves: list[Move]
    table_loads: list[TableLoad]


class Recovery(enum.Enum):
    """What :func:`recover` found."""

    COMMITTED = "committed"
    """The commit was decided, and is complete now but for the table loads of its journal."""
    ROLLED_BACK = "rolled back"
    """Nothing had been decided; no staging directory is left."""


class Staging:
    """The staging directories of a run.

    :param run_directory: the directory of the run, which exists.
    :param run_id: a text that can be part of a file name.
    """

    def __init__(self, run_directory: Path, run_id: str) -> None:
        self._directory: Final = run_directory
        self._run_id: Final = run_id
        self._moves: Final[list[Move]] = []

    def directory(self, final: str) -> str:
        """A new, empty directory whose files appear in ``final`` after the commit.

        :raises ConflictError: when ``final`` has files, is a file, or is written by two sinks.
        """
        target = Path(os.path.abspath(final))  # noqa: PTH100 - resolve() would follow links
        if any(move.final == str(target) for move in self._moves):
            raise ConflictError(
                f"two sinks write to '{target}'.", "Give each sink a path of its own."
            )
        _require_free(target)
        place = target.parent / f".{target.name}.localcdap-{self._run_id}"
        move = Move(str(place), str(target))
        self._record(move)
        self._moves.append(move)
        place.mkdir(parents=True)
        return str(place)

    def commit(self, table_loads: list[TableLoad]) -> Journal:
        """Make everything visible; afterwards the table loads of the journal are to be applied.

        :raises ConflictError: when a final directory got files meanwhile; nothing is visible then.
        """
        for move in self._moves:
            _require_free(Path(move.final))
        journal = Journal(self._moves, table_loads)
        _write_synced(self._directory / _JOURNAL, msgspec.json.encode(journal, enc_hook=plain))
        _roll_forward(journal)
        return journal

    def roll_back(self) -> None:
        """Remove what was staged. Call it only when :meth:`commit` was not reached or refused."""
        _clear(self._moves)

    def _record(self, move: Move) -> None:
        path = self._directory / _STAGING
        with path.open("ab") as file:
            file.write(msgspec.json.encode(move) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def recover(run_directory: Path) -> tuple[Recovery, Journal | None]:
    """Bring the files of a run that broke off to one of their two ends. May be repeated.

    :returns: which end, and the journal of a decided commit, whose table loads are still to be applied.
    """
    journal = run_directory / _JOURNAL
    if journal.exists():
        decided = msgspec.json.decode(journal.read_bytes(), type=Journal, dec_hook=revived)
        _roll_forward(decided)
        return Recovery.COMMITTED, decided
    _clear(_recorded(run_directory / _STAGING))
    return Recovery.ROLLED_BACK, None


def _recorded(path: Path) -> list[Move]:
    """The staging directories that may exist; a line cut off by a crash had not made its own yet."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    return [msgspec.json.decode(line, type=Move) for line in lines[:-1] if line]


def _clear(moves: list[Move]) -> None:
    for move in moves:
        shutil.rmtree(move.staging, ignore_errors=True)


def _roll_forward(journal: Journal) -> None:
    for move in journal.moves:
        staging = Path(move.staging)
        # A staging directory that is gone was renamed before a crash.
        if staging.exists():
            staging.rename(move.final)
            _sync_directory(staging.parent)


def _require_free(target: Path) -> None:
    if target.is_dir() and not any(target.iterdir()):
        return
    if target.exists():
        kind = "directory" if target.is_dir() else "file"
        raise ConflictError(
            f"the {kind} '{target}' already exists and is not empty.",
            "Remove it, or write to another path; a path with ${logicalStartTime(...)} is new in each run.",
        )


def _write_synced(path: Path, data: bytes) -> None:
    """Write a file so that after a crash it is there whole or not at all."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
