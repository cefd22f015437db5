"""Pipelines tried on given records, several in one process: what tests of pipelines are made of.

They are kept in memory only, and end with the process that has the instance.
"""

from __future__ import annotations

import getpass
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError
from localcdap.engine.messages import Failed, RunStatus, StatusChanged
from localcdap.engine.order import Case, PreviewOrder, WorkOrder
from localcdap.engine.planning.flow import DATA_TYPES, SINKS
from localcdap.engine.trials.previewing import CaseBegan, CaseEnded, PreviewMessage, Sampled
from localcdap.engine.trials.python_stage import MOST_RECORDS
from localcdap.engine.trials.samples import StageSample
from localcdap.namespaces.service import NamespaceService
from localcdap.rpc.methods import once
from localcdap.runs.capabilities import (
    PREVIEW_REQUIRES,
    indexed_capabilities,
    require_capabilities,
)
from localcdap.runs.case_model import (
    CaseRequest,
    CaseResult,
    CasesProgress,
    CasesRequest,
    CaseStatus,
)
from localcdap.runs.model import RunError, now
from localcdap.runs.preview_process import PreviewProcesses
from localcdap.studio.documents.document import read_document
from localcdap.studio.documents.model import PipelineDocument
from localcdap.studio.propagation.plugins import Artifacts
from localcdap.studio.service import PipelineRequest, StudioService

_KEPT: Final = 5
"""Sets of cases whose results are remembered."""
_ENGINE_START_S: Final = 120.0
"""Until the first case begins: the engine may have to be started."""


