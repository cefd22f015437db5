"""Running and previewing a pipeline, its settings and recordings, with the questions before them.

The run or preview of an open pipeline is followed while the pipeline is on the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec
from textual.message import Message
from textual.widget import Widget

from localcdap.api.errors import BadRequestError, InvalidPipelineError, LocalcdapError
from localcdap.engine.messages.spool import RunStatus
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.recordings.model import INSTANCE, parse_recording
from localcdap.pipeline.rules.graph import ACTIONS, SINKS, SOURCE
from localcdap.pipeline.validation.datasets import DATASET_UPDATE
from localcdap.runs.model import Run, RunRequest, StageCounts
from localcdap.runs.preview.model import Preview, PreviewRequest, PreviewStatus
from localcdap.tui.canvas.stage_card import StageMark
from localcdap.tui.document.editor import Editor
from localcdap.tui.pipeline.settings_dialog import (
    PipelineSettingsDialog,
    list_connection_names,
    read_environment,
    set_profile,
)
from localcdap.tui.screens.runs.arguments import ask_arguments
from localcdap.tui.service_calls import FollowedSource
from localcdap.tui.studio import StudioNode, get_studio

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


def needs_dataset_updates(error: LocalcdapError) -> bool:
    """Return whether a run was refused only because datasets must change before it can write them."""
    failures = _list_failures(error)
    return bool(failures) and all(each["type"] == DATASET_UPDATE for each in failures)


def _list_failures(error: LocalcdapError) -> Sequence[dict[str, Any]]:
    return error.failures if isinstance(error, InvalidPipelineError) else ()


class RunActions:
    """The run and preview actions of a pipeline. The methods are awaited in a worker.

    :param node: the widget that calls the services.
    :param runner: starts and follows what is run.
    """

    def __init__(self, node: StudioNode, editor: Editor, runner: ActivityRunner) -> None:
        self._node = node
        self._editor = editor
        self._runner = runner

    async def repeat_connected_checks(self) -> None:
        """Make the connected checks of failed stages again: their files may have been corrected since."""
        stages = self._editor.list_detected_failures()
        if stages:
            try:
                await self._editor.detect_and_wait(stages)
            except LocalcdapError as error:
                get_studio(self._node).report_error(error)

    async def run(self, *, always_ask: bool) -> None:
        """Run the pipeline, with the arguments of the last run.

        :param always_ask: ask for arguments even when no value is missing.
        """
        editor = self._editor
        text, namespace, name = editor.to_text(), editor.namespace, editor.title
        if not await ask_arguments(self._node, editor, "Run", always_ask=always_ask):
            return
        source = editor.source
        is_deployed = source.application is not None and not editor.is_changed
        self._runner.run(
            RunRequest(
                text,
                namespace=namespace,
                name=name,
                arguments=editor.arguments,
                application=source.application if is_deployed else None,
                application_version=source.version if is_deployed else None,
            )
        )

    async def run_with_updates(self, request: RunRequest, error: LocalcdapError) -> None:
        """Ask whether the datasets that a run cannot write yet may change, and start it again if so."""
        changes = [each["message"] for each in _list_failures(error)]
        if await get_studio(self._node).confirm(
            "Change the dataset and run?", "\n".join(changes), "Change and run"
        ):
            self._runner.run(msgspec.structs.replace(request, update_datasets=True))

    async def preview(self) -> None:
        """Preview the pipeline, with the arguments as for a run."""
        editor = self._editor
        text, namespace, name = editor.to_text(), editor.namespace, editor.title
        if await ask_arguments(self._node, editor, "Preview"):
            self._runner.preview(
                PreviewRequest(text, namespace=namespace, name=name, arguments=editor.arguments)
            )


class SettingsActions:
    """The action that changes the settings of a pipeline.

    :param node: the widget that calls the services.
    """

    def __init__(self, node: StudioNode, editor: Editor) -> None:
        self._node = node
        self._editor = editor

    async def change(self) -> None:
        """Ask for the settings, and keep what was changed. Await it in a worker."""
        editor, studio = self._editor, get_studio(self._node)
        namespace, names = editor.namespace, list_connection_names(editor)
        found = await self._node.call_and_wait(
            lambda cdap: read_environment(cdap, namespace, editor.title, names)
        )
        changed = await self._node.app.push_screen_wait(PipelineSettingsDialog(editor, found))
        if changed is None:
            return
        if changed.edit is not None:
            editor.apply(changed.edit, origin=self._node)
        if changed.profile is not None:
            profile, name = changed.profile, editor.title
            self._node.call(
                partial(set_profile, namespace=namespace, pipeline=name, profile=profile),
                lambda _: studio.show_notice(
                    f"Runs of '{name}' take place on profile '{profile}'."
                    if profile
                    else f"Runs of '{name}' take place on the default profile."
                ),
            )


_FORMS: Final = {
    "source": ("generate:100", "a file, table:NAME, dataset:NAME or generate:N"),
    "sink": ("discard", "a folder such as out.csv, table:NAME,KEY or discard"),
    "action": ("skip", "skip does nothing in its place"),
    "other": ("pass", "pass hands its records on"),
}
"""By kind of stage, a suggestion and what there is."""


class RecordingActions:
    """The action that sets or removes the recording of a stage.

    :param node: the widget that calls the services.
    """

    def __init__(self, node: StudioNode, editor: Editor) -> None:
        self._node = node
        self._editor = editor

    async def change(self, stage: str) -> None:
        """Ask for the recording of a stage, and validate with it. Await it in a worker."""
        state = self._editor.get_state(stage)
        set_now = state.stand_in if state is not None else None
        suggested, forms = _FORMS[self._find_kind(stage)]
        text = await get_studio(self._node).ask(
            f"Recording of {stage}",
            set_now.recording if set_now is not None else suggested,
            detail=f"What it uses in place of its system: {forms}. Empty: its own plugin.",
            verb="Set",
            check=_find_problem,
        )
        if text is None or (set_now is not None and text.strip() == set_now.recording):
            return
        await self._node.call_and_wait(lambda cdap: self._store(cdap, stage, text.strip()))
        self._editor.revalidate()

    def _find_kind(self, stage: str) -> str:
        use = self._editor.get_stage(stage)
        type = use.plugin.type if use is not None else ""
        if type == SOURCE:
            return "source"
        if type in SINKS:
            return "sink"
        return "action" if type in ACTIONS else "other"

    def _store(self, cdap: Cdap, stage: str, text: str) -> None:
        """Keep a recording; an empty text removes the one that the studio has set."""
        editor = self._editor
        name = editor.document.name or editor.title
        key = f"stage:{name}/{stage}"
        if text:
            cdap.recordings.set_recording(editor.namespace, key, text)
            return
        stored = cdap.recordings.list_recordings(editor.namespace)
        if any(each.subject == key and each.origin == INSTANCE for each in stored):
            cdap.recordings.remove_recording(editor.namespace, key)
            return
        raise BadRequestError(
            f"The recording of '{stage}' is not one of this stage alone.",
            "Remove it where it was set; 'localcdap recordings' lists where that is.",
        )


def _find_problem(text: str) -> str | None:
    """Return what is wrong with a recording; an empty text is none."""
    try:
        if text.strip():
            parse_recording(text)
    except BadRequestError as error:
        return error.full_message
    return None
