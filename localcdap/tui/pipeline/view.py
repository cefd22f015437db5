"""An open pipeline: title bar, canvas, inspector, and the drawer with problems and log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import ContentSwitcher

from localcdap.api.errors import InvalidPipelineError, LocalcdapError
from localcdap.api.failures import ValidationFailure
from localcdap.pipeline.document.values import as_properties
from localcdap.runs.model import Run, RunRequest
from localcdap.runs.preview.model import Preview
from localcdap.text import plural
from localcdap.tui.canvas.canvas import Canvas
from localcdap.tui.commands import Command
from localcdap.tui.document.editor import Editor
from localcdap.tui.document.local_document import DocumentChange
from localcdap.tui.inspector.inspector import Inspector
from localcdap.tui.inspector.preparation import explain_no_schema
from localcdap.tui.labels import format_status
from localcdap.tui.log.run_log import RunLog
from localcdap.tui.machine import collect_and_freeze
from localcdap.tui.pipeline.actions import (
    ActivityRunner,
    RunActions,
    SettingsActions,
    build_stage_counts,
    build_stage_marks,
    needs_dataset_updates,
)
from localcdap.tui.pipeline.editable_canvas import EditableCanvas
from localcdap.tui.pipeline.problem_list import ProblemList, find_all_fixes
from localcdap.tui.pipeline.save_actions import SaveActions
from localcdap.tui.pipeline.title_bar import TitleBar
from localcdap.tui.routes import PipelineFileTarget
from localcdap.tui.screens.settings.settings_file import choose_location
from localcdap.tui.studio import StudioNode

_WARM_UP_S: Final = 3.0
"""Seconds after the first validation until Spark is started: who only looks at a pipeline leaves before."""
_WIDE: Final = 120
"""The columns from which on canvas and inspector are shown side by side."""


class PipelineView(StudioNode, Vertical):
    """The widgets of one open pipeline."""

    DEFAULT_CSS = """
    PipelineView {
        height: 1fr;
        & > Horizontal { height: 1fr; }
        & #canvas-frame { width: 1fr; height: 1fr; border: round $panel; }
        & #canvas-frame:focus-within, & Inspector:focus-within { border: round $accent; }
        & EditableCanvas { width: 1fr; height: 1fr; }
        & Inspector { width: 42%; min-width: 56; max-width: 90; display: none; border: round $panel; }
        & #drawer { height: 35%; max-height: 16; display: none; border-top: hkey $panel; }
        & #drawer:focus-within { border-top: heavy $accent; }
        &.-narrow #canvas-frame, &.-narrow Inspector { border: none; }
        &.-narrow Inspector { width: 1fr; max-width: 100%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "run", "run", id="pipeline.run"),
        Binding("v", "preview", "preview", id="pipeline.preview"),
        Binding("X", "stop", "stop", id="pipeline.stop"),
        Binding("f7", "get_schema", "get schema", id="stage.get_schema"),
        Binding("ctrl+s", "save", "save", id="pipeline.save"),
        Binding("ctrl+r", "run_with", "run with arguments", id="pipeline.run_with", show=False),
        Binding(
            "V", "detect", "validate with files and databases", id="pipeline.detect", show=False
        ),
        Binding("S", "save_as", "save as draft", id="pipeline.save_as", show=False),
        Binding("E", "export", "export to a file", id="pipeline.export", show=False),
        Binding("D", "deploy", "deploy", id="pipeline.deploy", show=False),
        Binding("I", "impact", "what the changes break", id="pipeline.impact", show=False),
        Binding("s", "settings", "settings of the pipeline", id="pipeline.settings", show=False),
        Binding("ctrl+z,u", "undo", "undo", id="pipeline.undo", show=False),
        Binding("ctrl+y,U,ctrl+shift+z", "redo", "redo", id="pipeline.redo", show=False),
        Binding("i", "inspect", "inspector", id="pipeline.inspector", show=False),
        Binding("P", "drawer('problems')", "problems", id="pipeline.problems"),
        Binding("O", "log", "log of the run", id="pipeline.log"),
        Binding("f9,ctrl+enter", "try", "try the stage", id="trial.run", show=False),
        Binding("escape", "back", "back to the canvas", id="pipeline.back", show=False),
    ]

    def __init__(self, editor: Editor) -> None:
        super().__init__()
        self.editor = editor
        self._runner = ActivityRunner()
        self._run_actions = RunActions(self, editor, self._runner)
        self._is_started = False
        self._is_narrow: bool | None = None
        """None before the first layout."""

    def compose(self) -> ComposeResult:
        yield self.editor
        yield self._runner
        yield TitleBar(self.editor)
        with Horizontal():
            with Vertical(id="canvas-frame"):
                yield EditableCanvas(self.editor)
            yield Inspector(self.editor)
        with ContentSwitcher(id="drawer", initial="problems"):
            yield ProblemList(self.editor, id="problems")
            yield RunLog(None, id="log")

    def on_mount(self) -> None:
        self.editor.document_changed.subscribe(self, self._take_change)
        self.editor.validation_changed.subscribe(self, lambda _: self._follow_editor())
        self._start()  # the validation may be complete by now
        self._select_first()
        self._runner.find_running(self.editor.namespace, self.editor.title)
        self._update_layout()

    def on_resize(self) -> None:
        self._update_layout()

    @property
    def canvas(self) -> EditableCanvas:
        return self.query_one(EditableCanvas)

    @property
    def inspector(self) -> Inspector:
        return self.query_one(Inspector)

    @property
    def save_actions(self) -> SaveActions:
        """The actions that save the pipeline."""
        return SaveActions(self, self.editor)

    def list_commands(self) -> Iterable[Command]:
        """Return the commands that the palette has besides the key actions."""
        yield Command(
            "pipeline: revalidate", self.editor.revalidate, "With the plugins installed now."
        )
        yield Command(
            "pipeline: map a bucket to a folder",
            self.choose_location,
            "Files of gs://bucket are read from a folder of this machine.",
        )

    def show_stage(self, stage: str, property: str | None = None) -> None:
        """Select a stage, and focus a property in its form."""
        self.editor.select(stage)
        if property is not None:
            self._open_inspector()
            self.inspector.show(stage, property)

    def explain_disabled(self, action: str) -> str | None:
        """Return why an action cannot be done now."""
        editor = self.editor
        if action == "undo" and not editor.can_undo:
            return "there is nothing to undo"
        if action == "redo" and not editor.can_redo:
            return "there is nothing to redo"
        if action == "stop" and not (self.is_mounted and self._runner.is_active):
            return "nothing is running"
        if action == "try" and editor.selected is None:
            return "no stage is selected"
        if action == "get_schema":
            return explain_no_schema(editor.get_stage(editor.selected or ""))
        if action == "log" and not (self.is_mounted and self.query_one(RunLog).run_id):
            return "there is no run yet"
        if action in ("run", "preview", "run_with", "deploy", "impact") and not editor.stages:
            return "the pipeline has no stages"
        return None

    # -- what is shown ---------------------------------------------------------------------------

    def _update_layout(self) -> None:
        """Show the inspector beside the canvas on a wide screen, else instead of it while it is used."""
        if not self.size.width:  # not laid out yet
            return
        is_narrow = self.size.width < _WIDE
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            self.set_class(is_narrow, "-narrow")
            self._show_inspector(not is_narrow or self._has_focus_in_inspector)

    def _show_inspector(self, is_shown: bool) -> None:
        """Show or hide the inspector.

        Parts are shown and hidden by ``display``: a class of this widget would have Textual style all its
        descendants again, which takes 25 ms with an open form.
        """
        self.inspector.display = is_shown
        self.query_one("#canvas-frame").display = not (is_shown and self._is_narrow)

    @property
    def _has_focus_in_inspector(self) -> bool:
        focused = self.screen.focused
        return focused is not None and self.inspector in focused.ancestors_with_self

    @property
    def _drawer(self) -> ContentSwitcher:
        return self.query_one("#drawer", ContentSwitcher)

    def _open_inspector(self) -> None:
        self.inspector.show_selected()
        self._show_inspector(True)

    def action_inspect(self) -> None:
        """Focus the inspector, or hide it when it is shown without the focus."""
        if self.inspector.display and not self._is_narrow:
            self._show_inspector(False)
            self.canvas.focus()
        else:
            self._open_inspector()
            self.call_after_refresh(self.inspector.focus_content)

    def action_try(self) -> None:
        """Run the selected stage on records."""
        self._open_inspector()
        self.inspector.action_try()

    def action_get_schema(self) -> None:
        """Take the schema of the selected source from its data."""
        self.inspector.action_get_schema()

    @on(Canvas.Opened)
    def _inspect_stage(self, event: Canvas.Opened) -> None:
        event.stop()
        self.editor.select(event.stage)
        self._open_inspector()
        self.call_after_refresh(self.inspector.focus_content)

    def action_back(self) -> None:
        if self.canvas.has_focus:
            self.studio.explain_no_effect("nothing is selected and the canvas has the focus")
        if self._is_narrow:
            self._show_inspector(False)
        self.canvas.focus()

    def action_log(self) -> None:
        """Show the log of the run below the canvas, or hide it."""
        self.action_drawer("log")

    def action_drawer(self, part: str) -> None:
        """Show a part below the canvas, or hide it."""
        drawer = self._drawer
        if drawer.display and drawer.current == part:
            drawer.display = False
            self.canvas.focus()
            return
        self._open_drawer(part)
        self.call_after_refresh(self._focus_in, drawer.get_child_by_id(part))

    def _open_drawer(self, part: str) -> None:
        self._drawer.current = part
        self._drawer.display = True
        self._fit_drawer()

    def _fit_drawer(self) -> None:
        """Shrink the drawer while the list of problems is empty."""
        is_list = self._drawer.current == "problems"
        editor = self.editor
        is_valid = editor.is_known and not (editor.failures or editor.warnings or editor.checking)
        self._drawer.styles.height = 2 if is_list and is_valid else None

    def _focus_in(self, part: Vertical) -> None:
        if part.can_focus:
            part.focus()
            return
        for widget in self.screen.focus_chain:
            if part in widget.ancestors:
                widget.focus()
                return

    @on(ProblemList.Chosen)
    def _go_to_problem(self, event: ProblemList.Chosen) -> None:
        event.stop()
        if event.stage is None:
            self.studio.show_notice(
                "This failure is about the pipeline as a whole.", "s opens its settings."
            )
            return
        self._open_inspector()
        self.inspector.show(event.stage, event.property)

    def _take_change(self, change: DocumentChange) -> None:
        if change.is_graph:
            self.refresh_bindings()
        self._follow_editor()

    def _follow_editor(self) -> None:
        self._fit_drawer()
        self._start()

    def _start(self) -> None:
        """Do what waits for the first complete validation; called after every change."""
        editor, target = self.editor, self.editor.target
        if self._is_started or not editor.is_validated:
            return
        self._is_started = True
        if isinstance(target, PipelineFileTarget) and target.takes_fixes:
            fix = find_all_fixes(editor, editor.failures)
            if fix is not None:
                editor.apply(fix, origin=self)
        if not self.app.is_headless:  # a test process has many objects besides the studio
            self.call_after_refresh(collect_and_freeze)
            self.set_timer(_WARM_UP_S, self.warm_up_spark)

    def warm_up_spark(self) -> None:
        """Have Spark started in the background when the pipeline could be run."""
        namespace = self.editor.namespace
        if self.editor.is_valid and self.editor.stages:
            self.call(
                lambda cdap: cdap.runs.warm_up(namespace), on_error=lambda _: None, group="warm"
            )

    def _select_first(self) -> None:
        """Select the first stage of the drawing."""
        self.editor.select(self.canvas.first_stage)

    # -- editing -----------------------------------------------------------------------------------

    def action_undo(self) -> None:
        self.inspector.flush()
        self.editor.undo()

    def action_redo(self) -> None:
        self.inspector.flush()
        self.editor.redo()

    def action_detect(self) -> None:
        self.inspector.flush()
        self.editor.detect()
        self.studio.show_notice(
            "Validating with files and databases.", "The stages show the results."
        )

    @work(group="dialog", exclusive=True)
    async def action_settings(self) -> None:
        await SettingsActions(self, self.editor).change()

    @work(group="dialog", exclusive=True)
    async def choose_location(self) -> None:
        """Ask which folder of this machine stands for a bucket of the pipeline."""
        editor = self.editor
        values = (
            v
            for stage in editor.stages
            for v in as_properties(editor.get_properties(stage)).values()
        )
        await choose_location(self.studio, values)

    # -- saving -----------------------------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_save(self) -> None:
        self.inspector.flush()
        await self.save_actions.save()

    @work(group="dialog", exclusive=True)
    async def action_save_as(self) -> None:
        self.inspector.flush()
        await self.save_actions.save_as()

    @work(group="dialog", exclusive=True)
    async def action_export(self) -> None:
        self.inspector.flush()
        await self.save_actions.export()

    @work(group="dialog", exclusive=True)
    async def action_deploy(self) -> None:
        self.inspector.flush()
        if not await self.save_actions.deploy():
            self._open_drawer("problems")

    @work(group="dialog", exclusive=True)
    async def action_impact(self) -> None:
        self.inspector.flush()
        await self.save_actions.show_impact()

    # -- running -----------------------------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_run(self) -> None:
        """Run the pipeline with the arguments of the last run; ask for missing ones."""
        self.inspector.flush()
        if await self._check_failures():
            await self._run_actions.run(always_ask=False)

    @work(group="dialog", exclusive=True)
    async def action_run_with(self) -> None:
        self.inspector.flush()
        await self._run_actions.run(always_ask=True)

    @work(group="dialog", exclusive=True)
    async def action_preview(self) -> None:
        self.inspector.flush()
        if await self._check_failures():
            await self._run_actions.preview()

    async def _check_failures(self) -> bool:
        """Return whether there are no failures; show the failures otherwise."""
        await self._run_actions.repeat_connected_checks()
        failures = self.editor.failures
        if failures:
            self.studio.show_notice(
                f"The pipeline has {plural(len(failures), 'failure')}.",
                "They are listed below; n goes to the next.",
                "warning",
            )
            self._open_drawer("problems")
        return not failures

    @work(group="dialog", exclusive=True)
    async def action_stop(self) -> None:
        activity = self._runner.activity
        if isinstance(activity, Preview) or await self.studio.confirm(
            "Stop the run?", "What it has written so far is discarded.", "Stop"
        ):
            self._runner.stop()

    @on(ActivityRunner.Changed)
    def _show_activity(self, event: ActivityRunner.Changed) -> None:
        event.stop()
        activity = event.activity
        self.query_one(TitleBar).show_activity(activity)
        self.refresh_bindings()
        if isinstance(activity, Run):
            self.query_one(RunLog).run_id = activity.run
        elif event.is_new:
            self.inspector.show_preview(activity.preview)
        if event.is_new or not activity.status.is_end or self.canvas.shows_counts:
            self.canvas.show_counts(
                build_stage_counts(activity, self.editor.document), build_stage_marks(activity)
            )
        if activity.status.is_end:
            self._show_end(activity)

    @on(ActivityRunner.Rejected)
    def _show_rejection(self, event: ActivityRunner.Rejected) -> None:
        event.stop()
        error = event.error
        if isinstance(event.request, RunRequest) and needs_dataset_updates(error):
            self._ask_dataset_updates(event.request, error)
            return
        self.studio.report_error(error)
        if isinstance(error, InvalidPipelineError):
            self.editor.detect()  # so that the list has what the service found
            self._open_drawer("problems")

    @work(group="datasets")
    async def _ask_dataset_updates(self, request: RunRequest, error: LocalcdapError) -> None:
        await self._run_actions.run_with_updates(request, error)

    def _show_end(self, activity: Run | Preview) -> None:
        error = activity.error
        what = "run" if isinstance(activity, Run) else "preview"
        if (error is not None and error.failures) or (
            isinstance(activity, Preview) and activity.errors
        ):
            self.editor.detect()  # so that the list has what the run found
            self._open_drawer("problems")
        if isinstance(activity, Preview) and activity.errors:
            self._show_preview_failures(activity.errors)
            return
        if error is None:
            more = (
                ""
                if isinstance(activity, Run)
                else "The records of each stage are in its inspector."
            )
            self.studio.show_notice(
                f"The {what} has ended: {format_status(activity.status)}.", more
            )
            return
        names_stage = error.message.startswith(f"Stage '{error.stage}'")
        where = f"{error.stage}: " if error.stage and not names_stage else ""
        self.studio.show_notice(
            f"The {what} failed. {where}{error.message}", error.corrective_action or "", "error"
        )
        if error.stage and self.editor.get_node(error.stage):
            self.editor.select(error.stage)

    def _show_preview_failures(self, failures: list[ValidationFailure]) -> None:
        """Show why a preview was rejected, and select the first stage with a failure."""
        first, others = failures[0], len(failures) - 1
        where = f"{first.stage}: " if first.stage else ""
        more = f" And {plural(others, 'other failure')}." if others else ""
        self.studio.show_notice(
            f"The preview was rejected. {where}{first.message}{more}",
            first.corrective_action or "",
            "error",
        )
        if first.stage and self.editor.get_node(first.stage):
            self.editor.select(first.stage)
