"""The driver of a run: executes its work order from the start to the end.

The Python workers of a run on the local server: started while it is planned, and ended after it.

The first task that needs Python waits for the start of its worker, and in a new slot for that of the daemon:
0.5 s of one core, while planning uses the other.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from localcdap.api.errors import InvalidPipelineError, LocalcdapError, StageError
from localcdap.api.failures import ValidationFailure
from localcdap.decoders import convert
from localcdap.engine.cluster.folders import ClusterFolders
from localcdap.engine.cluster.shipment import Shipment
from localcdap.engine.commit import Journal, Staging, create_committed, create_load_messages
from localcdap.engine.driver.execution import Cancellation, Killed, end_operations
from localcdap.engine.driver.progress_report import (
    TASK_MESSAGES,
    ProgressReport,
    TaskListener,
    create_status,
    log_to_spool,
)
from localcdap.engine.driver.workflow import Workflow
from localcdap.engine.endpoint import Endpoint
from localcdap.engine.host_client import (
    RedactingSpoolWriter,
    create_declarer,
    create_metadata_check,
    create_metadata_reader,
    create_table_source,
    flush_to_host,
    get_secrets,
)
from localcdap.engine.local.server_monitor import ServerMonitor
from localcdap.engine.local.worker_slots import (
    FOLDER,
    end_workers,
    list_left_behind,
    take_slot,
)
from localcdap.engine.messages.orders import SPOOL, TABLES, WorkOrder
from localcdap.engine.messages.spool import (
    Accessed,
    Counted,
    Failed,
    Message,
    MetadataOperations,
    RunStatus,
)
from localcdap.engine.plan.contexts import RunContext
from localcdap.engine.plan.error_attribution import add_record, to_stage_error
from localcdap.engine.plan.preparation import finish_stages, list_finishing
from localcdap.engine.plan.resolution import ResolvedFlow, resolve_order
from localcdap.engine.plan.run_metadata import RunMetadata
from localcdap.engine.plan.tables import TableSource
from localcdap.engine.run_transactions import RunTransactions
from localcdap.engine.session import NUMBER_PROPERTY, connect, get_workers_number
from localcdap.engine.spark_internals import activate_session, set_properties
from localcdap.engine.tasks.batch_functions import pass_through
from localcdap.java.unix_time import from_epoch_millis
from localcdap.messaging.consumer import SpoolWriter
from localcdap.processes.single_instance import background_pids, hold_lease
from localcdap.processes.tree import describe_processes, list_own_strays

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from localcdap.engine.local.worker_slots import WorkerSlot


class RunWorkers:
    """The workers of a run.

    :param engine: the directory of the local engine; None for a cluster, which has workers of its own.
    """

    def __init__(self, engine: Path | None) -> None:
        self._engine: Final = engine
        self._slot: WorkerSlot | None = None

    def start(self, spark: SparkSession) -> None:
        """Give a session the workers of a slot, and have Spark start them; return at once.

        A failure is one of the run's own tasks as well.
        """
        if self._engine is not None:
            self._slot = take_slot(self._engine)
            set_properties(spark, {NUMBER_PROPERTY: str(self._slot.number)})
            threading.Thread(target=_run_task, args=(spark,), name="workers", daemon=True).start()

    def end(self, session_id: str, *, has_ended: bool) -> None:
        """End the workers after the run.

        :param has_ended: whether Spark does nothing more for the run.
        """
        if self._slot is not None:
            self._slot.release(has_ended=has_ended)
            self._slot = None
        if self._engine is not None:  # code of plugins may have used Python before there was a slot
            end_workers(self._engine / FOLDER, get_workers_number(session_id))

    def report_left_behind(self, session_id: str) -> None:
        """Log which processes plugins have left behind, in Spark's workers and in this process."""
        left = list_own_strays(background_pids)
        if self._engine is not None:
            numbers = {get_workers_number(session_id)}
            numbers |= {self._slot.number} if self._slot is not None else set()
            for number in numbers:
                left += list_left_behind(self._engine / FOLDER, number)
        if left:
            _LOG.warning(
                "Plugins left %s behind. What plugins start must end with their stage; it is ended now.",
                describe_processes(left),
            )


