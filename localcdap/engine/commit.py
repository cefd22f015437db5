"""The commit of a run: sinks write next to their final directories, which become visible together at the end.

A directory that only Spark can reach (``gs://…``, on a cluster) cannot be renamed: its sink writes in
place, with Spark's own commit of one action, and what it has written stays when a later sink fails.

A run's directory records every staging directory before it is made (``staging.jsonl``). When all sinks
have finished, the journal ``commit.json`` is written and synced: that is the decision. Only then are
directories renamed. When one cannot be renamed, those that were renamed are moved back and the journal is
removed. For a run that was interrupted, :func:`recover_commit` finishes a decided commit and removes the
files of an undecided one; it may be repeated.

Where a run writes into tables, too, the decision is the host's transaction: it loads the rows, renames the
directories, and commits, or undoes all of it (:mod:`localcdap.runs.effects`).

Each effect of a commit passes :func:`take_step`, so that a test can fail or kill every one of them.
"""

from __future__ import annotations

import contextlib
import enum
import logging
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from localcdap.api.dataset.definition import PartitionChange
from localcdap.api.errors import ConflictError
from localcdap.api.locations import is_inside
from localcdap.api.serialization.value_types import decode_schema, encode_schema
from localcdap.decoders import decode_json
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.spool import Committed, DatasetFlow, Move, TableLoads
from localcdap.files.atomic import sync_to_disk, write_internal_file

_LOG: Final = logging.getLogger("localcdap.engine")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_MOUNTS: Final = Path("/proc/self/mountinfo")
"""The mounts of Linux; the fifth word of a line is the place, in which blanks are ``\\040``."""
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")
_STAGING: Final = "staging.jsonl"
_JOURNAL: Final = "commit.json"
JOB_DIRECTORY: Final = "_temporary/0"
"""Where Hadoop's ``FileOutputCommitter`` has the tasks of a job write, below the output directory."""
_BLOCKED: Final = ".blocked"
"""Suffix of a directory that a file has replaced, until it is removed."""
_BLOCK_ATTEMPTS: Final = 20
"""Spark may make the directory again between its renaming and the creation of the file."""


class CommitStep(enum.Enum):
    """The effects of a commit, of its undoing and of its recovery."""

    RECORD_STAGING = "record a staging directory"
    MAKE_STAGING = "make a staging directory"
    CHECK = "check that the commit can be made"
    DECIDE = "write the journal"
    MOVE = "rename a staging directory"
    MOVE_BACK = "rename a final directory back"
    WITHDRAW = "remove the journal"
    REMOVE_STAGING = "remove a staging directory"
    LOAD_ROWS = "write the rows of a table"
    CHANGE_PARTITIONS = "change the partitions of file sets"
    RECORD_COMMIT = "record what the run has written"


observers: Final[list[Callable[[CommitStep, str], None]]] = []
"""Called before each step of a commit, with what it is about, such as a path. Only tests add to it."""


def take_step(step: CommitStep, subject: object) -> None:
    """Call the observers of the steps of commits; the caller takes the step after that."""
    for observe in observers:
        observe(step, str(subject))


class Journal(msgspec.Struct):
    """The moves of a decided commit, as written to ``commit.json``."""

    moves: list[Move]
    table_loads: list[TableLoad]
    ends_run: bool = True
    """Whether the run has succeeded when this is committed; otherwise actions follow that can still fail."""
    moves_with_tables: bool = False
    """Whether the host makes the moves in the transaction that loads the tables."""
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

    def resolve(self, target: str) -> str:
        """Return the absolute path of a final directory, which links may lead to."""

    def require_free(self, targets: Sequence[str]) -> None:
        """Check that nothing is at the final directories.

        :raises ConflictError: for the first that is a file, or a directory with files.
        """

    def identify(self, moves: Sequence[Move]) -> list[Move]:
        """Check that the moves can be made, and return them with the identities of their directories.

        :raises ConflictError: when a final directory is not free, or a staging directory was removed.
        """

    def prepare(self, target: str, staging: str, *, written_by_spark: bool = False) -> None:
        """Create an empty staging directory, with its parents, when the target is free.

        :param written_by_spark: see :func:`make_job_directory`.
        :raises ConflictError: when it is not free.
        """

    def move(self, moves: Sequence[Move]) -> None:
        """Rename all staging directories that were not renamed yet, or none.

        :raises ConflictError: when one cannot be renamed; those that were are moved back.
        """

    def remove(self, directories: Sequence[str]) -> None:
        """Remove directories with their contents, or the files that have replaced them; those that do not
        exist are skipped.
        """

    def block(self, directories: Sequence[str]) -> None:
        """Put an empty file in the place of each directory that exists: what still writes there fails."""


