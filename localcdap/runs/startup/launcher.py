"""Gives new runs their order, in a thread each: the engine of a run may take long to start."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Final

from localcdap.api.errors import LocalcdapError
from localcdap.engine.messages.orders import WorkOrder
from localcdap.engine.messages.spool import RunStatus
from localcdap.processes.identity import is_alive
from localcdap.runs.model import Run
from localcdap.runs.startup.processes import RunProcess
from localcdap.runs.startup.provisioners import Provisioner, Provisioners
from localcdap.runs.watcher import WatchedRun


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