def _run_task(spark: SparkSession) -> None:
    """Run a task in Python. It has no tag: when the run is stopped, nobody waits for it."""
    with contextlib.suppress(Exception):  # also when the run ends meanwhile
        row = spark.range(1).mapInArrow(pass_through, "id long")
        row.write.format("noop").mode("overwrite").save()


_Result = TypeVar("_Result")
_LOG: Final = logging.getLogger("localcdap.engine")
ARCHIVES: Final = "archives"
"""Sub-directory of a run's directory: the code that was sent to a cluster."""


class RunDriver:
    """Carries out a work order. Everything that happens is reported through the spool of the run.

    :param run_directory: of the order, the spool and the journal of the commit.
    :param tables: where tables are read; by default the host is asked.
    """

    def __init__(
        self, run_directory: Path, order: WorkOrder, tables: TableSource | None = None
    ) -> None:
        self._directory: Final = run_directory
        self._order: Final = order
        self._tables: Final = tables or create_table_source(order, run_directory)
        self._staging = Staging(run_directory, order.run_id)
        self._transactions: Final = RunTransactions(order)
        self._cancellation: Final = Cancellation(order.run_id, self._block)
        self._workflow: Workflow | None = None
        self._has_ended = True
        """Whether Spark does nothing more for the run."""
        leases = order.engine_leases
        server = Path(leases).parent if leases else None
        self._workers: Final = RunWorkers(server)
        self._monitor: Final = ServerMonitor(server, order.engine_url)

    def run(self) -> RunStatus:
        """Run to the end; a run that fails raises nothing.

        :returns: ``COMPLETED``, ``FAILED`` or ``KILLED``.
        """
        with RedactingSpoolWriter(self._directory / SPOOL, get_secrets(self._order)) as spool:
            log_to_spool(spool)
            spool.append(create_status(RunStatus.PENDING))
            try:
                self._cancellation.install()
                self._transactions.check_timeouts()
                with self._hold_engine_lease():
                    spool.append(create_status(RunStatus.STARTING))
                    end = self._execute(spool)
            except Killed:
                end = self._end_killed(spool)
            except Exception as error:
                is_killed = self._cancellation.take_request()
                end = self._end_killed(spool) if is_killed else self._end_failed(spool, error)
            finally:
                self._transactions.close()
                self._cancellation.finish()
                self._leave_engine()
        return end

    def _end_killed(self, spool: SpoolWriter) -> RunStatus:
        self._end_operations(may_begin=True)
        return self._undo(spool, RunStatus.KILLED, [])

    def _end_failed(self, spool: SpoolWriter, error: Exception) -> RunStatus:
        shown, hide = self._monitor.get_error() or error, get_secrets(self._order).hide
        failed = create_failed(shown, hide, self._is_shipped, self._find_personal_fields)
        if not self._order.remote:  # a cluster may be out of reach
            self._end_operations(may_begin=False)
        return self._undo(spool, RunStatus.FAILED, [failed])

    def _find_personal_fields(self, stage: str | None, fields: Collection[str]) -> set[str]:
        workflow = self._workflow
        return set() if workflow is None else workflow.find_personal_fields(stage, fields)

    def _is_shipped(self, frame: str) -> bool:
        """Return whether a stack frame is in a plugin that comes with localcdap."""
        shipped = (p.path for p in self._order.plugins.values() if p.artifact.scope == "SYSTEM")
        return frame.startswith(tuple(shipped))

    def _block(self) -> None:
        self._staging.block(self._directory / TABLES)

    def _leave_engine(self) -> None:
        """Release what Spark keeps for the run. The end is reported already: nobody waits for this."""
        with suppress(Exception):  # the engine may be gone, and all that it kept with it
            if self._workflow is not None:
                self._workflow.release()
        self._workers.end(self._order.session_id, has_ended=self._has_ended)
        if self._cancellation.spark is not None:
            self._cancellation.spark.stop()

    def _hold_engine_lease(self) -> AbstractContextManager[None]:
        """Prevent a local engine from stopping as idle while the run uses it."""
        folder = self._order.engine_leases
        return hold_lease(Path(folder)) if folder is not None else nullcontext()

    def _execute(self, spool: SpoolWriter) -> RunStatus:
        order = self._order
        _LOG.info(
            "Pipeline '%s' is started by user '%s' with arguments %s",
            order.pipeline,
            order.user,
            order.arguments,
        )
        resolved, run = self._resolve()
        run.metadata = self._create_metadata(spool)
        progress = ProgressReport(spool)
        run.spark.registerProgressHandler(progress)
        if order.remote:
            self._prepare_cluster(run)
        if resolved.has_python_stages:
            self._workers.start(run.spark)
        workflow = self._workflow = Workflow(
            order,
            resolved,
            run,
            lambda counts: spool.append(Counted(counts)),
            lambda accesses: spool.append(Accessed(accesses)) if accesses else None,
            spool.append,
        )
        with self._listen_to_tasks(run, spool, progress):
            workflow.prepare()
            _LOG.info("Pipeline '%s' running", order.pipeline)
            spool.append(create_status(RunStatus.RUNNING))
            workflow.run_data()
        self._cancellation.disarm()
        ends_run = not workflow.has_ending_steps
        journal = self._staging.commit(
            *(run.table_loads, workflow.list_flows(), run.partitions),
            ends_run=ends_run,
            by_host=order.host_directory is not None and not order.remote,
        )
        messages = create_commit_messages(order.run_id, journal)
        if workflow.has_ending or list_finishing(run):
            spool.append(*messages, durable=True)
            messages = []
        finish_stages(run, succeeded=True)
        if workflow.has_ending:
            if run.table_loads or run.partitions:
                # Stages after the sinks find their rows in the tables.
                flush_to_host(order)
            self._cancellation.arm()
            workflow.run_ending()
            self._cancellation.disarm()
            workflow.run_post_actions(succeeded=True)
            workflow.publish_alerts()
        self._workers.report_left_behind(order.session_id)
        spool.append(*messages, create_status(RunStatus.COMPLETED), durable=True)
        return RunStatus.COMPLETED

    def _connect_during(self, work: Callable[[], _Result]) -> tuple[_Result, RunContext]:
        """Do some work, such as resolving a pipeline, while the session with Spark is opened."""
        endpoint = Endpoint(self._order.engine_url, self._order.engine_token)
        opening = _start_thread(partial(connect, endpoint, self._order.session_id))
        result = work()
        spark = opening.result()
        spark.addTag(self._order.run_id)  # to what this thread has Spark do
        activate_session(spark)
        self._cancellation.spark = spark
        self._monitor.watch(spark)
        return result, self._create_context(spark)

    def _resolve(self) -> tuple[ResolvedFlow, RunContext]:
        """Return the pipeline, and a session with the properties that it sets."""
        resolved, run = self._connect_during(partial(resolve_order, self._order))
        for key, value in resolved.spark_properties.items():
            _set_property(run.spark, key, value)
        return resolved, run

    def _listen_to_tasks(
        self, run: RunContext, spool: SpoolWriter, progress: ProgressReport
    ) -> AbstractContextManager[object]:
        """Read the messages of Spark's Python workers, if these can write into the run's directory."""
        if self._order.remote:
            _LOG.info("What plugins log or print on the cluster is in the logs of its executors.")
            return nullcontext()
        run.message_directory = str(self._directory / TASK_MESSAGES)
        return TaskListener(Path(run.message_directory), spool, progress.report)

    def _prepare_cluster(self, run: RunContext) -> None:
        """Send a cluster the code that its workers need, and have sinks write to its file system."""
        archives = self._directory / ARCHIVES
        archives.mkdir()
        run.shipment = Shipment(run.spark, archives, self._order.packages)
        run.shipment.send(self._order.plugins.values())
        run.staging = self._staging = Staging(
            self._directory, self._order.run_id, ClusterFolders(run.spark)
        )

    def _create_context(self, spark: SparkSession) -> RunContext:
        order = self._order
        return RunContext(
            spark=spark,
            namespace=order.namespace,
            pipeline=order.pipeline,
            run_id=order.run_id,
            arguments=order.arguments,
            logical_start_time=from_epoch_millis(order.logical_start_ms),
            locations=order.path_locations,
            tables=self._tables,
            staging=self._staging,
            table_directory=self._directory / TABLES,
            host_directory=order.host_directory,
            hide=get_secrets(order).hide,
            transactions=self._transactions.open,
            declare=create_declarer(order),
            profiles=order.profiles,
        )

    def _create_metadata(self, spool: SpoolWriter) -> RunMetadata:
        """Return the metadata of the run; what its stages emit goes into the spool."""
        return RunMetadata(
            create_metadata_reader(self._order.host_directory),
            lambda stage, operation: spool.append(MetadataOperations(stage, [operation])),
            create_metadata_check(self._order.host_directory),
        )

    def _end_operations(self, *, may_begin: bool) -> None:
        """Have Spark end its work for the run, before what it has written is removed."""
        self._cancellation.ignore()
        spark = self._cancellation.spark
        if spark is None or self._monitor.get_error() is not None:
            return
        leases = self._order.engine_leases
        self._has_ended = end_operations(
            spark,
            None,
            self._block,
            Path(leases) if leases else None,
            may_begin=may_begin,
        )

    def _undo(self, spool: SpoolWriter, end: RunStatus, reasons: list[Failed]) -> RunStatus:
        """Remove what the sinks staged, run the post actions and report the end."""
        self._cancellation.ignore()
        self._workers.report_left_behind(self._order.session_id)
        self._roll_back()
        if end is RunStatus.KILLED:
            _LOG.warning("Pipeline '%s' killed", self._order.pipeline)
        for failed in reasons:
            _LOG.error("Pipeline '%s' failed: %s", self._order.pipeline, failed.message)
        if self._workflow is not None:
            self._workflow.finish_stages()
            self._workflow.run_post_actions(succeeded=False)
            self._workflow.publish_alerts()
        spool.append(*reasons, create_status(end), durable=True)
        return end

    def _roll_back(self) -> None:
        if not self._has_ended:
            self._staging.leave_blocked()
            return
        try:
            if self._cancellation.spark is not None:
                # The thread that still interrupts the run's actions must not interrupt this one.
                self._cancellation.spark.clearTags()
            self._staging.roll_back()
        except Exception as error:  # a cluster that is gone must not prevent the report of the end
            first = str(error).splitlines()[0]
            _LOG.warning("What the sinks have written could not be removed: %s", first)


