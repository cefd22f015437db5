"""Sinks become visible together: they write beside their final place, and are renamed at the end.

A place that only Spark can reach (``gs://…``, on a cluster) cannot be renamed: its sink writes in place, by
Spark's own commit of one action, and what it has written stays when a later sink fails.

A run's directory records every staging directory before it is made (``staging.jsonl``). When all sinks
have finished, the journal ``commit.json`` is written and synced: that is the decision. Only then are
directories renamed. Whoever finds a run that broke off calls :func:`recover`, which finishes a decided
commit and clears away an undecided one; doing so twice changes nothing.
"""

from __future__ import annotations

import enum
import logging
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from localcdap.api.errors import ConflictError
from localcdap.api.serialization.structs import decode_schema, encode_schema
from localcdap.engine.driver.tables import TableLoad

_LOG: Final = logging.getLogger("localcdap.engine")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
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
    ends_run: bool = True
    """Whether the run has succeeded with it; actions may follow that can still fail."""


class Recovery(enum.Enum):
    """What :func:`recover` found."""

    COMMITTED = "committed"
    """The commit was decided, and is complete now but for the table loads of its journal."""
    ROLLED_BACK = "rolled back"
    """Nothing had been decided; no staging directory is left."""


class Folders(Protocol):
    """The file system that sinks write to. All of it may be repeated."""

    def require_free(self, targets: Sequence[str]) -> None:
        """:raises ConflictError: for the first that is a file, or a directory with files."""

    def prepare(self, target: str, place: str) -> None:
        """Make an empty directory ``place``, and those that it is in, when ``target`` is free.

        :raises ConflictError: when it is not.
        """

    def move(self, moves: Sequence[Move]) -> None:
        """Rename what is there still to be renamed."""

    def remove(self, places: Sequence[str]) -> None:
        """Remove directories with all that is in them; those that are not there are passed over."""


class LocalFolders:
    """The file system of this machine."""

    def require_free(self, targets: Sequence[str]) -> None:
        for target in map(Path, targets):
            if target.exists() and not (target.is_dir() and not any(target.iterdir())):
                raise occupied(str(target), "directory" if target.is_dir() else "file")

    def prepare(self, target: str, place: str) -> None:
        self.require_free([target])
        Path(place).mkdir(parents=True)

    def move(self, moves: Sequence[Move]) -> None:
        for move in moves:
            staging = Path(move.staging)
            # A staging directory that is gone was renamed before a crash.
            if staging.exists():
                staging.rename(move.final)
                _sync_directory(staging.parent)

    def remove(self, places: Sequence[str]) -> None:
        for place in places:
            shutil.rmtree(place, ignore_errors=True)


LOCAL: Final = LocalFolders()


def occupied(target: str, kind: str) -> ConflictError:
    """The error of a final place that is taken."""
    return ConflictError(
        f"the {kind} '{target}' already exists and is not empty.",
        "Remove it, or write to another path; a path with ${logicalStartTime(...)} is new in each run.",
    )


class Staging:
    """The staging directories of a run.

    :param run_directory: the directory of the run, which exists.
    :param run_id: a text that can be part of a file name.
    :param folders: where the sinks write.
    """

    def __init__(self, run_directory: Path, run_id: str, folders: Folders = LOCAL) -> None:
        self._directory: Final = run_directory
        self._run_id: Final = run_id
        self._folders: Final = folders
        self._moves: Final[list[Move]] = []
        self._in_place: Final[list[str]] = []

    def directory(self, final: str) -> str:
        """A new, empty directory whose files appear in ``final`` after the commit.

        :raises ConflictError: when ``final`` has files, is a file, or is written by two sinks.
        """
        target = final if _SCHEME.match(final) else os.path.abspath(final)  # noqa: PTH100 - keeps links
        if target in (*self._in_place, *(move.final for move in self._moves)):
            raise ConflictError(
                f"two sinks write to '{target}'.", "Give each sink a path of its own."
            )
        if _SCHEME.match(final):
            self._folders.require_free([target])
            self._in_place.append(target)
            return target
        parent, name = os.path.split(target)
        place = os.path.join(parent, f".{name}.localcdap-{self._run_id}")  # noqa: PTH118
        move = Move(place, target)
        self._record(move)
        self._moves.append(move)
        self._folders.prepare(target, place)
        return place

    def commit(self, table_loads: list[TableLoad], *, ends_run: bool = True) -> Journal:
        """Make everything visible; afterwards the table loads of the journal are to be applied.

        :param ends_run: whether nothing follows that could still fail the run.
        :raises ConflictError: when a final directory got files meanwhile; nothing is visible then.
        """
        if self._moves:
            self._folders.require_free([move.final for move in self._moves])
        journal = Journal(self._moves, table_loads, ends_run)
        _write_synced(
            self._directory / _JOURNAL, msgspec.json.encode(journal, enc_hook=encode_schema)
        )
        if self._moves:
            self._folders.move(self._moves)
        return journal

    def roll_back(self) -> None:
        """Remove what was staged. Call it only when :meth:`commit` was not reached or refused."""
        if self._moves:
            self._folders.remove([move.staging for move in self._moves])
        for place in self._in_place:
            _LOG.warning("What was written to '%s' before the run ended stays there.", place)

    def _record(self, move: Move) -> None:
        path = self._directory / _STAGING
        with path.open("ab") as file:
            file.write(msgspec.json.encode(move) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def recover(run_directory: Path, folders: Folders = LOCAL) -> tuple[Recovery, Journal | None]:
    """Bring the files of a run that broke off to one of their two ends. May be repeated.

    :returns: which end, and the journal of a decided commit, whose table loads are still to be applied.
    """
    journal = decision(run_directory)
    if journal is not None:
        folders.move(journal.moves)
        return Recovery.COMMITTED, journal
    folders.remove(staged(run_directory))
    return Recovery.ROLLED_BACK, None


def decision(run_directory: Path) -> Journal | None:
    """The journal of a run; None when nothing was decided."""
    journal = run_directory / _JOURNAL
    if not journal.exists():
        return None
    return msgspec.json.decode(journal.read_bytes(), type=Journal, dec_hook=decode_schema)


def staged(run_directory: Path) -> list[str]:
    """The staging directories that may exist; a line cut off by a crash had not made its own yet."""
    path = run_directory / _STAGING
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    return [msgspec.json.decode(line, type=Move).staging for line in lines[:-1] if line]


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
