"""The run or preview of an open pipeline, followed while the pipeline is on the screen."""

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
from localcdap.pipeline.rules.graph import SINKS
from localcdap.runs.model import Run, RunRequest, StageCounts
from localcdap.runs.preview.model import Preview, PreviewRequest, PreviewStatus
from localcdap.tui.canvas.stage_card import StageMark
from localcdap.tui.service_calls import FollowedSource
from localcdap.tui.studio import StudioNode

_POLL_S: Final = 1.5
_Start = Callable[[Cdap], Run | Preview]


class ActivityRunner(StudioNode, Widget):
    """Starts, follows and stops the run or preview of a pipeline. An invisible widget.

    A run goes on when this is removed; :meth:`find` finds it again.
    """

    DEFAULT_CSS = "ActivityRunner { display: none; }"

    @dataclass
    class Changed(Message):
        """The run or preview has started or progressed."""

        activity: Run | Preview
        is_new: bool
        """Whether the user has just started it here."""

    @dataclass
    class Rejected(Message):
        """A run or preview could not be started."""

        error: LocalcdapError
        request: RunRequest | PreviewRequest

    def __init__(self) -> None:
        super().__init__()
        self.activity: Run | Preview | None = None
        """The run or preview that was started or found last."""
        self.is_starting = False
        self._following: FollowedSource | None = None

    @property
    def is_active(self) -> bool:
        """Whether a run or preview can be stopped."""
        return self.activity is not None and not self.activity.status.is_end

    def find_running(self, namespace: str, pipeline: str) -> None:
        """Follow the newest run of a pipeline when it is still running."""

        def follow_active(runs: list[Run]) -> None:
            if runs and not runs[0].status.is_end and self.activity is None:
                self._follow_activity(runs[0], is_new=False)

        self.call(
            lambda cdap: cdap.runs.list_runs(namespace, pipeline, 1), follow_active, group="find"
        )

    def run(self, request: RunRequest) -> None:
        self._start(lambda cdap: cdap.runs.start(request), request)

    def preview(self, request: PreviewRequest) -> None:
        self._start(lambda cdap: cdap.previews.start(request), request)

    def stop(self) -> None:
        """Stop the run or preview."""
        match self.activity:
            case Run(run=key):
                self.call(lambda cdap: cdap.runs.stop(key), group="stop")
            case Preview(preview=key, namespace=namespace):
                self.call(lambda cdap: cdap.previews.stop(namespace, key), group="stop")

    def _start(self, start: _Start, request: RunRequest | PreviewRequest) -> None:
        if self.is_starting:
            return
        self.is_starting = True

        def follow_started(activity: Run | Preview) -> None:
            self.is_starting = False
            self._follow_activity(activity, is_new=True)

        def show_error(error: LocalcdapError) -> None:
            self.is_starting = False
            self.post_message(ActivityRunner.Rejected(error, request))

        self.call(start, follow_started, on_error=show_error, group="start")

    def _follow_activity(self, activity: Run | Preview, *, is_new: bool) -> None:
        if self._following is not None:
            self._following.stop()
        self.activity = activity
        self.post_message(ActivityRunner.Changed(activity, is_new))
        if not activity.status.is_end:

            def versions(cdap: Cdap) -> Iterator[Any]:
                return _poll_versions(cdap, activity)

            self._following = self.follow(versions, self._take)

    def _take(self, activity: Run | Preview) -> None:
        if self.activity is None or _read_state(activity) != _read_state(self.activity):
            self.activity = activity
            self.post_message(ActivityRunner.Changed(activity, is_new=False))


def build_stage_counts(
    activity: Run | Preview, document: PipelineDocument
) -> dict[str, StageCounts]:
    """Return the record counts of each stage, as far as they are known."""
    if isinstance(activity, Preview):
        sinks = {stage.name for stage in document.stages if stage.plugin.type in SINKS}
        return {
            stage: StageCounts(
                records_in=sample.count
            )  # a preview does not write: the records that a sink would write
            if stage in sinks
            else StageCounts(records_out=sample.count, errors=sample.error_count)
            for stage, sample in activity.stages.items()
        }
    return {stage: activity.get_latest_counts(stage) for stage in activity.stages}


def build_stage_marks(activity: Run | Preview) -> dict[str, StageMark]:
    """Return the mark of each stage: the failed stage by its error, the others by the status of the run."""
    if not activity.status.is_end:
        return dict.fromkeys(activity.stages, StageMark.RUNNING)
    is_good = activity.status in (RunStatus.COMPLETED, PreviewStatus.COMPLETED)
    marks = dict.fromkeys(activity.stages, StageMark.VALID if is_good else StageMark.UNKNOWN)
    if activity.error is not None:
        stages = (activity.error.stage, *(each.stage for each in activity.error.failures))
        marks |= {stage: StageMark.WRONG for stage in stages if stage}
    return marks


def _read_state(activity: Run | Preview) -> tuple[int, int]:
    """Return what differs after each change: the version, and the position in the queue."""
    return activity.version, activity.position if isinstance(activity, Run) else 0


def _poll_versions(cdap: Cdap, activity: Run | Preview) -> Iterator[Run | Preview]:
    """Yield each new version of a run or preview until it has ended."""
    while not activity.status.is_end:
        version = activity.version
        if isinstance(activity, Run):
            activity = cdap.runs.wait(activity.run, version, _POLL_S)
        else:
            activity = cdap.previews.wait(activity.namespace, activity.preview, version, _POLL_S)
        yield activity
