"""The commit of a run: sinks write next to their final directories, which become visible together at the end.

A directory that only Spark can reach (``gs://…``, on a cluster) cannot be renamed: its sink writes in
place, with Spark's own commit of one action, and what it has written stays when a later sink fails.

A run's directory records every staging directory before it is made (``staging.jsonl``). When all sinks
have finished, the journal ``commit.json`` is written and synced: that is the decision. Only then are
directories renamed. For a run that was interrupted, :func:`recover_commit` finishes a decided commit and
removes the files of an undecided one; it may be repeated.
"""

from __future__ import annotations

import contextlib
import enum
import logging
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from localcdap.api.dataset.definition import PartitionChange
from localcdap.api.errors import ConflictError
from localcdap.api.serialization.value_types import decode_schema, encode_schema
from localcdap.decoders import decode_json
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.spool import DatasetFlow, TableLoads
from localcdap.files.atomic import sync_to_disk, write_internal_file

_LOG: Final = logging.getLogger("localcdap.engine")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_STAGING: Final = "staging.jsonl"
_JOURNAL: Final = "commit.json"
JOB_DIRECTORY: Final = "_temporary/0"
"""Where Hadoop's ``FileOutputCommitter`` has the tasks of a job write, below the output directory."""
_BLOCKED: Final = ".blocked"
"""Suffix of a directory that a file has replaced, until it is removed."""
_BLOCK_ATTEMPTS: Final = 20
"""Spark may make the directory again between its renaming and the creation of the file."""


class Move(msgspec.Struct):
    """A directory of a sink, to be renamed."""

    staging: str
    final: str


class Journal(msgspec.Struct):
    """The moves of a decided commit, as written to ``commit.json``."""

    moves: list[Move]
    table_loads: list[TableLoad]
    ends_run: bool = True
    """Whether the run has succeeded when this is committed; otherwise actions follow that can still fail."""
    flows: list[DatasetFlow] = []
    """Where metadata goes along with the records."""
    partitions: list[PartitionChange] = []


class Recovery(enum.Enum):
    """The result of :func:`recover_commit`."""

    COMMITTED = "committed"
    """The commit was decided, and is complete now except for the table loads of its journal."""
    ROLLED_BACK = "rolled back"
    """Nothing had been decided; no staging directory is left."""


class Folders(Protocol):
    """The file system that sinks write to. Every operation may be repeated."""

    def require_free(self, targets: Sequence[str]) -> None:
        """Check that nothing is at the final directories.

        :raises ConflictError: for the first that is a file, or a directory with files.
        """

    def require_ready(self, moves: Sequence[Move]) -> None:
        """Check that the moves can be made.

        :raises ConflictError: when a final directory is not free, or a staging directory was removed.
        """

    def prepare(self, target: str, staging: str, *, written_by_spark: bool = False) -> None:
        """Create an empty staging directory, with its parents, when the target is free.

        :param written_by_spark: see :func:`make_job_directory`.
        :raises ConflictError: when it is not free.
        """

    def move(self, moves: Sequence[Move]) -> None:
        """Rename the staging directories that still exist."""

    def remove(self, directories: Sequence[str]) -> None:
        """Remove directories with their contents, or the files that have replaced them; those that do not
        exist are skipped.
        """

    def block(self, directories: Sequence[str]) -> None:
        """Put an empty file in the place of each directory that exists: what still writes there fails."""


class LocalFolders:
    """The file system of this machine."""

    def require_free(self, targets: Sequence[str]) -> None:
        """See :meth:`Folders.require_free`."""
        for target in map(Path, targets):
            if target.exists() and not (target.is_dir() and not any(target.iterdir())):
                raise create_occupied_error(str(target), "directory" if target.is_dir() else "file")

    def require_ready(self, moves: Sequence[Move]) -> None:
        """See :meth:`Folders.require_ready`."""
        self.require_free([move.final for move in moves])
        for move in moves:
            if not Path(move.staging).is_dir():
                raise ConflictError(
                    f"the files for '{move.final}' were removed while the run wrote them, with the folder "
                    f"'{move.staging}'.",
                    "Run it again. Do not truncate or delete a dataset that a run writes.",
                )

    def prepare(self, target: str, staging: str, *, written_by_spark: bool = False) -> None:
        """See :meth:`Folders.prepare`."""
        self.require_free([target])
        Path(staging).mkdir(parents=True)
        if written_by_spark:
            make_job_directory(Path(staging))

    def move(self, moves: Sequence[Move]) -> None:
        """See :meth:`Folders.move`."""
        for move in moves:
            staging = Path(move.staging)
            # A staging directory that is gone was renamed before a crash.
            if staging.exists():
                staging.rename(move.final)
                sync_to_disk(staging.parent)

    def remove(self, directories: Sequence[str]) -> None:
        """See :meth:`Folders.remove`."""
        for directory in map(Path, directories):
            for path in (directory, _name_blocked(directory)):
                shutil.rmtree(path, ignore_errors=True)
                with contextlib.suppress(OSError):
                    path.unlink()

    def block(self, directories: Sequence[str]) -> None:
        """See :meth:`Folders.block`."""
        for directory in map(Path, directories):
            for _ in range(_BLOCK_ATTEMPTS):
                if not directory.is_dir():
                    break
                blocked = _name_blocked(directory)
                with contextlib.suppress(OSError):
                    directory.rename(blocked)
                    directory.touch(exist_ok=False)
                shutil.rmtree(blocked, ignore_errors=True)


