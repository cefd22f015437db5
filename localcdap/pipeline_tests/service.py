"""The service that runs the cases of pipeline tests: pipelines on given records, several in one process.

Results are kept in memory only, and end with the host.

Collects the results of cases from the messages of the process that runs them.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.api.pipeline import StandIn
from localcdap.api.security import Permission
from localcdap.engine.messages.orders import PipelineTestCase, WorkOrder
from localcdap.engine.messages.samples import StageSample
from localcdap.engine.messages.spool import (
    CaseEnded,
    CaseStarted,
    Failed,
    PreviewMessage,
    RunStatus,
    Sampled,
    StatusChanged,
)
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.environment import NamespaceEnvironment
from localcdap.pipeline.macros.parser import LOGICAL_START_TIME, resolve_logical_start
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline_tests.cases import (
    CaseRequest,
    CaseResult,
    CasesProgress,
    CasesRequest,
    CaseStatus,
    create_preview_order,
)
from localcdap.rpc.methods import non_idempotent
from localcdap.runs.model import RunError, get_now, to_run_error
from localcdap.runs.preview.process import PreviewProcesses
from localcdap.runs.startup.provisioners import PREVIEW_REQUIRES, require_capabilities
from localcdap.security.access import of_namespace, open_to_all, requires
from localcdap.security.principals import get_current_user

_ENGINE_START_S: Final = 120.0
"""The time limit until the first case begins, in seconds: the engine may have to start."""
_CRASHED: Final = RunError(
    "The process ended unexpectedly: a plugin may have crashed it.",
    "Look for the cause in the stages after the last stage that has records.",
)


class CaseResultCollector:
    """Collects the results of one process, which runs several cases in turn.

    :param cases: all cases of the set.
    :param numbers: the indexes of the cases that this process runs, in order.
    """

    def __init__(
        self,
        cases: Sequence[CaseRequest],
        numbers: Sequence[int],
        add: Callable[[CaseResult], None],
    ) -> None:
        self._requests: Final = cases
        self._numbers: Final = numbers
        self._add: Final = add
        self.done: Final[list[int]] = []
        self._current: int | None = None
        self._stages: dict[str, StageSample] = {}
        self._began = time.monotonic()
        self._failed: Failed | None = None
        self._was_killed = False

    def on_message(self, message: PreviewMessage) -> None:
        match message:
            case CaseStarted():
                self._current = self._numbers[message.case]
                self._stages, self._began = {}, time.monotonic()
            case Sampled():
                self._stages[message.stage] = message.sample
            case CaseEnded():
                failed = message.failed
                status = CaseStatus.FAILED if failed else CaseStatus.COMPLETED
                self._end(status, to_run_error(failed) if failed else None)
            case Failed():
                self._failed = message
            case StatusChanged(status=RunStatus.KILLED):
                self._was_killed = True

    def is_out_of_time(self) -> bool:
        return time.monotonic() > self._began + self._limit_s

    def end(self) -> None:
        """Add the results when the process has ended: its current case has failed, or all cases have."""
        if self._current is not None:
            status, error = CaseStatus.FAILED, _CRASHED
            if self._failed is not None:
                error = to_run_error(self._failed)
            elif self.is_out_of_time():
                status = CaseStatus.KILLED
                error = RunError(
                    f"The test was stopped after {self._limit_s:g} s.",
                    "Give fewer records, or more time with 'timeout'.",
                )
            self._end(status, error)
        elif not self.done:
            error = to_run_error(self._failed) if self._failed else _CRASHED
            for number in self._numbers:
                self._current = number
                self._end(CaseStatus.FAILED, error)

    @property
    def _limit_s(self) -> float:
        return _ENGINE_START_S if self._current is None else self._requests[self._current].timeout_s

    def _end(self, status: CaseStatus, error: RunError | None) -> None:
        assert self._current is not None
        took = int((time.monotonic() - self._began) * 1000)
        self._add(CaseResult(self._current, status, self._stages, error=error, took_ms=took))
        self.done.append(self._current)
        self._current, self._stages, self._began = None, {}, time.monotonic()


_KEPT: Final = 5
"""The most sets of cases whose results are kept."""


_WAIT_S: Final = 10.0


class PipelineTestService:
    """Runs pipelines on given records. Threads may share it.

    :param home: the folder for relative paths in pipelines.
    """

    def __init__(
        self,
        resolver: PipelineResolver,
        processes: PreviewProcesses,
        *,
        home: Path,
    ) -> None:
        self._resolver = resolver
        self._processes = processes
        self._home = home
        self._sets: OrderedDict[str, _CaseSet] = OrderedDict()
        self._changed = threading.Condition()

    @requires(of_namespace("request.namespace"), Permission.EXECUTE)
    @non_idempotent
    def start(self, request: CasesRequest) -> str:
        """Start a set of cases; return its id for :meth:`progress` at once.

        :raises NotFoundError: when there is no such namespace.
        """
        environment = self._resolver.environments.create(request.namespace)
        made = _CaseSet(request)
        name = str(uuid.uuid1())
        with self._changed:
            while len(self._sets) >= _KEPT and next(iter(self._sets.values())).is_ended:
                self._sets.popitem(last=False)
            self._sets[name] = made
        made.thread = threading.Thread(
            target=self._carry_out, args=(made, environment), name="cases"
        )
        made.thread.start()
        return name

    @open_to_all("only its starter has the id of a set")
    def wait_for_progress(self, cases: str, seen: int, timeout_s: float) -> CasesProgress:
        """Return the results after the first ``seen`` ones, as soon as there is one, or after the timeout.

        :raises NotFoundError: when there are no such cases, or their results are not kept any more.
        """
        made = self._get(cases)
        with self._changed:
            self._changed.wait_for(lambda: made.is_ended or len(made.results) > seen, timeout_s)
            return CasesProgress(made.results[seen:], made.is_ended)

    @open_to_all("only its starter has the id of a set")
    def stop(self, cases: str) -> None:
        """Stop a set: the running case and those that wait are KILLED.

        :raises NotFoundError: when there are no such cases.
        """
        made = self._get(cases)
        made.is_stopped = True
        with self._changed:
            self._changed.wait_for(lambda: made.is_ended)

    def are_active(self) -> bool:
        """Whether a set has not ended."""
        with self._changed:
            return not all(made.is_ended for made in self._sets.values())

    def close(self) -> None:
        """Stop all sets."""
        for made in list(self._sets.values()):
            made.is_stopped = True
            if made.thread is not None:
                made.thread.join()

    def _get(self, cases: str) -> _CaseSet:
        made = self._sets.get(cases)
        if made is None:
            raise NotFoundError(f"There are no cases '{cases}'.", "Start them again.")
        return made

    # -- in the thread of a set -----------------------------------------------------------------

    def _carry_out(self, made: _CaseSet, environment: NamespaceEnvironment) -> None:
        try:
            orders: dict[int, PipelineTestCase] = {}
            for number in range(len(made.request.cases)):
                if made.is_stopped:
                    break
                prepared = self._prepare(made, environment, number)
                if isinstance(prepared, CaseResult):
                    prepared.case = number
                    self._add(made, prepared)
                else:
                    orders[number] = prepared
            while orders and not made.is_stopped:
                self._run_cases(made, orders)
        except Exception as error:
            told = error if isinstance(error, LocalcdapError) else LocalcdapError(str(error))
            made.failure = RunError(told.message, told.corrective_action)
            if not isinstance(error, LocalcdapError):
                raise
        finally:
            made.remove_folders()
            self._finish(made)

    def _finish(self, made: _CaseSet) -> None:
        """Add a result for every case that has none."""
        have = {each.case for each in made.results}
        status = CaseStatus.FAILED if made.failure else CaseStatus.KILLED
        for number in range(len(made.request.cases)):
            if number not in have:
                self._add(made, CaseResult(number, status, error=made.failure))
        with self._changed:
            made.is_ended = True
            self._changed.notify_all()

    def _prepare(
        self, made: _CaseSet, environment: NamespaceEnvironment, number: int
    ) -> PipelineTestCase | CaseResult:
        """Return the case for the engine, or the result of a case that cannot be run."""
        try:
            return self._create_case(made, environment, number)
        except LocalcdapError as error:
            told = RunError(error.message, error.corrective_action)
            return CaseResult(0, CaseStatus.INVALID, error=told)

    def _create_case(
        self, made: _CaseSet, environment: NamespaceEnvironment, number: int
    ) -> PipelineTestCase | CaseResult:
        request = made.request.cases[number]
        document = read_document(request.document, request.file)
        name = document.name or request.name or "pipeline"
        arguments = environment.merge_arguments(name, request.arguments)
        if request.logical_start_ms is not None:
            arguments[LOGICAL_START_TIME] = str(request.logical_start_ms)
        arguments, start_ms = resolve_logical_start(arguments, get_now())
        recorded = environment.record_document(
            document,
            name,
            request.recordings,
            made.make_folder(),
            arguments=arguments,
            idle=[*(each.stream.stage for each in request.given), *request.skip],
            requires_use=False,
        )
        document, found = recorded
        preview = create_preview_order(environment.expand_templates(document), request)
        resolved = self._resolver.resolve_for_run(
            document,
            environment,
            arguments,
            unevaluated=preview.unevaluated,
            use_suggested=request.use_suggested,
        )
        made.stand_ins[number] = found.stand_ins
        resolved.add_stand_ins(found.stand_ins, found.failures)
        if resolved.errors:
            return CaseResult(0, CaseStatus.INVALID, errors=resolved.errors)
        require_capabilities(
            resolved.plugins,
            environment.plugins.get_capabilities,
            PREVIEW_REQUIRES,
            "a preview",
        )
        text, _ = environment.write_out_templates(document)
        return PipelineTestCase(
            pipeline=name,
            document=text,
            plugins=resolved.plugins,
            arguments=arguments,
            logical_start_ms=start_ms,
            preview=preview,
        )

    def _run_cases(self, made: _CaseSet, orders: dict[int, PipelineTestCase]) -> None:
        """Run cases in one process; remove those that have a result from ``orders``.

        :raises EngineError: when the engine cannot be started.
        """
        numbers = list(orders)
        collector = CaseResultCollector(
            made.request.cases, numbers, lambda result: self._add(made, result)
        )
        process = self._processes.start()
        try:
            order = self._create_order(made, [orders[each] for each in numbers])
            process.carry_out(
                order, collector.on_message, lambda: made.is_stopped or collector.is_out_of_time()
            )
        finally:
            process.close()
        if not made.is_stopped:
            collector.end()
        for each in collector.done:
            del orders[each]

    def _create_order(self, made: _CaseSet, cases: list[PipelineTestCase]) -> WorkOrder:
        return WorkOrder(
            run_id="",
            namespace=made.request.namespace,
            pipeline="tests",
            document="{}",
            plugins={},
            arguments={},
            logical_start_ms=get_now(),
            engine_url="",
            base_directory=str(self._home),
            user=made.user,
            host_directory=str(self._home),
            cases=cases,
        )

    def _add(self, made: _CaseSet, result: CaseResult) -> None:
        result.stand_ins = made.stand_ins.get(result.case, [])
        with self._changed:
            made.results.append(result)
            # Callers need not wait until the process has ended.
            made.is_ended = len(made.results) == len(made.request.cases)
            self._changed.notify_all()


class _CaseSet:
    """A set of test cases and their results so far."""

    def __init__(self, request: CasesRequest) -> None:
        self.request: Final = request
        self.user: Final = get_current_user() or ""
        self.results: Final[list[CaseResult]] = []
        self.thread: threading.Thread | None = None
        self.failure: RunError | None = None
        self.is_stopped = False
        self.is_ended = False
        self._recordings = TemporaryDirectory(prefix="localcdap-recordings-")
        """The records of recorded sources, in a folder for each case."""
        self._folders = 0
        self.stand_ins: Final[dict[int, list[StandIn]]] = {}
        """By case, the stages that do not use their plugins."""

    def make_folder(self) -> Path:
        """Return a new folder for one case, which is there until the set has ended."""
        self._folders += 1
        return Path(self._recordings.name) / str(self._folders)

    def remove_folders(self) -> None:
        self._recordings.cleanup()


def run_cases(
    cases: PipelineTestService, namespace: str, requests: Sequence[CaseRequest]
) -> Iterator[CaseResult]:
    """Run cases and yield their results as they arrive; closing the iterator stops the remaining cases."""
    started = cases.start(CasesRequest(list(requests), namespace))
    seen = 0
    try:
        while True:
            progress = cases.wait_for_progress(started, seen, _WAIT_S)
            yield from progress.results
            seen += len(progress.results)
            if progress.is_ended:
                return
    except (KeyboardInterrupt, GeneratorExit):
        cases.stop(started)
        raise
