"""Brings a run to its end whose process is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from localcdap.api.codec import unpack
from localcdap.engine.commit import Recovery, recover
from localcdap.engine.messages import (
    Committed,
    Failed,
    Message,
    RunStatus,
    StatusChanged,
    TableLoads,
)
from localcdap.engine.order import SPOOL, read_order
from localcdap.engine.reporting import status
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
    end, journal = recover(run_directory)
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
    return [*missing, status(RunStatus.COMPLETED)]


def _messages(run_directory: Path) -> list[Message]:
    reader = SpoolReader(run_directory / SPOOL)
    return [unpack(data, Message) for _, data in reader.read()]
