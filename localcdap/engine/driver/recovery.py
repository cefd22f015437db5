"""Brings a run to its end whose process is gone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from localcdap.api.serialization.structs import unpack
from localcdap.engine.driver.commit import (
    LOCAL,
    Folders,
    Move,
    Recovery,
    decision,
    recover,
    staged,
)
from localcdap.engine.driver.reporting import status
from localcdap.engine.messages import (
    Committed,
    Failed,
    Message,
    RunStatus,
    StatusChanged,
    TableLoads,
)
from localcdap.engine.order import ORDER, SETTLED, SPOOL, read_order
from localcdap.messaging.spool import SpoolReader, SpoolWriter

_GONE: Final = "The process of the run ended before the run did."


def recover_run(run_directory: Path) -> RunStatus:
    """Finish a decided commit, or clear away an undecided one, and say so in the run's spool.

    Does nothing when the spool already has an end. May be repeated.

    :returns: the end state of the run.
    :raises StoreError: when the process of the run still has the spool, that is, lives.
    :raises EngineError: when the run has no order that can be read.
    """
    with SpoolWriter(run_directory / SPOOL) as spool:
        said = _messages(run_directory)
        for message in said:
            if isinstance(message, StatusChanged) and message.status.is_end:
                return message.status
        spool.append(*_missing(run_directory, said), durable=True)
    end = next(m for m in reversed(_messages(run_directory)) if isinstance(m, StatusChanged))
    return end.status


def _missing(run_directory: Path, said: list[Message]) -> list[Message]:
    if _is_out_of_reach(run_directory):
        return [_unfinished(run_directory), status(RunStatus.FAILED)]
    end, journal = recover(run_directory, _folders(run_directory))
    if end is Recovery.ROLLED_BACK or journal is None:
        failed = Failed(None, _GONE, "Run it again; nothing of it became visible.", [])
        return [failed, status(RunStatus.FAILED)]
    known = {type(message) for message in said}
    missing: list[Message] = []
    if journal.table_loads and TableLoads not in known:
        run_id = read_order(run_directory).run_id
        missing.append(TableLoads(run_id, journal.table_loads))
    if Committed not in known:
        missing.append(Committed([move.final for move in journal.moves]))
    if not journal.ends_run:
        done = "What its sinks wrote is in place; see what of the actions behind them is still to be done."
        return [*missing, Failed(None, _GONE, done, []), status(RunStatus.FAILED)]
    return [*missing, status(RunStatus.COMPLETED)]


class _SettledFolders:
    """Of a cluster, where all that was to be done is done (see :mod:`localcdap.engine.driver.abandoned`)."""

    def require_free(self, targets: Sequence[str]) -> None: ...

    def prepare(self, target: str, place: str) -> None: ...

    def move(self, moves: Sequence[Move]) -> None: ...

    def remove(self, places: Sequence[str]) -> None: ...


def _folders(run_directory: Path) -> Folders:
    return _SettledFolders() if _is_remote(run_directory) else LOCAL


def _is_remote(run_directory: Path) -> bool:
    return (run_directory / ORDER).exists() and read_order(run_directory).remote


def _is_out_of_reach(run_directory: Path) -> bool:
    """Whether the sinks wrote to a cluster that could not be asked to finish or clear it away."""
    journal = decision(run_directory)
    wrote = bool(journal.moves if journal is not None else staged(run_directory))
    settled = (run_directory / SETTLED).exists()
    return wrote and not settled and _is_remote(run_directory)


def _unfinished(run_directory: Path) -> Failed:
    journal = decision(run_directory)
    if journal is None:
        places = ", ".join(f"'{place}'" for place in staged(run_directory))
        message = (
            f"{_GONE} The cluster cannot be reached, where it left unfinished files in {places}."
        )
        return Failed(None, message, "Remove them there, and run it again.", [])
    moves = ", ".join(f"'{move.staging}' to '{move.final}'" for move in journal.moves)
    message = (
        f"{_GONE} It had written everything, but the cluster cannot be reached to put it in place."
    )
    return Failed(None, message, f"Rename there what has not been renamed: {moves}.", [])


def _messages(run_directory: Path) -> list[Message]:
    reader = SpoolReader(run_directory / SPOOL)
    return [unpack(data, Message) for _, data in reader.read()]
