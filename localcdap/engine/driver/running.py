"""One run from its order to its end, as its process goes through it."""

from __future__ import annotations

import datetime
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from localcdap.api.errors import LocalcdapError
from localcdap.engine.cluster.folders import ClusterFolders
from localcdap.engine.cluster.shipping import Shipment
from localcdap.engine.driver.blame import stage_error
from localcdap.engine.driver.cancelling import Cancellation, Killed
from localcdap.engine.driver.commit import Journal, Staging
from localcdap.engine.driver.contexts import Surroundings
from localcdap.engine.driver.heeding import be_heeded
from localcdap.engine.driver.host_tables import table_source
from localcdap.engine.driver.listening import CHANNEL, Listener
from localcdap.engine.driver.reporting import ProgressReport, log_to, status
from localcdap.engine.driver.secrets import DiscreetSpool, secrets_of
from localcdap.engine.driver.tables import TableSource
from localcdap.engine.driver.workflow import Workflow
from localcdap.engine.local.leases import lease
from localcdap.engine.local.outage import Outage
from localcdap.engine.local.server import Endpoint
from localcdap.engine.messages import (
    Committed,
    Counted,
    Failed,
    Message,
    RunStatus,
    TableLoads,
)
from localcdap.engine.order import SPOOL, WorkOrder
from localcdap.engine.plan.resolving import Resolved, resolve
from localcdap.engine.session import connect
from localcdap.messaging.spool import SpoolWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Result = TypeVar("_Result")
_LOG: Final = logging.getLogger("localcdap.engine")
ARCHIVES: Final = "archives"
"""Sub-directory of a run's directory: the code that a cluster was sent."""
TABLES: Final = "tables"
"""Sub-directory of a run's directory: rows that wait to be upserted."""