def create_commit_messages(run_id: str, journal: Journal) -> list[Message]:
    """Return the messages of a commit: the host applies the table loads before the run counts as
    completed.
    """
    return [
        *create_load_messages(run_id, journal),
        create_committed(journal),
    ]


def create_failed(
    error: Exception,
    hide: Callable[[str], str],
    is_foreign: Callable[[str], bool] = lambda _: False,
    find_personal: Callable[[str | None, Collection[str]], Collection[str]] = lambda *_: (),
) -> Failed:
    """Return the message of a failure.

    :param hide: removes secrets from a text.
    :param is_foreign: whether a stack frame is not of code that a user has written.
    :param find_personal: returns which fields hold personal data, for a stage and names of fields.
    """
    shown = error if isinstance(error, LocalcdapError) else to_stage_error(error)
    if isinstance(shown, StageError):
        shown = add_record(shown, hide, partial(find_personal, shown.stage))
    found = shown.failures if isinstance(shown, InvalidPipelineError) else []
    failures = convert(found, list[ValidationFailure])
    stage = getattr(shown, "stage", None) or next((f.stage for f in failures if f.stage), None)
    trace = [note for note in getattr(shown, "__notes__", ()) if not is_foreign(note)]
    details = getattr(shown, "details", None)
    return Failed(stage, shown.message, shown.corrective_action, trace, failures, details)


def _start_thread(work: Callable[[], _Result]) -> Future[_Result]:
    """Start work in a daemon thread: a process that does not need the result does not wait for it."""
    future: Future[_Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def _set_property(spark: SparkSession, key: str, value: str) -> None:
    try:
        spark.conf.set(key, value)
    except Exception as error:
        first = str(error).splitlines()[0]
        _LOG.warning("Engine property '%s' cannot be set for a run: %s", key, first)