class CaseService:
    """Tries pipelines on given records. Threads may share it.

    :param artifacts: know what a plugin is capable of.
    :param home: what relative paths in pipelines are relative to.
    """

    def __init__(
        self,
        namespaces: NamespaceService,
        artifacts: Artifacts,
        studio: StudioService,
        processes: PreviewProcesses,
        *,
        home: Path,
    ) -> None:
        self._namespaces = namespaces
        self._artifacts = artifacts
        self._studio = studio
        self._processes = processes
        self._home = home
        self._sets: OrderedDict[str, _Set] = OrderedDict()
        self._changed = threading.Condition()

    @once
    def start(self, request: CasesRequest) -> str:
        """Begin to try pipelines. Returns at once, with an id for :meth:`progress`.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(request.namespace)
        made = _Set(request)
        name = str(uuid.uuid1())
        with self._changed:
            while len(self._sets) >= _KEPT and next(iter(self._sets.values())).is_ended:
                self._sets.popitem(last=False)
            self._sets[name] = made
        made.thread = threading.Thread(target=self._carry_out, args=(made,), name="cases")
        made.thread.start()
        return name

    def progress(self, cases: str, seen: int, timeout_s: float) -> CasesProgress:
        """The results behind the first ``seen`` ones, as soon as there is one, or the time is over.

        :raises NotFoundError: when there are no such cases, or they are not remembered any more.
        """
        made = self._get(cases)
        with self._changed:
            self._changed.wait_for(lambda: made.is_ended or len(made.results) > seen, timeout_s)
            return CasesProgress(made.results[seen:], made.is_ended)

    def stop(self, cases: str) -> None:
        """Stop: the case that is being tried and those to come are KILLED.

        :raises NotFoundError: likewise.
        """
        made = self._get(cases)
        made.is_stopped = True
        with self._changed:
            self._changed.wait_for(lambda: made.is_ended)

    def close(self) -> None:
        """End it all."""
        for made in list(self._sets.values()):
            made.is_stopped = True
            if made.thread is not None:
                made.thread.join()

    def _get(self, cases: str) -> _Set:
        made = self._sets.get(cases)
        if made is None:
            raise NotFoundError(f"There are no cases '{cases}'.", "Start them again.")
        return made

    # -- in the thread of a set -----------------------------------------------------------------

    def _carry_out(self, made: _Set) -> None:
        try:
            orders: dict[int, Case] = {}
            for number, request in enumerate(made.request.cases):
                if made.is_stopped:
                    break
                prepared = self._prepared(made.request.namespace, request)
                if isinstance(prepared, CaseResult):
                    prepared.case = number
                    self._add(made, prepared)
                else:
                    orders[number] = prepared
            while orders and not made.is_stopped:
                self._try_all(made, orders)
        except Exception as error:
            told = error if isinstance(error, LocalcdapError) else LocalcdapError(str(error))
            made.failure = RunError(told.message, told.corrective_action)
            if not isinstance(error, LocalcdapError):
                raise
        finally:
            self._finish(made)

    def _finish(self, made: _Set) -> None:
        """Let every case have a result."""
        have = {each.case for each in made.results}
        status = CaseStatus.FAILED if made.failure else CaseStatus.KILLED
        for number in range(len(made.request.cases)):
            if number not in have:
                self._add(made, CaseResult(number, status, error=made.failure))
        with self._changed:
            made.is_ended = True
            self._changed.notify_all()

    def _prepared(self, namespace: str, request: CaseRequest) -> Case | CaseResult:
        """What to order of the engine; or how the case has ended already."""
        try:
            return self._ordered(namespace, request)
        except LocalcdapError as error:
            told = RunError(error.message, error.corrective_action)
            return CaseResult(0, CaseStatus.INVALID, error=told)

    def _ordered(self, namespace: str, request: CaseRequest) -> Case | CaseResult:
        written = self._studio.write_out(namespace, request.document).document
        text = written if isinstance(written, str) else msgspec.json.encode(written).decode()
        document = read_document(text)
        preview = preview_of(document, request)
        resolved = self._studio.resolve(
            PipelineRequest(
                text,
                namespace,
                request.arguments,
                runtime=True,
                unevaluated=preview.unevaluated,
                use_suggested=request.use_suggested,
            )
        )
        if resolved.errors:
            return CaseResult(0, CaseStatus.INVALID, errors=resolved.errors)
        require_capabilities(
            resolved.plugins,
            indexed_capabilities(self._artifacts, namespace),
            PREVIEW_REQUIRES,
            "a preview",
        )
        name = document.name or request.name or "pipeline"
        return Case(
            pipeline=name,
            document=text,
            plugins=resolved.plugins,
            arguments=self._studio.arguments(namespace, name, request.arguments),
            logical_start_ms=now()
            if request.logical_start_ms is None
            else request.logical_start_ms,
            preview=preview,
        )

    def _try_all(self, made: _Set, orders: dict[int, Case]) -> None:
        """Try cases in one process; those that have a result then are taken out of ``orders``.

        :raises EngineError: when the engine cannot be had.
        """
        numbers = list(orders)
        hearing = _Hearing(made.request, numbers, lambda result: self._add(made, result))
        process = self._processes.start()
        try:
            order = self._order(made.request.namespace, [orders[each] for each in numbers])
            process.carry_out(
                order, hearing.hear, lambda: made.is_stopped or hearing.is_out_of_time()
            )
        finally:
            process.close()
        if not made.is_stopped:
            hearing.end()
        for each in hearing.done:
            del orders[each]

    def _order(self, namespace: str, cases: list[Case]) -> WorkOrder:
        return WorkOrder(
            run_id="",
            namespace=namespace,
            pipeline="tests",
            document="{}",
            plugins={},
            arguments={},
            logical_start_ms=now(),
            engine_url="",
            base_directory=str(self._home),
            user=getpass.getuser(),
            host_directory=str(self._home),
            cases=cases,
        )

    def _add(self, made: _Set, result: CaseResult) -> None:
        with self._changed:
            made.results.append(result)
            # Nobody needs to wait until the process has gone.
            made.is_ended = len(made.results) == len(made.request.cases)
            self._changed.notify_all()


class _Set:
    """Cases, and how far they are."""

    def __init__(self, request: CasesRequest) -> None:
        self.request: Final = request
        self.results: Final[list[CaseResult]] = []
        self.thread: threading.Thread | None = None
        self.failure: RunError | None = None
        self.is_stopped = False
        self.is_ended = False


class _Hearing:
    """Puts results together from what a process says.

    :param numbers: the places of the cases, in the order in which the process has got them.
    """

    def __init__(
        self, request: CasesRequest, numbers: Sequence[int], add: Callable[[CaseResult], None]
    ) -> None:
        self._requests: Final = request.cases
        self._numbers: Final = numbers
        self._add: Final = add
        self.done: Final[list[int]] = []
        self._current: int | None = None
        self._stages: dict[str, StageSample] = {}
        self._began = time.monotonic()
        self._failed: Failed | None = None
        self._was_killed = False

    def hear(self, message: PreviewMessage) -> None:
        match message:
            case CaseBegan():
                self._current = self._numbers[message.case]
                self._stages, self._began = {}, time.monotonic()
            case Sampled():
                self._stages[message.stage] = message.sample
            case CaseEnded():
                failed = message.failed
                status = CaseStatus.FAILED if failed else CaseStatus.COMPLETED
                self._end(status, _error(failed) if failed else None)
            case Failed():
                self._failed = message
            case StatusChanged(status=RunStatus.KILLED):
                self._was_killed = True

    def is_out_of_time(self) -> bool:
        return time.monotonic() > self._began + self._limit_s

    def end(self) -> None:
        """The process has ended, or was stopped: the case that it was at has failed, or all have."""
        if self._current is not None:
            status, error = CaseStatus.FAILED, _CRASHED
            if self._failed is not None:
                error = _error(self._failed)
            elif self.is_out_of_time():
                status = CaseStatus.KILLED
                error = RunError(
                    f"It was stopped after {self._limit_s:g} s.",
                    "Give fewer records, or more time with 'timeout'.",
                )
            self._end(status, error)
        elif not self.done:
            error = _error(self._failed) if self._failed else _CRASHED
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


_CRASHED: Final = RunError(
    "The process ended unexpectedly: a plugin may have crashed it.",
    "See the last stage that has records; the fault is behind it.",
)


def _error(failed: Failed) -> RunError:
    return RunError(failed.message, failed.corrective_action, failed.stage, failed.trace)


def preview_of(document: PipelineDocument, request: CaseRequest) -> PreviewOrder:
    """What is run of a pipeline, and what is not.

    :raises BadRequestError: when the request names stages that the pipeline does not have.
    """
    types = {stage.name: stage.plugin.type for stage in document.stages}
    given = {each.stream.stage for each in request.given}
    unknown = [name for name in (*given, *request.skip, *request.decisions) if name not in types]
    if unknown:
        raise BadRequestError(
            f"The pipeline has no stage '{unknown[0]}'.", f"Its stages: {', '.join(types)}."
        )
    for name in given:
        if types[name] not in DATA_TYPES:
            raise BadRequestError(
                f"Stage '{name}', of type {types[name]}, gives no records that others could replace.",
                "Give records in place of sources and of other stages that have an output.",
            )
    idle = set(given)
    left_out: set[str] = set()
    while found := {
        name
        for name, type in types.items()
        if name not in idle
        and name not in request.wanted
        and type in DATA_TYPES
        and (targets := {c.target for c in document.connections if c.source == name})
        and targets <= idle
    }:
        left_out |= found
        idle |= found
    sinks = [name for name, type in types.items() if type in SINKS]
    ending = [each.name for each in document.post_actions]
    return PreviewOrder(
        records=request.records,
        shown=MOST_RECORDS,
        given=request.given,
        left_out=[*left_out, *request.skip],
        decisions=request.decisions,
        unevaluated=[*idle, *request.skip, *request.decisions, *sinks, *ending],
    )
