"""The thread that watches active runs: it applies their messages, and recovers runs whose process has ended.

A run process outlives its host; the next host watches the runs that it finds.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from localcdap.api.errors import LocalcdapError
from localcdap.api.security import Authorizer
from localcdap.engine.messages.orders import SPOOL, UNREADABLE_ORDER
from localcdap.engine.messages.spool import Message
from localcdap.messaging.consumer import SpoolConsumer
from localcdap.namespaces.model import NamespaceResource
from localcdap.pipeline.validation.datasets import DatasetPlanner, NoDatasets
from localcdap.processes.identity import ProcessIdentity, is_alive
from localcdap.processes.tree import interrupt
from localcdap.runs.effects import RunEffects, merge_messages
from localcdap.runs.model import Run
from localcdap.runs.records import RunRecords
from localcdap.runs.startup.processes import OUTPUT_FILE, kill, take_exit_code
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.store.database_errors import get_file_size
from localcdap.store.store import Store, Transaction

_LOG: Final = logging.getLogger(__name__)
_SHORTEST_S: Final = 0.01
_LONGEST_S: Final = 0.1
_SHARE: Final = 0.02
"""The pause between two checks of a run, as a share of the time since it is watched, within these limits."""
_KEPT: Final = (OUTPUT_FILE, UNREADABLE_ORDER)
_STOP_GRACE_S: Final = 10.0
"""Seconds that a run may take to stop by itself before its process is killed."""
W = TypeVar("W", bound="WatchedProcess")


class WatchedProcess:
    """A run process that carries out an order, with the spool of its messages.

    :param run: the id of the order.
    :param consumer: applies its messages.
    """

    def __init__(
        self,
        store: Store,
        run: str,
        process: ProcessIdentity,
        directory: Path,
        consumer: SpoolConsumer[Any],
    ) -> None:
        self.run: Final = run
        self.process: Final = process
        self.directory: Final = directory
        self._store = store
        self._consumer = consumer
        self._stop_by: float | None = None
        self._since: Final = time.monotonic()
        self._heard = -1
        self._recovery: threading.Thread | None = None
        self._failure: Exception | None = None
        """Why the recovery failed."""
        self._draining: Final = threading.Lock()

    def _has_ended(self) -> bool:
        """Whether the end of the order is recorded."""
        raise NotImplementedError

    @property
    def pause_s(self) -> float:
        """Seconds until the next check."""
        age = time.monotonic() - self._since
        return min(_LONGEST_S, max(_SHORTEST_S, age * _SHARE))

    def stop(self) -> None:
        """Interrupt the run; it is killed when it does not stop in time."""
        self._stop_by = time.monotonic() + _STOP_GRACE_S
        interrupt(self.process)

    def drain_spool(self) -> None:
        """Apply the messages that the run has written so far. Threads may share it.

        :raises StoreError: when the database cannot take it now.
        """
        with self._draining:
            self._consumer.consume()

    def check(self) -> bool:
        """Apply new messages; recover the run when its process is gone. Return whether the run has ended."""
        alive = is_alive(self.process)
        size = get_file_size(self.directory / SPOOL)
        if alive and size == self._heard:
            self._kill_when_late()
            return False
        self.drain_spool()
        self._heard = size
        if not self._has_ended():
            if alive:
                self._kill_when_late()
                return False
            if not self._is_recovered():
                return False
            self.drain_spool()
        self._remove_files()
        return True

    def wait_for_recovery(self) -> None:
        """Wait until the recovery has ended, if one was begun."""
        recovery = self._recovery  # the thread of the watcher changes it
        if recovery is not None:
            recovery.join()

    def _is_recovered(self) -> bool:
        """Return whether the recovery of the run has ended; begin it if that was not done.

        It may wait for Spark for more than a minute, in which other runs are watched.

        :raises LocalcdapError: what the recovery raised. The next call begins it again.
        """
        if self._recovery is None:
            recovery = threading.Thread(target=self._recover, name="recovery", daemon=True)
            recovery.start()  # who waits for it may join it from now on
            self._recovery = recovery
        if self._recovery.is_alive():
            return False
        self._recovery = None
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return True

    def _recover(self) -> None:
        from localcdap.engine.driver.recovery import recover_run, stop_spark_work

        try:
            stop_spark_work(self.directory)
            recover_run(self.directory, take_exit_code(self.process, self.directory, waits=True))
        except Exception as error:
            self._failure = error

    def _kill_when_late(self) -> None:
        if self._stop_by is not None and time.monotonic() > self._stop_by:
            kill(self.process)

    def _remove_files(self) -> None:
        """Remove the files of the run except what its process printed, and an order that cannot be read."""
        with self._store.transaction() as transaction:
            self._consumer.forget(transaction)
        # When its order was not given, the folder is removed, maybe just now.
        with contextlib.suppress(FileNotFoundError):
            for entry in self.directory.iterdir():
                if entry.is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
                elif entry.name not in _KEPT or not entry.stat().st_size:
                    entry.unlink(missing_ok=True)
            if not any(self.directory.iterdir()):
                with contextlib.suppress(OSError):  # the fork server wrote the exit code meanwhile
                    self.directory.rmdir()


class WatchedRun(WatchedProcess):
    """An active run and its process.

    :param on_change: called when the run has changed.
    """

    def __init__(
        self,
        store: Store,
        records: RunRecords,
        run: Run,
        process: ProcessIdentity,
        directory: Path,
        on_change: Callable[[], None],
        authorizer: Authorizer = ALLOW_ALL,
        datasets: DatasetPlanner = NoDatasets(),  # noqa: B008 - it has no state
    ) -> None:
        self.effects: Final = RunEffects(store, records, run.run, authorizer, datasets)
        self._records = records
        consumer: SpoolConsumer[Message] = SpoolConsumer(
            store,
            directory / SPOOL,
            run.run,
            Message,
            self.effects.apply,
            self.effects.fail_on_poison,
            lambda _: on_change(),
            merge_messages,
        )
        super().__init__(store, run.run, process, directory, consumer)

    def _has_ended(self) -> bool:
        return self._records.get(self.run).status.is_end


class RunWatcher(Generic[W]):
    """Watches active runs, or jobs, in a thread of its own.

    :param on_gone: called with the id of each run whose process has ended after it.
    """

    def __init__(self, on_gone: Callable[[str], None] = lambda _: None) -> None:
        self._on_gone = on_gone
        self._runs: dict[str, W] = {}
        self._leaving: list[W] = []
        """Runs that have ended but whose processes still exist."""
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def add(self, run: W) -> None:
        """Watch a run."""
        with self._changed:
            self._runs[run.run] = run
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="runs", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def find(self, run: str) -> W | None:
        """Return the active run of this id; None when it is not active."""
        with self._changed:
            return self._runs.get(run)

    def close(self) -> None:
        """Check all runs once more and stop watching; the runs go on. Wait for recoveries that were begun."""
        with self._changed:
            runs = list(self._runs.values())
        for run in runs:
            run.wait_for_recovery()
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        for run in runs:  # the last check may have begun one; the next host finds its result
            run.wait_for_recovery()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._runs or self._leaving or self._closed)
                is_last = self._closed
                runs = list(self._runs.values())
            ended = [run for run in runs if self._has_ended(run)]
            leaving = [*self._leaving, *ended]
            self._leaving = [run for run in leaving if is_alive(run.process)]
            for run in leaving:
                if run not in self._leaving:
                    take_exit_code(run.process, run.directory)
                    self._on_gone(run.run)
            with self._changed:
                for run in ended:
                    del self._runs[run.run]
                if is_last:
                    return
                pause = min((run.pause_s for run in self._runs.values()), default=_LONGEST_S)
                if not self._closed:
                    self._changed.wait(pause)

    def _has_ended(self, run: W) -> bool:
        try:
            return run.check()
        except (LocalcdapError, OSError) as error:
            # The next check tries again: a full disk may have space by then.
            _LOG.warning("run %s: %s", run.run, error)
            time.sleep(1.0)
            return False


_PAUSE_S: Final = 0.02


def create_run_resource(
    store: Store,
    records: RunRecords,
    watch: RunWatcher[WatchedRun],
    directory: Path,
    stop: Callable[[str], object],
) -> NamespaceResource:
    """Return the runs as a resource of namespaces.

    Active runs block the deletion of a namespace; ended runs are deleted with it, with their logs and files.

    :param directory: of the sub-directories of runs.
    :param stop: stops a run and waits until it has ended.
    """

    def blockers(tx: Transaction, namespace: str) -> Sequence[str]:
        return [
            f"run {run} of '{pipeline}'" for run, pipeline in records.list_active_in(tx, namespace)
        ]

    def release(namespace: str) -> None:
        with store.snapshot() as tx:
            active = records.list_active_in(tx, namespace)
        for run, _ in reversed(active):  # those that wait first, or they would begin
            stop(run)

    def remove_files(namespace: str, _: int) -> Sequence[str]:
        for run in records.list_ids(namespace):
            while (
                watch.find(run) is not None
            ):  # it has ended, but its files are still being removed
                time.sleep(_PAUSE_S)
            shutil.rmtree(directory / run, ignore_errors=True)
        return ()

    return NamespaceResource("runs", blockers, release, remove_files, records.remove_all)