class LocalFolders:
    """The file system of this machine."""

    def resolve(self, target: str) -> str:
        """See :meth:`Folders.resolve`. The directory that a link leads to is replaced, not the link."""
        return os.path.realpath(target)

    def require_free(self, targets: Sequence[str]) -> None:
        """See :meth:`Folders.require_free`. A mount point is not free: nothing can be renamed to it."""
        for target in map(Path, targets):
            if target.exists() and not (target.is_dir() and not any(target.iterdir())):
                raise create_occupied_error(str(target), "directory" if target.is_dir() else "file")
            if is_mount_point(target):
                raise ConflictError(
                    f"the directory '{target}' is a mount point, which the files of a run cannot replace.",
                    "Write to a directory below it.",
                )

    def identify(self, moves: Sequence[Move]) -> list[Move]:
        """See :meth:`Folders.identify`."""
        self.require_free([move.final for move in moves])
        for move in moves:
            if not Path(move.staging).is_dir():
                raise _create_lost_error(move)
        return [Move(move.staging, move.final, _identify(move.staging)) for move in moves]

    def prepare(self, target: str, staging: str, *, written_by_spark: bool = False) -> None:
        """See :meth:`Folders.prepare`."""
        self.require_free([target])
        take_step(CommitStep.MAKE_STAGING, staging)
        Path(staging).mkdir(parents=True)
        if written_by_spark:
            make_job_directory(Path(staging))

    def move(self, moves: Sequence[Move]) -> None:
        """See :meth:`Folders.move`."""
        try:
            for move in moves:
                _rename(move)
        except ConflictError as error:
            left = self.move_back(moves)
            if not left:
                raise
            places = ", ".join(f"'{each.final}'" for each in left)
            raise ConflictError(
                f"{error.message} What was written to {places} could not be taken back.",
                "Remove these directories, and run it again.",
            ) from error

    def move_back(self, moves: Sequence[Move]) -> list[Move]:
        """Rename final directories back that were renamed; return the moves for which this was not possible.

        Only directories that are known by their identity are touched.
        """
        left = []
        for move in moves:
            if not move.identity or not _was_renamed(move):
                continue
            try:
                take_step(CommitStep.MOVE_BACK, move.final)
                Path(move.final).rename(move.staging)
                sync_to_disk(Path(move.final).parent)
            except OSError:
                left.append(move)
        return left

    def remove(self, directories: Sequence[str]) -> None:
        """See :meth:`Folders.remove`."""
        for directory in map(Path, directories):
            take_step(CommitStep.REMOVE_STAGING, directory)
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


def is_mount_point(directory: Path) -> bool:
    """Return whether something is mounted on a directory, also a directory of the same disk."""
    if directory.is_mount():
        return True
    try:
        mounts = _MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return False  # only Linux has this file
    places = (line.split(" ")[4] for line in mounts)
    return str(directory) in {_ESCAPED.sub(lambda m: chr(int(m[1], 8)), place) for place in places}


def _rename(move: Move) -> None:
    """Rename a staging directory, unless that was done before a crash.

    :raises ConflictError: when it cannot be renamed, or is gone.
    """
    staging, final = Path(move.staging), Path(move.final)
    if not staging.is_dir():
        if move.identity and not _was_renamed(move):
            raise _create_lost_error(move)
        return
    try:
        take_step(CommitStep.MOVE, move.final)
        staging.rename(final)
        sync_to_disk(staging.parent)
    except OSError as error:
        raise ConflictError(
            f"the files for '{final}' cannot be put in place: {error.strerror or error}.",
            "Remove what is there, or write to another path, and run it again.",
        ) from error


def _identify(directory: str) -> str:
    """Return a text that stays the same when a directory is renamed; empty when there is none.

    It has the number of a file in the directory: a directory that is made when another one was removed often
    gets its number.
    """
    path = Path(directory)
    try:
        status, files = path.stat(), sorted(path.iterdir())[:1]
        return ":".join(
            [f"{status.st_dev}:{status.st_ino}", *(f"{f.lstat().st_ino}:{f.name}" for f in files)]
        )
    except OSError:
        return ""


