"""Starts runs: at once, or when it is their turn in the queue.

The queue of runs: the limit of run processes, and the runs that wait for one, first in, first out.

CDAP limits runs too (``app.max.concurrent.runs``), but rejects a start beyond the limit with the code 429
(6.x ``ProgramLifecycleService.runInternal``). Here such a run is PENDING until it is its turn.

A new run gets its order in a thread of its own: the engine of a run may take long to start.
"""

from __future__ import annotations

import bisect
import logging
import shutil
import threading
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from localcdap.api.errors import ConflictError, EngineError, LocalcdapError
from localcdap.engine.messages.orders import WorkOrder
from localcdap.engine.messages.spool import RunStatus
from localcdap.processes.identity import ProcessIdentity, is_alive
from localcdap.runs import records
from localcdap.runs.effects import RunEffects
from localcdap.runs.model import Run, RunRequest
from localcdap.runs.records import ActiveRun, RunDocuments, RunRecords
from localcdap.runs.startup.preparation import PreparedRun, RunPreparer
from localcdap.runs.startup.processes import RunProcess, end_process, has_order
from localcdap.runs.startup.provisioners import Provisioner, Provisioners
from localcdap.runs.watcher import WatchedRun
from localcdap.store.store import Store


class OrderThreads:
    """The threads that wait for engines and send orders. Threads may share it."""

    def __init__(self) -> None:
        self._running: Final[set[threading.Thread]] = set()

    def start(self, send: Callable[[], None]) -> None:
        """Call a function in a thread of its own."""

        def work() -> None:
            try:
                send()
            finally:
                self._running.discard(thread)

        thread = threading.Thread(target=work, name="order")
        self._running.add(thread)
        thread.start()

    def are_active(self) -> bool:
        """Whether an order was not sent yet: it would be lost with this process."""
        return bool(self._running)

    def finish(self) -> None:
        """Wait until all orders were sent."""
        for thread in list(self._running):
            thread.join()


class RunLauncher:
    """Launches the runs of an instance. Threads may share it.

    :param wait: returns a run as soon as it differs from a version, or after a time in seconds.
    :param announce: called when a run was changed.
    :param on_launch: called with the namespace of each run that got its order.
    """

    def __init__(
        self,
        provisioners: Provisioners,
        *,
        wait: Callable[[str, int, float], Run],
        announce: Callable[[], None],
        on_launch: Callable[[str], object],
    ) -> None:
        self._wait = wait
        self._announce = announce
        self._provisioners = provisioners
        self._on_launch = on_launch
        self.threads: Final = OrderThreads()

    def launch(
        self, profile: str, process: RunProcess, order: WorkOrder, watched: WatchedRun
    ) -> None:
        """Let a thread send the order to the process of a run.

        :param profile: of the run.
        """
        self.threads.start(partial(self._send_order, profile, process, order, watched))

    def _send_order(
        self, profile: str, process: RunProcess, order: WorkOrder, watched: WatchedRun
    ) -> None:
        """Provision the engine and send the order."""
        try:
            provisioner = self._provisioners.get(profile)
            send_order(process, order, provisioner, self._wait_for_its_lease)
        except LocalcdapError as error:
            watched.effects.refuse_run(error)
            process.cancel()
            self._announce()
        except FileNotFoundError:  # the run was stopped meanwhile, and its directory removed
            process.cancel()
        else:
            self._on_launch(order.namespace)

    def _wait_for_its_lease(self, run: str, process: RunProcess) -> None:
        """Wait until the run process holds a lease of its own, which it does before its first report."""
        record = self._wait(run, -1, 0.0)
        while record.status is RunStatus.PENDING and is_alive(process.identity):
            record = self._wait(run, record.version, 0.2)


def send_order(
    process: RunProcess,
    order: WorkOrder,
    provisioner: Provisioner,
    wait_for_lease: Callable[[str, RunProcess], None],
) -> None:
    """Provision the engine of an order, and give it to its process.

    :param wait_for_lease: waits until the process holds a lease of the engine, or has ended.
    :raises EngineError: when the engine cannot be started or reached.
    :raises FileNotFoundError: when the directory of the process was removed meanwhile.
    """
    with provisioner.provision() as engine:
        engine.write_into(order)
        process.order(order)
        wait_for_lease(order.run_id, process)


_LOG: Final = logging.getLogger(__name__)
_PAUSE_S: Final = 1.0
"""Seconds until a run that could not be started, since a disk was full for instance, is tried again."""