class Run:
    """Carries out a work order. Everything that happens is told through the spool of the run.

    :param run_directory: holds the order, the spool and the journal of the commit.
    :param tables: where sources of structured tables read; by default the host is asked.
    """

    def __init__(
        self, run_directory: Path, order: WorkOrder, tables: TableSource | None = None
    ) -> None:
        self._directory: Final = run_directory
        self._order: Final = order
        self._tables: Final = tables or table_source(order, run_directory)
        self._staging = Staging(run_directory, order.run_id)
        self._cancellation: Final = Cancellation(order.run_id)
        self._workflow: Workflow | None = None
        leases = order.engine_leases
        self._outage: Final = Outage(Path(leases).parent if leases else None, order.engine_url)

    def carry_out(self) -> RunStatus:
        """Run to the end; nothing is raised for a run that fails.

        :returns: ``COMPLETED``, ``FAILED`` or ``KILLED``.
        """
        with DiscreetSpool(self._directory / SPOOL, secrets_of(self._order)) as spool:
            log_to(spool)
            spool.append(status(RunStatus.PENDING))
            try:
                self._cancellation.install()
                with self._engine_lease():
                    spool.append(status(RunStatus.STARTING))
                    end = self._carry_out(spool)
            except Killed:
                end = self._undone(spool, RunStatus.KILLED, [])
            except Exception as error:
                end = self._undone(spool, RunStatus.FAILED, [failed(self._outage.error() or error)])
            finally:
                self._cancellation.finish()
                self._leave_engine()
        return end

    def _leave_engine(self) -> None:
        """After the end was told: nobody needs to wait for it."""
        with suppress(Exception):  # the engine may be gone, and all that it kept with it
            if self._workflow is not None:
                self._workflow.release()
        if self._cancellation.spark is not None:
            self._cancellation.spark.stop()

    def _engine_lease(self) -> AbstractContextManager[None]:
        """Keeps a local engine from stopping as idle while the run uses it."""
        folder = self._order.engine_leases
        return lease(Path(folder)) if folder is not None else nullcontext()

    def _carry_out(self, spool: SpoolWriter) -> RunStatus:
        order = self._order
        _LOG.info(
            "Pipeline '%s' is started by user '%s' with arguments %s",
            order.pipeline,
            order.user,
            order.arguments,
        )
        resolved, around = self._resolved()
        progress = ProgressReport(spool)
        around.spark.registerProgressHandler(progress)
        if order.remote:
            self._settle_on(around)
        workflow = self._workflow = Workflow(
            order, resolved, around, lambda counts: spool.append(Counted(counts))
        )
        with self._listening(around, spool, progress):
            workflow.prepare()
            _LOG.info("Pipeline '%s' running", order.pipeline)
            spool.append(status(RunStatus.RUNNING))
            workflow.run_data()
        self._cancellation.disarm()
        ends_run = not workflow.has_ending_steps
        done = ending(order.run_id, self._staging.commit(around.table_loads, ends_run=ends_run))
        if workflow.has_ending:
            spool.append(*done, durable=True)
            done = []
            if around.table_loads:
                # What comes behind the sinks finds their rows in the tables.
                be_heeded(order)
            self._cancellation.arm()
            workflow.run_ending()
            self._cancellation.disarm()
            workflow.finish(succeeded=True)
        _LOG.info("Pipeline '%s' succeeded", order.pipeline)
        spool.append(*done, status(RunStatus.COMPLETED), durable=True)
        return RunStatus.COMPLETED

    def _while_connecting(self, work: Callable[[], _Result]) -> tuple[_Result, Surroundings]:
        """Do some work, such as resolving a pipeline, while the session with Spark is opened."""
        endpoint = Endpoint(self._order.engine_url, self._order.engine_token)
        opening = _begin(partial(connect, endpoint, self._order.session_id))
        done = work()
        spark = opening.result()
        self._cancellation.spark = spark
        self._outage.watch(spark)
        return done, self._surroundings(spark)

    def _resolved(self) -> tuple[Resolved, Surroundings]:
        """The pipeline, and a session that has the properties that it asks for."""
        resolved, around = self._while_connecting(partial(resolve, self._order))
        for key, value in resolved.spark_properties.items():
            _set(around.spark, key, value)
        return resolved, around

    def _listening(
        self, around: Surroundings, spool: SpoolWriter, progress: ProgressReport
    ) -> AbstractContextManager[object]:
        """Hears what Spark's Python workers tell, where they can reach the run's directory."""
        if self._order.remote:
            _LOG.info("What plugins log or print on the cluster is in the logs of its executors.")
            return nullcontext()
        around.channel = str(self._directory / CHANNEL)
        return Listener(Path(around.channel), spool, progress.tell)

    def _settle_on(self, around: Surroundings) -> None:
        """Send a cluster the code that its workers need, and have sinks write to its file system."""
        archives = self._directory / ARCHIVES
        archives.mkdir()
        around.shipment = Shipment(around.spark, archives, self._order.packages)
        around.shipment.send(self._order.plugins.values())
        around.staging = self._staging = Staging(
            self._directory, self._order.run_id, ClusterFolders(around.spark)
        )

    def _surroundings(self, spark: SparkSession) -> Surroundings:
        order = self._order
        start = datetime.datetime.fromtimestamp(order.logical_start_ms / 1000, datetime.UTC)
        return Surroundings(
            spark=spark,
            namespace=order.namespace,
            run_id=order.run_id,
            arguments=order.arguments,
            logical_start_time=start,
            locations=order.places,
            tables=self._tables,
            staging=self._staging,
            table_directory=self._directory / TABLES,
            home=order.host_directory,
        )

    def _undone(self, spool: SpoolWriter, end: RunStatus, why: list[Failed]) -> RunStatus:
        self._cancellation.disarm()
        self._roll_back()
        if end is RunStatus.KILLED:
            _LOG.warning("Pipeline '%s' killed", self._order.pipeline)
        for failed in why:
            _LOG.error("Pipeline '%s' failed: %s", self._order.pipeline, failed.message)
        if self._workflow is not None:
            self._workflow.finish(succeeded=False)
        spool.append(*why, status(end), durable=True)
        return end

    def _roll_back(self) -> None:
        try:
            if self._cancellation.spark is not None:
                # What still interrupts the run's actions must leave this one alone.
                self._cancellation.spark.clearTags()
            self._staging.roll_back()
        except Exception as error:  # a cluster that went away keeps no run from telling its end
            first = str(error).splitlines()[0]
            _LOG.warning("What the sinks have written could not be removed: %s", first)


def ending(run_id: str, journal: Journal) -> list[Message]:
    """What follows from a commit: the host applies the table loads before it believes in success."""
    loads = [TableLoads(run_id, journal.table_loads)] if journal.table_loads else []
    return [*loads, Committed([move.final for move in journal.moves])]


def _begin(work: Callable[[], _Result]) -> Future[_Result]:
    """Start work in a thread that keeps nobody waiting who does not ask for its result."""
    future: Future[_Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def failed(error: Exception) -> Failed:
    """An error as a run tells it."""
    told = error if isinstance(error, LocalcdapError) else stage_error(error)
    stage = getattr(told, "stage", None)
    trace: list[str] = list(getattr(told, "__notes__", []))
    return Failed(stage, told.message, told.corrective_action, trace)


def _set(spark: SparkSession, key: str, value: str) -> None:
    try:
        spark.conf.set(key, value)
    except Exception as error:
        first = str(error).splitlines()[0]
        _LOG.warning("Engine property '%s' cannot be set for a run: %s", key, first)
