"""What runs of an open pipeline: its runs and previews, followed while the pipeline is on the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from textual.message import Message
from textual.widget import Widget

from localcdap.api.errors import LocalcdapError
from localcdap.engine.messages.spool import RunStatus
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.rules.plugin_types import SINKS
from localcdap.runs.model import Run, RunRequest, StageCounts
from localcdap.runs.preview.model import Preview, PreviewRequest, PreviewStatus
from localcdap.tui.canvas.stage_card import Mark
from localcdap.tui.screens.runs.run_watcher import get_current_counts
from localcdap.tui.service_calls import FollowedSource
from localcdap.tui.studio import StudioNode

_POLL_S: Final = 1.5
_Start = Callable[[Cdap], Run | Preview]


class Running(StudioNode, Widget):
    """Starts, follows and stops the run or preview of a pipeline. It is never seen.

    A run goes on when this is removed; :meth:`find` finds it again.
    """

    DEFAULT_CSS = "Running { display: none; }"

    @dataclass
    class Changed(Message):
        """The run or preview is another one, or further on."""

        activity: Run | Preview
        is_new: bool
        """Whether it was just started here."""

    @dataclass
    class Refused(Message):
        """What was to be started was not."""

        error: LocalcdapError

    def __init__(self) -> None:
        super().__init__()
        self.activity: Run | Preview | None = None
        """What was started or found last."""
        self.is_starting = False
        self._following: FollowedSource | None = None

    @property
    def is_active(self) -> bool:
        """Whether there is something to stop."""
        return self.activity is not None and not self.activity.status.is_end

    def find(self, namespace: str, pipeline: str) -> None:
        """Follow the newest run of a pipeline if it has not ended."""

        def found(runs: list[Run]) -> None:
            if runs and not runs[0].status.is_end and self.activity is None:
                self._begin(runs[0], is_new=False)

        self.call(lambda cdap: cdap.runs.list_runs(namespace, pipeline, 1), found, group="find")

    def run(self, request: RunRequest) -> None:
        self._start(lambda cdap: cdap.runs.start(request))

    def preview(self, request: PreviewRequest) -> None:
        self._start(lambda cdap: cdap.previews.start(request))

    def stop(self) -> None:
        """Have the run or preview stopped."""
        match self.activity:
            case Run(run=key):
                self.call(lambda cdap: cdap.runs.stop(key), group="stop")
            case Preview(preview=key, namespace=namespace):
                self.call(lambda cdap: cdap.previews.stop(namespace, key), group="stop")

    def _start(self, start: _Start) -> None:
        if self.is_starting:
            return
        self.is_starting = True

        def started(activity: Run | Preview) -> None:
            self.is_starting = False
            self._begin(activity, is_new=True)

        def failed(error: LocalcdapError) -> None:
            self.is_starting = False
            self.post_message(Running.Refused(error))

        self.call(start, started, on_error=failed, group="start")

    def _begin(self, activity: Run | Preview, *, is_new: bool) -> None:
        if self._following is not None:
            self._following.stop()
        self.activity = activity
        self.post_message(Running.Changed(activity, is_new))
        if not activity.status.is_end:

            def versions(cdap: Cdap) -> Iterator[Any]:
                return _versions(cdap, activity)

            self._following = self.follow(versions, self._take)

    def _take(self, activity: Run | Preview) -> None:
        if self.activity is None or activity.version != self.activity.version:
            self.activity = activity
            self.post_message(Running.Changed(activity, is_new=False))


def counts_of(activity: Run | Preview, document: PipelineDocument) -> dict[str, StageCounts]:
    """The records of each stage, as far as they are known."""
    if isinstance(activity, Preview):
        sinks = {stage.name for stage in document.stages if stage.plugin.type in SINKS}
        return {
            stage: StageCounts(records_in=sample.count)  # what it would write
            if stage in sinks
            else StageCounts(records_out=sample.count, errors=sample.error_count)
            for stage, sample in activity.stages.items()
        }
    return {stage: get_current_counts(activity, stage) for stage in activity.stages}


def marks_of(activity: Run | Preview) -> dict[str, Mark]:
    """How each stage is: the one that failed is known, the others are as the whole."""
    if not activity.status.is_end:
        return dict.fromkeys(activity.stages, Mark.RUNNING)
    is_good = activity.status in (RunStatus.COMPLETED, PreviewStatus.COMPLETED)
    marks = dict.fromkeys(activity.stages, Mark.VALID if is_good else Mark.UNKNOWN)
    if activity.error is not None and activity.error.stage:
        marks[activity.error.stage] = Mark.WRONG
    return marks


def _versions(cdap: Cdap, activity: Run | Preview) -> Iterator[Run | Preview]:
    """A run or preview whenever it is another one, until it has ended."""
    while not activity.status.is_end:
        version = activity.version
        if isinstance(activity, Run):
            activity = cdap.runs.wait(activity.run, version, _POLL_S)
        else:
            activity = cdap.previews.wait(activity.namespace, activity.preview, version, _POLL_S)
        yield activity
