"""The end of a run whose process is gone: Spark's work for it is stopped, its commit is finished or undone.

Without :func:`release_session` Spark would go on for minutes, occupy the cores, and write into directories
that are being removed. The id of a run's session is derived from that of the run, so that another process
can find and release it.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from localcdap.api.errors import ConflictError, EngineError
from localcdap.api.serialization.value_types import unpack
from localcdap.engine.cluster.folders import ClusterFolders
from localcdap.engine.commit import (
    LOCAL,
    Folders,
    Recovery,
    create_committed,
    create_load_messages,
    list_staging_directories,
    read_journal,
    recover_commit,
)
from localcdap.engine.driver.execution import end_operations
from localcdap.engine.driver.progress_report import TASK_MESSAGES, create_status
from localcdap.engine.endpoint import Endpoint
from localcdap.engine.messages.orders import (
    AT_WORK,
    ORDER,
    SETTLED,
    SPOOL,
    TABLES,
    UNREADABLE_ORDER,
    WorkOrder,
    describe_exit,
    read_order,
    set_unreadable_order_aside,
)
from localcdap.engine.messages.spool import (
    Committed,
    Failed,
    JobMessage,
    Message,
    Move,
    RunStatus,
    StatusChanged,
    TableLoads,
)
from localcdap.engine.session import connect, open_session
from localcdap.messaging.consumer import SpoolReader, SpoolWriter

_GONE: Final = "The process of the run ended before the run did."
_NOT_BEGUN: Final = (
    "The run had not begun: it waited for Spark when its process or that of the instance was ended."
)
_LIMIT_S: Final = 90.0
"""Longer than it takes to connect, to wait for the end of operations, and to stop the server."""


def recover_run(run_directory: Path, exit_code: int | None = None) -> RunStatus:
    """Finish a decided commit, or remove what an undecided one wrote, and report that in the run's spool.

    Does nothing when the spool already has an end status. May be repeated.

    :param exit_code: that of the run's process; None when it is not known.
    :returns: the end status of the run.
    :raises StoreError: when the process of the run still locks the spool, that is, lives.
    """
    with SpoolWriter(run_directory / SPOOL) as spool:
        reported = _read_messages(run_directory)
        for message in reported:
            if isinstance(message, StatusChanged) and message.status.is_end:
                return message.status
        has_begun = reported or (run_directory / ORDER).exists()
        what = _GONE if has_begun else _NOT_BEGUN
        gone = f"{what} {describe_exit(exit_code)}".rstrip()
        spool.append(*_create_missing_messages(run_directory, reported, gone), durable=True)
    end = next(m for m in reversed(_read_messages(run_directory)) if isinstance(m, StatusChanged))
    return end.status


def _create_missing_messages(
    run_directory: Path, reported: Sequence[JobMessage], gone: str
) -> list[Message]:
    """:param gone: says that the process of the run has ended, and how."""
    unreadable = set_unreadable_order_aside(run_directory)
    if unreadable is not None:
        failed = _create_unreadable_failure(run_directory, f"{gone} {unreadable.message}")
        return [failed, create_status(RunStatus.FAILED)]
    if _is_unreachable(run_directory):
        return [_create_unfinished_failure(run_directory, gone), create_status(RunStatus.FAILED)]
    if (run_directory / AT_WORK).exists() and read_journal(run_directory) is None:
        return [_create_at_work_failure(run_directory, gone), create_status(RunStatus.FAILED)]
    try:
        end, journal = recover_commit(run_directory, _choose_folders(run_directory))
    except ConflictError as error:
        message = f"{gone} Its commit could not be finished, and was undone: {error.message}"
        return [
            Failed(None, message, error.corrective_action, []),
            create_status(RunStatus.FAILED),
        ]
    if end is Recovery.ROLLED_BACK or journal is None:
        failed = Failed(None, gone, "Run it again; nothing of it became visible.", [])
        return [failed, create_status(RunStatus.FAILED)]
    known = {type(message) for message in reported}
    missing: list[Message] = []
    if TableLoads not in known and (journal.table_loads or journal.partitions):
        missing += create_load_messages(read_order(run_directory).run_id, journal)
    if Committed not in known:
        missing.append(create_committed(journal))
    if not journal.ends_run:
        action = "What its sinks wrote is in place; check which of the actions after them have still to run."
        return [*missing, Failed(None, gone, action, []), create_status(RunStatus.FAILED)]
    return [*missing, create_status(RunStatus.COMPLETED)]


class _SettledFolders:
    """The file system of a cluster on which :func:`release_session` has done everything already."""

    def require_free(self, targets: Sequence[str]) -> None: ...

    def resolve(self, target: str) -> str:
        return target

    def identify(self, moves: Sequence[Move]) -> list[Move]:
        return list(moves)

    def prepare(self, target: str, staging: str, *, written_by_spark: bool = False) -> None: ...

    def move(self, moves: Sequence[Move]) -> None: ...

    def remove(self, directories: Sequence[str]) -> None: ...

    def block(self, directories: Sequence[str]) -> None: ...


def _choose_folders(run_directory: Path) -> Folders:
    return _SettledFolders() if _is_remote(run_directory) else LOCAL


def _is_remote(run_directory: Path) -> bool:
    return (run_directory / ORDER).exists() and read_order(run_directory).remote


def _is_unreachable(run_directory: Path) -> bool:
    """Whether the sinks wrote to a cluster that could not be asked to finish or remove their files."""
    journal = read_journal(run_directory)
    wrote = bool(journal.moves if journal is not None else list_staging_directories(run_directory))
    settled = (run_directory / SETTLED).exists()
    return wrote and not settled and _is_remote(run_directory)


def _create_unfinished_failure(run_directory: Path, gone: str) -> Failed:
    journal = read_journal(run_directory)
    if journal is None:
        directories = ", ".join(f"'{each}'" for each in list_staging_directories(run_directory))
        message = f"{gone} The cluster cannot be reached, where it left unfinished files in {directories}."
        return Failed(None, message, "Remove them there, and run it again.", [])
    moves = ", ".join(f"'{move.staging}' to '{move.final}'" for move in journal.moves)
    message = (
        f"{gone} It had written everything, but the cluster cannot be reached to put it in place."
    )
    return Failed(None, message, f"Rename there what has not been renamed: {moves}.", [])


def _create_unreadable_failure(run_directory: Path, gone: str) -> Failed:
    """Return the failure of a run without a readable order: nothing says where its sinks wrote."""
    aside = f"The order is now {run_directory / UNREADABLE_ORDER}."
    journal = read_journal(run_directory)
    if journal is None:
        recover_commit(run_directory, LOCAL)
        return Failed(None, f"{gone} {aside}", "Run it again; nothing of it became visible.", [])
    moves = ", ".join(f"'{move.staging}' to '{move.final}'" for move in journal.moves) or "nothing"
    tables = ", ".join(sorted(f"'{load.name}'" for load in journal.table_loads)) or "none"
    action = (
        f"It had written everything. Rename what has not been renamed: {moves}. Tables that it did "
    )
    return Failed(None, f"{gone} {aside}", f"{action}not fill, perhaps: {tables}.", [])


def _create_at_work_failure(run_directory: Path, gone: str) -> Failed:
    files = ", ".join(f"'{each}'" for each in list_staging_directories(run_directory))
    message = (
        f"{gone} Spark still works for it, for it cannot be interrupted while other runs use Spark."
    )
    action = f"Nothing becomes visible; empty files keep it from writing: remove {files} later."
    return Failed(None, message, action if files else None, [])


def _read_messages(run_directory: Path) -> list[JobMessage]:
    """Return what a run, or a job, has reported: the messages of runs are among those of jobs."""
    reader = SpoolReader(run_directory / SPOOL)
    return [unpack(data, JobMessage) for _, data in reader.read()]


# -- Spark's work for the run ---------------------------------------------------------------


def stop_spark_work(run_directory: Path) -> None:
    """Release the session of a run in a process of its own, and wait for that process.

    Does nothing for a run without an order, or whose engine is gone too.
    """
    if not (run_directory / ORDER).exists():
        return
    command = [sys.executable, "-m", __name__, str(run_directory)]
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=_LIMIT_S, check=False)


def release_session(run_directory: Path) -> None:
    """Release the session of a run; on a cluster, finish or remove what its sinks wrote.

    :raises EngineError: when the engine cannot be reached.
    """
    order = read_order(run_directory)
    endpoint = Endpoint(order.engine_url, order.engine_token)
    # Spark may miss that a job is cancelled; its Python tasks exit when the directory is gone.
    shutil.rmtree(run_directory / TASK_MESSAGES, ignore_errors=True)
    try:
        _end_session(run_directory, order, endpoint)
    finally:
        if order.remote:
            # In another session: that of the run may be closed for good.
            with open_session(endpoint) as spark:
                recover_commit(run_directory, ClusterFolders(spark))
            (run_directory / SETTLED).touch()


def _end_session(run_directory: Path, order: WorkOrder, endpoint: Endpoint) -> None:
    def block() -> None:
        if not order.remote and read_journal(run_directory) is None:
            tables = run_directory / TABLES
            LOCAL.block([*list_staging_directories(run_directory), str(tables)])

    spark = connect(endpoint, order.session_id)
    leases = Path(order.engine_leases) if order.engine_leases else None
    if not end_operations(spark, None, block, leases):
        (run_directory / AT_WORK).touch()
    with contextlib.suppress(Exception):  # the server may have been stopped
        spark.stop()


if __name__ == "__main__":
    with contextlib.suppress(EngineError):
        release_session(Path(sys.argv[1]))