class RunQueue:
    """The runs that have a process, and those that wait. Threads may share it.

    The instance's database has the queue too, for the next host; this is its state in the host.

    :param limit: the most runs that have a process.
    :param start: starts a run whose turn it is; called in a thread of the queue.
    :param announce: called when places in the queue have changed.
    """

    def __init__(
        self, limit: int, start: Callable[[str], None], announce: Callable[[], None]
    ) -> None:
        self._limit: Final = limit
        self._start = start
        self._announce = announce
        self._changed = threading.Condition()
        self._working: Final[set[str]] = set()
        """The runs that have a process, or get one now."""
        self._waiting: Final[list[tuple[int, str]]] = []
        """Place and id of each run that waits, in their order."""
        self._closed = False
        self._thread: threading.Thread | None = None

    def enter(self, run: str) -> bool:
        """Let a new run have a process at once; return False when it has to wait."""
        with self._changed:
            if self._closed or self._waiting or len(self._working) >= self._limit:
                return False
            self._working.add(run)
        return True

    def note_process(self, run: str) -> None:
        """Note that a run has a process, which an earlier host has started."""
        with self._changed:
            self._working.add(run)

    def leave(self, run: str) -> None:
        """Note that the process of a run has ended; the next run gets one."""
        with self._changed:
            self._working.discard(run)
            self._changed.notify_all()

    def wait_turn(self, run: str, place: int) -> None:
        """Let a run wait until those with lower places have a process."""
        with self._changed:
            bisect.insort(self._waiting, (place, run))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="run-queue", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def remove(self, run: str) -> None:
        """Let a run not wait any more, if it does."""
        with self._changed:
            self._waiting[:] = [each for each in self._waiting if each[1] != run]
        self._announce()

    def get_position(self, run: str) -> int:
        """Return the position of a run, from 1; 0 when it does not wait."""
        with self._changed:
            waiting = (each for _, each in self._waiting)
            return next((n for n, each in enumerate(waiting, start=1) if each == run), 0)

    def list_positions(self) -> dict[str, int]:
        """Return the position of each run that waits, from 1."""
        with self._changed:
            return {run: position for position, (_, run) in enumerate(self._waiting, start=1)}

    def close(self) -> None:
        """Start no more runs; the next host does."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._has_turn)
                if self._closed:
                    return
                place, run = self._waiting.pop(0)
                self._working.add(run)
            self._announce()
            try:
                self._start(run)
            except (LocalcdapError, OSError) as error:
                _LOG.warning("run %s waits again: %s", run, error)
                self.wait_turn(run, place)
                self.leave(run)
                with self._changed:
                    self._changed.wait_for(lambda: self._closed, _PAUSE_S)

    def _has_turn(self) -> bool:
        return self._closed or (bool(self._waiting) and len(self._working) < self._limit)


Watch = Callable[[Run, ProcessIdentity], WatchedRun]
"""Begins to watch the process of a run."""


class RunStarter:
    """Starts the runs of an instance. Threads may share it.

    :param limit: the most runs that have a process.
    :param directory: of the sub-directories of runs.
    :param engine: directory of the local engine.
    :param spare: a run process without an order, started ahead for the next run.
    :param announce: called when a run was changed.
    """

    def __init__(
        self,
        store: Store,
        records: RunRecords,
        preparer: RunPreparer,
        launcher: RunLauncher,
        *,
        limit: int,
        directory: Path,
        engine: Path,
        spare: RunProcess | None,
        watch: Watch,
        announce: Callable[[], None],
    ) -> None:
        self._store = store
        self._records = records
        self._preparer = preparer
        self._launcher = launcher
        self._directory = directory
        self._engine = engine
        self._spare = spare
        self._watch = watch
        self._announce = announce
        self._turn = threading.Lock()
        """Held while a run gets its process: who stops it finds either no process or a watched one."""
        self.queue: Final = RunQueue(limit, self._start_waiting, announce)

    def start(self, request: RunRequest) -> Run:
        """Start a run, or let it wait; see :meth:`RunService.start`."""
        asked = self._preparer.read(request)
        process = self._take_spare() if request.run is None else None
        id = process.run if process is not None else self._claim_id(request.run)
        try:
            if self.queue.enter(id):
                # It loads its libraries while the pipeline is validated.
                process = process or RunProcess(self._directory, self._engine, id)
            elif process is not None:
                process.cancel()
                process = None
            prepared = self._preparer.prepare(asked, id, self._directory / id)
            self._add(prepared, process)
        except BaseException:
            self._discard(id, process)
            raise
        if prepared.order is None:
            self._discard(id, process)
            return self._refuse(prepared)
        return prepared.run

    def resume(self) -> None:
        """Watch the runs that an earlier host left behind, and let those wait again that have not begun."""
        active = self._records.list_active()
        if self._spare is not None and active:
            self._spare.cancel()
            self._spare = None
        waiting = []
        for each in active:
            id = each.run.run
            is_new = each.run.status is RunStatus.PENDING and not has_order(self._directory / id)
            if each.process is None or is_new:
                waiting.append(each)
            else:
                self.queue.note_process(id)
                self._watch(each.run, each.process)
        for each in waiting:
            self._wait_again(each)

    def stop_waiting(self, run: str) -> bool:
        """Stop a run if it waits; return whether it did."""
        with self._turn, self._store.transaction() as tx:
            if not records.is_waiting(tx, run):
                return False
            RunEffects(self._store, self._records, run).stop_waiting(tx)
        self.queue.remove(run)
        shutil.rmtree(self._directory / run, ignore_errors=True)
        return True

    def are_starting(self) -> bool:
        """Whether a run waits for its engine: it would end with this process."""
        return self._launcher.threads.are_active()

    def finish(self) -> None:
        """Start no more runs, and wait until no run waits for its engine."""
        self.queue.close()
        self._launcher.threads.finish()

    def close(self) -> None:
        """Start no more runs. Those that wait go on to do so."""
        self.finish()
        if self._spare is not None:
            self._spare.cancel()

    def _claim_id(self, id: str | None) -> str:
        """Return the id of a new run: the given one, without what an earlier attempt left."""
        if id is None:
            return str(uuid.uuid1())
        with self._store.snapshot() as tx:
            if self._records.find_in(tx, id) is not None:
                raise ConflictError(f"There is a run '{id}' already.")
        shutil.rmtree(self._directory / id, ignore_errors=True)
        return id

    def _take_spare(self) -> RunProcess | None:
        with self._turn:
            spare, self._spare = self._spare, None
        return spare

    def _add(self, prepared: PreparedRun, process: RunProcess | None) -> None:
        """Store a run, and launch it or let it wait."""
        run, order = prepared.run, prepared.order
        with self._turn:
            identity = process.identity if process is not None else None
            place = self._records.add(run, identity, prepared.document, order)
            if order is None:
                return
            if process is None:
                self.queue.wait_turn(run.run, place)
                return
            watched = self._watch(run, process.identity)
        self._launcher.launch(run.profile, process, order, watched)

    def _discard(self, run: str, process: RunProcess | None) -> None:
        """End the process of a run that does not start, and remove its directory."""
        if process is not None:
            process.cancel()
        shutil.rmtree(self._directory / run, ignore_errors=True)
        self.queue.leave(run)

    def _refuse(self, prepared: PreparedRun) -> Run:
        assert prepared.refusal is not None
        self._fail(prepared.run.run, prepared.refusal)
        if prepared.error is not None:
            raise prepared.error
        return self._records.get(prepared.run.run)

    def _fail(self, run: str, error: LocalcdapError) -> None:
        """Record that a run failed before anything was started for it."""
        RunEffects(self._store, self._records, run).refuse_run(error)
        self._announce()

    def _wait_again(self, active: ActiveRun) -> None:
        """Let a run wait that an earlier host left before it had its order.

        Without an order nothing of the run has begun, and only the host writes it: no other process can start
        the run too.
        """
        run, place = active.run, active.place
        directory = self._directory / run.run
        if active.process is not None:
            end_process(active.process, directory, waits=True)
            self._records.set_process(run.run, None)
        if not place:
            try:
                text = RunDocuments(self._store).get_text(run)
                order = self._preparer.prepare_again(run, text, directory)
            except LocalcdapError as error:
                self._fail(run.run, error)
                return
            with self._store.transaction() as tx:
                place = records.add(tx, run.run, order)
        self.queue.wait_turn(run.run, place)

    def _start_waiting(self, id: str) -> None:
        """Start a run whose turn it is.

        :raises LocalcdapError: when it cannot be started now.
        :raises OSError: when this machine cannot start another process now.
        """
        try:
            with self._store.snapshot() as tx:
                run, order = self._records.find_in(tx, id), records.read(tx, id)
        except EngineError as error:
            self._fail(id, error)
            self.queue.leave(id)
            return
        if run is None or order is None:  # it was stopped meanwhile
            self.queue.leave(id)
            return
        process = RunProcess(self._directory, self._engine, id)
        try:
            with self._turn:
                begins = self._records.set_process(id, process.identity)
                watched = self._watch(run, process.identity) if begins else None
        except BaseException:
            process.cancel(keeps_directory=True)
            raise
        if watched is None:
            self._discard(id, process)
        else:
            self._launcher.launch(run.profile, process, order, watched)