def _was_renamed(move: Move) -> bool:
    """Return whether the final directory is the one that had this identity, whatever was added to it."""
    device, number, *file = move.identity.split(":", 3)
    try:
        status = Path(move.final).stat()
        return (str(status.st_dev), str(status.st_ino)) == (device, number) and (
            not file or str(Path(move.final, file[1]).lstat().st_ino) == file[0]
        )
    except OSError:
        return False


def _create_lost_error(move: Move) -> ConflictError:
    return ConflictError(
        f"the files for '{move.final}' were removed while the run wrote them, with the folder "
        f"'{move.staging}'.",
        "Run it again. Do not truncate or delete a dataset that a run writes.",
    )


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
        :raises ConflictError: when ``final`` has files, is a file, or is written by two sinks, as is one
            inside it.
        """
        target = final if _SCHEME.match(final) else self._folders.resolve(final)
        for other in (*self._in_place, *(move.final for move in self._moves)):
            if is_inside(target, other) or is_inside(other, target):
                both = f"to '{target}'" + ("" if other == target else f" and to '{other}'")
                raise ConflictError(
                    f"two sinks write {both}.",
                    "Give each sink a folder of its own, which is not inside that of another one.",
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
        by_host: bool = False,
    ) -> Journal:
        """Make everything visible; the caller then has the rest of the journal applied.

        :param flows: where metadata goes along with the records.
        :param ends_run: whether nothing follows that could still fail the run.
        :param by_host: whether the host applies the journal, and renames the directories together with the
            rows of tables.
        :raises ConflictError: when the moves cannot be made any more; nothing is visible then.
        """
        take_step(CommitStep.CHECK, self._directory)
        moves = self._folders.identify(self._moves) if self._moves else []
        with_tables = by_host and bool(table_loads or partitions)
        journal = Journal(moves, table_loads, ends_run, with_tables, list(flows), list(partitions))
        take_step(CommitStep.DECIDE, self._directory)
        write_internal_file(
            self._directory / _JOURNAL, msgspec.json.encode(journal, enc_hook=encode_schema)
        )
        self._is_decided = True
        if moves and not with_tables:
            try:
                self._folders.move(moves)
            except ConflictError:
                withdraw_commit(self._directory)
                self._is_decided = False
                raise
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
        take_step(CommitStep.RECORD_STAGING, move.staging)
        with path.open("ab") as file:
            file.write(msgspec.json.encode(move) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def recover_commit(
    run_directory: Path, folders: Folders = LOCAL
) -> tuple[Recovery, Journal | None]:
    """Finish the commit of an interrupted run if it was decided, otherwise roll it back. May be repeated.

    :returns: which of them, and the journal of a decided commit, whose table loads have still to be applied.
    :raises ConflictError: when a decided commit cannot be finished; it is undone then.
    """
    journal = read_journal(run_directory)
    if journal is not None:
        if not journal.moves_with_tables:
            try:
                folders.move(journal.moves)
            except ConflictError:
                undo_commit(run_directory, folders)
                raise
        return Recovery.COMMITTED, journal
    folders.remove(list_staging_directories(run_directory))
    return Recovery.ROLLED_BACK, None


def read_journal(run_directory: Path) -> Journal | None:
    """Read the journal of a run; None when its commit was not decided."""
    journal = run_directory / _JOURNAL
    if not journal.exists():
        return None
    return decode_json(journal.read_bytes(), type=Journal, hook=decode_schema)


def withdraw_commit(run_directory: Path) -> None:
    """Remove the journal of a commit whose moves were undone: a recovery removes what was staged then."""
    take_step(CommitStep.WITHDRAW, run_directory)
    (run_directory / _JOURNAL).unlink(missing_ok=True)
    sync_to_disk(run_directory)


def undo_commit(run_directory: Path, folders: Folders = LOCAL) -> None:
    """Undo a commit that cannot be finished, and whose directories were moved back."""
    withdraw_commit(run_directory)
    folders.remove(list_staging_directories(run_directory))


def create_committed(journal: Journal) -> Committed:
    """Return the message that a commit was decided."""
    has_tables = bool(journal.table_loads or journal.partitions)
    return Committed([move.final for move in journal.moves], journal.flows, has_tables)


def create_load_messages(run_id: str, journal: Journal) -> list[TableLoads]:
    """Return the message with the rows and partitions of a commit, if it has any."""
    if not journal.table_loads and not journal.partitions:
        return []
    moves = journal.moves if journal.moves_with_tables else []
    return [TableLoads(run_id, journal.table_loads, journal.partitions, moves)]


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
