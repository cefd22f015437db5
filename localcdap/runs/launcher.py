"""Gives new runs their order, in a thread each: the engine of a run may take long to start."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from localcdap.api.errors import LocalcdapError
from localcdap.engine.messages.orders import WorkOrder
from localcdap.engine.messages.spool import RunStatus
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.environment import NamespaceEnvironment
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.runs.capabilities import require_capabilities
from localcdap.runs.model import Run
from localcdap.runs.new_run import create_order
from localcdap.runs.processes import RunProcess, is_alive
from localcdap.runs.provisioners import Provisioner, Provisioners
from localcdap.runs.records import ProcessIdentity
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

    :param home: what relative paths in pipelines are relative to.
    :param counts: whether records are counted per stage.
    :param profiles: whether the profiles of what reaches the sinks are reported.
    :param watch: begins to watch a run.
    :param wait: returns a run as soon as it differs from a version, or after a time in seconds.
    :param announce: called when a run was changed.
    :param on_launch: called with the namespace of each run that got its order.
    """

    def __init__(
        self,
        provisioners: Provisioners,
        home: Path,
        *,
        counts: bool,
        profiles: bool,
        watch: Callable[[Run, ProcessIdentity], WatchedRun],
        wait: Callable[[str, int, float], Run],
        announce: Callable[[], None],
        on_launch: Callable[[str], object],
    ) -> None:
        self._watch = watch
        self._wait = wait
        self._announce = announce
        self._provisioners = provisioners
        self._home = home
        self._counts = counts
        self._profiles = profiles
        self._on_launch = on_launch
        self.threads: Final = OrderThreads()

    def launch(
        self,
        run: Run,
        process: RunProcess,
        document: PipelineDocument,
        resolved: ResolvedPipeline,
        environment: NamespaceEnvironment,
    ) -> None:
        """Watch the run, and let a thread send the order to its process.

        :raises IncapableError: when a plugin is not capable of what the run's profile requires.
        :raises NotFoundError: when there is no such profile any more.
        """
        provisioner = self._provisioners.get(run.profile)
        require_capabilities(
            resolved.plugins,
            environment.plugins.get_capabilities,
            provisioner.required_capabilities,
            f"profile '{run.profile}'",
        )
        watched = self._watch(run, process.identity)
        text, _ = environment.write_out_templates(document)
        order = create_order(run, text, resolved.plugins, self._home)
        order.counts, order.profiles = self._counts, self._profiles
        self.threads.start(partial(self._send_order, process, order, provisioner, watched))

    def _send_order(
        self,
        process: RunProcess,
        order: WorkOrder,
        provisioner: Provisioner,
        watched: WatchedRun,
    ) -> None:
        """Provision the engine and send the order."""
        try:
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