LOCAL: Final = LocalFolders()


def make_job_directory(directory: Path) -> None:
    """Make the directory of a Spark job below the directory that a DataFrame will be written to.

    Spark would make it itself and run ``chmod`` for it, during which the only interrupt of an operation is
    lost (:mod:`localcdap.engine.driver.execution`). Spark removes it when the job ends.
    """
    (directory / JOB_DIRECTORY).mkdir(parents=True)


def create_occupied_error(target: str, kind: str) -> ConflictError:
    """Return the error of a final directory that is not free."""
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
        self._is_decided = False

    def create_directory(self, final: str, *, written_by_spark: bool = False) -> str:
        """Create an empty directory whose files appear in ``final`` after the commit.

        :param written_by_spark: whether a writer of Spark writes into it, see :func:`make_job_directory`.
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
        staging = os.path.join(parent, f".{name}.localcdap-{self._run_id}")  # noqa: PTH118
        move = Move(staging, target)
        self._record(move)
        self._moves.append(move)
        self._folders.prepare(target, staging, written_by_spark=written_by_spark)
        return staging

    def commit(
        self,
        table_loads: list[TableLoad],
        flows: Sequence[DatasetFlow] = (),
        partitions: Sequence[PartitionChange] = (),
        *,
        ends_run: bool = True,
    ) -> Journal:
        """Make everything visible; the caller then has the rest of the journal applied.

        :param flows: where metadata goes along with the records.
        :param ends_run: whether nothing follows that could still fail the run.
        :raises ConflictError: when the moves cannot be made any more; nothing is visible then.
        """
        if self._moves:
            self._folders.require_ready(self._moves)
        journal = Journal(self._moves, table_loads, ends_run, list(flows), list(partitions))
        write_internal_file(
            self._directory / _JOURNAL, msgspec.json.encode(journal, enc_hook=encode_schema)
        )
        self._is_decided = True
        if self._moves:
            self._folders.move(self._moves)
        return journal

    def block(self, table_directory: Path) -> None:
        """Make what still writes for the run fail; do nothing when the commit is decided.

        :param table_directory: where the rows for structured tables are.
        """
        if not self._is_decided:
            self._folders.block([move.staging for move in self._moves])
            LOCAL.block([str(table_directory)])

    def leave_blocked(self) -> None:
        """Leave the files of :meth:`block` in place of the staging directories, since Spark still writes."""
        for move in self._moves:
            _LOG.warning(
                "Spark still works for this run. The empty file '%s' keeps it from writing; remove it when "
                "other runs have ended.",
                move.staging,
            )

    def roll_back(self) -> None:
        """Remove the staging directories. Call it only when :meth:`commit` was not reached or has failed."""
        if self._moves:
            self._folders.remove([move.staging for move in self._moves])
        for directory in self._in_place:
            _LOG.warning("What was written to '%s' before the run ended stays there.", directory)

    def _record(self, move: Move) -> None:
        path = self._directory / _STAGING
        with path.open("ab") as file:
            file.write(msgspec.json.encode(move) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def recover_commit(
    run_directory: Path, folders: Folders = LOCAL
) -> tuple[Recovery, Journal | None]:
    """Finish the commit of an interrupted run if it was decided, otherwise roll it back. May be repeated.

    :returns: which of them, and the journal of a decided commit, whose table loads have still to be applied.
    """
    journal = read_journal(run_directory)
    if journal is not None:
        folders.move(journal.moves)
        return Recovery.COMMITTED, journal
    folders.remove(list_staging_directories(run_directory))
    return Recovery.ROLLED_BACK, None


def read_journal(run_directory: Path) -> Journal | None:
    """Read the journal of a run; None when its commit was not decided."""
    journal = run_directory / _JOURNAL
    if not journal.exists():
        return None
    return decode_json(journal.read_bytes(), type=Journal, hook=decode_schema)


def create_load_messages(run_id: str, journal: Journal) -> list[TableLoads]:
    """Return the message with the rows and partitions of a commit, if it has any."""
    if not journal.table_loads and not journal.partitions:
        return []
    return [TableLoads(run_id, journal.table_loads, journal.partitions)]


def list_staging_directories(run_directory: Path) -> list[str]:
    """Return the staging directories that may exist.

    The directory of a line that a crash cut off had not been created yet.
    """
    path = run_directory / _STAGING
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    return [decode_json(line, type=Move).staging for line in lines[:-1] if line]


def _name_blocked(directory: Path) -> Path:
    return directory.with_name(directory.name + _BLOCKED)
