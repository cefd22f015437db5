"""The input of a job: the records of a pipeline, as they reach its only sink."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from localcdap.api.errors import BadRequestError
from localcdap.engine.driver.execution import prepare_plans
from localcdap.engine.messages.spool import RecordCounts
from localcdap.engine.plan.contexts import RunContext
from localcdap.engine.plan.planner import plan_flow
from localcdap.engine.plan.resolution import ResolvedFlow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class JobInput:
    """A planned pipeline; nothing is read before the first action on its records.

    :raises BadRequestError: when the pipeline has other stages than those of one phase with one sink.
    :raises StageError: when a stage cannot be planned, or its schema differs from the propagated one.
    """

    def __init__(self, resolved: ResolvedFlow, run: RunContext) -> None:
        steps = resolved.route.steps
        if len(steps) != 1 or not steps[0].is_phase or resolved.ending_actions:
            raise BadRequestError(
                "The pipeline of a job's input has actions, conditions or separate parts.",
                "Use connected sources and transforms, and one sink.",
            )
        self._flow = resolved.create_phase(steps[0].stages, resolved.route.connections)
        self._plan = plan_flow(self._flow, run, counts=True)
        if len(self._plan.sinks) != 1:
            self.release()
            raise BadRequestError("The pipeline of a job's input has several sinks.", "Use one.")
        prepare_plans([self._plan], self._plan.checks)

    @property
    def frame(self) -> DataFrame:
        """The records that reach the sink."""
        return self._plan.sinks[0].frame

    def count(self) -> dict[str, RecordCounts]:
        """Return the counts of each stage; they wait for the first action on the records."""
        return {} if self._plan.counter is None else self._plan.counter.get_totals(self._flow)

    def release(self) -> None:
        """Release what Spark keeps."""
        for frame in self._plan.persisted:
            with contextlib.suppress(Exception):  # the engine may be gone
                frame.unpersist()
