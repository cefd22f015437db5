"""A preview from its order to its end: a run that writes nothing and tells the records of every stage."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.errors import EngineError, StageError
from localcdap.api.pipeline import StageConnection
from localcdap.engine.driver.contexts import Surroundings
from localcdap.engine.driver.reporting import status
from localcdap.engine.driver.running import Run
from localcdap.engine.driver.secrets import secrets_of
from localcdap.engine.driver.workflow import Workflow
from localcdap.engine.messages import Failed, Message, RunStatus
from localcdap.engine.order import PreviewOrder, WorkOrder
from localcdap.engine.plan.counting import StageCounts
from localcdap.engine.plan.flow import Flow, Stream
from localcdap.engine.plan.phases import Step
from localcdap.engine.plan.resolving import Resolved
from localcdap.engine.preview.given import given_records
from localcdap.engine.preview.running import given_batches
from localcdap.engine.preview.samples import StageSample
from localcdap.engine.preview.stepwise import Stepwise, Told
from localcdap.messaging.spool import SpoolWriter
from localcdap.sandbox.process_limits import limit_memory

if TYPE_CHECKING:
    import pyarrow as pa

_LOG: Final = logging.getLogger("localcdap.engine")
_MEMORY_MB: Final = 3072
"""Of the process, in which all that is Python runs; Spark's own is elsewhere."""
_GRACE_S: Final = 5.0
"""Seconds that the process may take to stop by itself when its owner has gone."""


class Sampled(msgspec.Struct, tag="sample", tag_field="kind"):
    """What a stage made of a few records."""

    stage: str
    sample: StageSample


class CaseBegan(msgspec.Struct, tag="case", tag_field="kind"):
    """What is told from here on is of this case."""

    case: int
    """Its place in the order."""


class CaseEnded(msgspec.Struct, tag="case-end", tag_field="kind"):
    """Nothing more comes of this case."""

    case: int
    failed: Failed | None = None


class Explained(msgspec.Struct, tag="explained", tag_field="kind"):
    """How stages would be run."""

    stages: dict[str, list[str]]
    """Lines by stage, in the order of the pipeline."""


PreviewMessage = Message | Sampled | CaseBegan | CaseEnded | Explained
"""What a preview says about itself."""


class PreviewRun(Run):
    """Carries out the order of a preview. It ends with its owner, who holds the other end of its input."""

    def _carry_out(self, spool: SpoolWriter) -> RunStatus:
        limit_memory(_MEMORY_MB)
        threading.Thread(target=end_with_owner, name="owner", daemon=True).start()
        preview = self._order.preview
        if preview is None:
            raise EngineError("The work order is none of a preview.")
        told = partial(self._tell, spool)
        if preview.trial is not None:
            self._try(preview, spool, told)
        else:
            self._preview(preview, spool, told)
        spool.append(status(RunStatus.COMPLETED))
        return RunStatus.COMPLETED

    def _preview(self, preview: PreviewOrder, spool: SpoolWriter, told: Told) -> None:
        resolved, around = self._resolved()
        _LOG.info("Preview of pipeline '%s' running", self._order.pipeline)
        spool.append(status(RunStatus.RUNNING))
        if preview.explains:
            spool.append(Explained(self._explained(resolved, around)))
            return
        steps = PreviewWorkflow(self._order, resolved, around, preview, told)
        steps.run_data()
        steps.run_ending()

    def _explained(self, resolved: Resolved, around: Surroundings) -> dict[str, list[str]]:
        """How the stages of a run are computed: it is planned, and its schemas are compared."""
        steps = Workflow(self._order, resolved, around, lambda _: None)
        steps.prepare()
        steps.release()
        stages = (name for step in resolved.route.steps for name in step.stages)
        return {name: steps.explained[name] for name in stages if name in steps.explained}

    def _try(self, preview: PreviewOrder, spool: SpoolWriter, told: Told) -> None:
        trial = preview.trial
        assert trial is not None
        stage = trial.stage
        connections = [StageConnection(name, stage.name) for name in stage.input_schemas]
        given, around = self._while_connecting(partial(given_batches, stage, trial.inputs))
        spool.append(status(RunStatus.RUNNING))
        stepwise = Stepwise(
            Flow([stage], connections),
            around,
            limit=preview.records,
            shown=preview.shown,
            told=told,
            given=given,
        )
        stepwise.run()

    def _tell(self, spool: SpoolWriter, stage: str, sample: StageSample) -> None:
        sample.problems = secrets_of(self._order).without(sample.problems)
        spool.append(Sampled(stage, sample))

    def _undone(self, spool: SpoolWriter, end: RunStatus, why: list[Failed]) -> RunStatus:
        """There is nothing to be undone, and post actions are not for previews."""
        spool.append(*why, status(end))
        return end


class PreviewWorkflow(Workflow):
    """The steps of a preview: phases stage by stage, actions and conditions as in a run."""

    def __init__(
        self,
        order: WorkOrder,
        resolved: Resolved,
        around: Surroundings,
        preview: PreviewOrder,
        told: Told,
    ) -> None:
        super().__init__(order, resolved, around, lambda _: None)
        self._preview: Final = preview
        self._told: Final = told
        self._kept: Final[dict[str, Any]] = {}
        """By condition: the records that reach it, a batch each."""

    def _run_phase(self, number: int, step: Step, stages: list[str]) -> None:
        """:raises StageError: when a stage has failed, once all that do not need it have run."""
        self._refresh(step)
        self._require_all_inputs(stages)
        self._chain(self._kept)
        flow = self._resolved.phase(stages, self._live)
        stepwise = Stepwise(
            flow,
            self._around,
            limit=self._preview.records,
            shown=self._preview.shown,
            told=self._told,
            given=self._given(flow),
            left_out=self._preview.left_out,
        )
        stepwise.run()
        self._kept.update(stepwise.connectors)
        self._count_phase(stages, stepwise.counts)
        for problem in stepwise.problems:
            raise _error(problem.message, problem.corrective_action, problem.stage, problem.trace)

    def _given(self, flow: Flow) -> Mapping[Stream, pa.RecordBatch]:
        entries = [s.name for s in flow.stages if not s.input_schemas and s.name in self._kept]
        led_to = {Stream(name): self._kept[name] for name in entries}
        return led_to | given_records(flow, self._preview.given)

    def _run_control(self, step: Step, name: str) -> None:
        decided = self._preview.decisions.get(name)
        if decided is not None:
            self._chain(self._kept)
            self._leave(name, "true" if decided else "false")
        elif name in self._preview.left_out:
            self._leave(name)
        else:
            super()._run_control(step, name)

    def _count_phase(self, stages: list[str], counts: dict[str, StageCounts]) -> None:
        for name in self._route.exits(stages):
            if name in counts:
                counts[name].out = counts[name].in_
        self._count(counts)


def _error(message: str, action: str | None, stage: str | None, trace: str | None) -> StageError:
    made = StageError(message, action, stage=stage)
    for line in (trace or "").splitlines():
        made.add_note(line)
    return made


def end_with_owner() -> None:
    """Wait for the end of the input; then nobody is there who could ask for the records."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os._exit(1)  # a plugin holds up what stops it
