"""Collects the results of cases from the messages of the process that runs them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

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
from localcdap.pipeline_tests.case_model import CaseRequest, CaseResult, CaseStatus
from localcdap.runs.model import RunError, to_run_error

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
