"""The runs of a namespace that is being deleted."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from localcdap.namespaces.resources import NamespaceResource
from localcdap.runs.records import RunRecords
from localcdap.runs.watching import Watch
from localcdap.store.store import Store, Transaction

_PAUSE_S: Final = 0.02


def run_contents(
    store: Store, records: RunRecords, watch: Watch, directory: Path, stop: Callable[[str], object]
) -> NamespaceResource:
    """Active runs keep a namespace; ended ones go with it, their logs and files too.

    :param directory: holds one sub-directory for each run.
    :param stop: ends a run, and waits until it has ended.
    """

    def blockers(tx: Transaction, namespace: str) -> Sequence[str]:
        return [f"run {run} of '{pipeline}'" for run, pipeline in records.active_in(tx, namespace)]

    def release(namespace: str) -> None:
        with store.snapshot() as tx:
            active = records.active_in(tx, namespace)
        for run, _ in active:
            stop(run)

    def remove_files(namespace: str, _: int) -> Sequence[str]:
        for run in records.ids(namespace):
            while watch.find(run) is not None:  # it has ended, but its files are being tidied up
                time.sleep(_PAUSE_S)
            shutil.rmtree(directory / run, ignore_errors=True)
        return ()

    return NamespaceResource("runs", blockers, release, remove_files, records.remove_all)
