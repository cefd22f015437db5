"""An open pipeline with everything around it: its title, its board, its inspector, its problems, its log."""

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
from localcdap.runs.preview.model import Preview, PreviewRequest
from localcdap.text import plural
from localcdap.tui.canvas.canvas import Canvas
from localcdap.tui.document.editor import Editor
from localcdap.tui.inspector.inspector import Inspector
from localcdap.tui.keys.commands import Command
from localcdap.tui.labels import format_status
from localcdap.tui.log.run_log import RunLog
from localcdap.tui.pipeline.activity import Running, counts_of, marks_of
from localcdap.tui.pipeline.editable_canvas import Board
from localcdap.tui.pipeline.problem_list import Problems, fix_of_all
from localcdap.tui.pipeline.save_actions import Keeper
from localcdap.tui.pipeline.settings_dialog import PipelineSettings
from localcdap.tui.pipeline.title_bar import Title
from localcdap.tui.routes import PipelineFileTarget
from localcdap.tui.screens.runs.arguments import ArgumentsDialog
from localcdap.tui.screens.settings.locations import choose_location
from localcdap.tui.studio import StudioNode
from localcdap.tui.system.idle_gc import collect_and_freeze

_WIDE: Final = 120
"""Columns from which on the inspector stands beside the canvas."""


class Desk(StudioNode, Vertical):
    """One open pipeline."""

    DEFAULT_CSS = """
    Desk {
        height: 1fr;
        & > Horizontal { height: 1fr; }
        & Board { width: 1fr; height: 1fr; }
        & Inspector { width: 42%; min-width: 56; max-width: 90; display: none; border-left: vkey $panel; }
        & #drawer { height: 35%; max-height: 16; display: none; border-top: hkey $panel; }
        &.-inspecting Inspector { display: block; }
        &.-inspecting.-narrow Inspector { width: 1fr; max-width: 100%; border-left: none; }
        &.-inspecting.-narrow Board { display: none; }
        &.-drawer #drawer { display: block; }
        &.-sound #drawer { height: 2; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "run", "run", id="pipeline.run"),
        Binding("v", "preview", "preview", id="pipeline.preview"),
        Binding("X", "stop", "stop", id="pipeline.stop"),
        Binding("ctrl+s", "save", "save", id="pipeline.save"),
        Binding("ctrl+r", "run_with", "run with arguments", id="pipeline.run_with", show=False),
        Binding("V", "detect", "validate connected", id="pipeline.detect", show=False),
        Binding("S", "save_as", "save as draft", id="pipeline.save_as", show=False),
        Binding("E", "export", "export to a file", id="pipeline.export", show=False),
        Binding("D", "deploy", "deploy", id="pipeline.deploy", show=False),
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
        self._arguments: dict[str, str] = {}
        """What the last run was given."""
        self._is_begun = False

    def compose(self) -> ComposeResult:
        yield self.editor
        yield Running()
        yield Title(self.editor)
        with Horizontal():
            yield Board(self.editor)
            yield Inspector(self.editor)
        with ContentSwitcher(id="drawer", initial="problems"):
            yield Problems(self.editor, id="problems")
            yield RunLog(None, id="log")

    def on_mount(self) -> None:
        self.editor.changed.subscribe(self, self._on_change)
        self._begin()  # all may be known by now
        self._select_first()
        self._runner.find(self.editor.namespace, self.editor.title)
        self._arrange()

    def on_resize(self) -> None:
        self._arrange()

    @property
    def board(self) -> Board:
        return self.query_one(Board)

    @property
    def inspector(self) -> Inspector:
        return self.query_one(Inspector)

    @property
    def keeper(self) -> Keeper:
        """What saves the pipeline."""
        return Keeper(self, self.editor)

    @property
    def _runner(self) -> Running:
        return self.query_one(Running)

    def list_commands(self) -> Iterable[Command]:
        """What the palette has besides the keys."""
        yield Command("pipeline: judge anew", self.editor.judge_anew, "With the plugins of now.")
        yield Command(
            "pipeline: say where buckets are on this machine",
            self.locate,
            "gs://bucket as a folder.",
        )

    def show_stage(self, stage: str, property: str | None = None) -> None:
        """Go to a stage, and into its form where a property is named."""
        self.editor.select(stage)
        if property is not None:
            self._open_inspector()
            self.inspector.show(stage, property)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if self.explain_disabled(action) else True

    def explain_disabled(self, action: str) -> str | None:
        """Why an action cannot be done now."""
        editor = self.editor
        if action == "undo" and not editor.can_undo:
            return "there is nothing to undo"
        if action == "redo" and not editor.can_redo:
            return "there is nothing to redo"
        if action == "stop" and not (self.is_mounted and self._runner.is_active):
            return "nothing is running"
        if action == "try" and editor.selected is None:
            return "no stage is selected"
        if action == "log" and not (self.is_mounted and self.query_one(RunLog).run_id):
            return "it was not run yet"
        if action in ("run", "preview", "run_with", "deploy") and not editor.stages:
            return "the pipeline has no stages"
        return None

    # -- what is shown ---------------------------------------------------------------------------

    def _arrange(self) -> None:
        """The inspector beside the canvas where there is room, else in its place when it is wanted."""
        if not self.size.width:  # it has no place yet
            return
        is_narrow = self.size.width < _WIDE
        if is_narrow != self.has_class("-narrow") or not self.has_class("-arranged"):
            self.add_class("-arranged", update=False)
            self.set_class(is_narrow, "-narrow", update=False)
            self.set_class(not is_narrow or self._is_inspecting, "-inspecting", update=False)
            self.update_node_styles()  # once: it takes a while with all that is below

    @property
    def _is_inspecting(self) -> bool:
        focused = self.screen.focused
        return focused is not None and self.inspector in focused.ancestors_with_self

    def _open_inspector(self) -> None:
        self.inspector.settle()
        self.add_class("-inspecting")

    def action_inspect(self) -> None:
        """Go to the inspector, or take it away when it is there and not looked into."""
        if self.has_class("-inspecting") and not self.has_class("-narrow"):
            self.remove_class("-inspecting")
            self.board.focus()
        else:
            self._open_inspector()
            self.call_after_refresh(self.inspector.go_in)

    def action_try(self) -> None:
        """Try the stage that is selected."""
        self._open_inspector()
        self.inspector.action_try()

    @on(Canvas.Opened)
    def _look_into(self, event: Canvas.Opened) -> None:
        event.stop()
        self.editor.select(event.stage)
        self._open_inspector()
        self.call_after_refresh(self.inspector.go_in)

    def action_back(self) -> None:
        if self.has_class("-narrow"):
            self.remove_class("-inspecting")
        self.board.focus()

    def action_log(self) -> None:
        """Show the log of the run below the canvas, or take it away."""
        self.action_drawer("log")

    def action_drawer(self, part: str) -> None:
        """Show a part below the canvas, or take it away."""
        switcher = self.query_one("#drawer", ContentSwitcher)
        if self.has_class("-drawer") and switcher.current == part:
            self.remove_class("-drawer")
            self.board.focus()
            return
        switcher.current = part
        self.add_class("-drawer")
        self._fit_drawer()
        self.call_after_refresh(self._focus_in, switcher.get_child_by_id(part))

    def _fit_drawer(self) -> None:
        """Leave the room of an empty list of problems to the canvas."""
        is_list = self.query_one("#drawer", ContentSwitcher).current == "problems"
        editor = self.editor
        is_sound = editor.is_known and not (editor.failures or editor.warnings or editor.checking)
        self.set_class(is_list and is_sound, "-sound")

    def _focus_in(self, part: Vertical) -> None:
        if part.can_focus:
            part.focus()
            return
        for widget in self.screen.focus_chain:
            if part in widget.ancestors:
                widget.focus()
                return

    @on(Problems.Chosen)
    def _go_to_problem(self, event: Problems.Chosen) -> None:
        event.stop()
        if event.stage is None:
            self.studio.show_notice(
                "This is about the pipeline as a whole.", "Its settings are behind s."
            )
            return
        self._open_inspector()
        self.inspector.show(event.stage, event.property)

    def _on_change(self, change: Editor.Changed) -> None:
        if change.is_graph:
            self.refresh_bindings()
        self._fit_drawer()
        self._begin()

    def _begin(self) -> None:
        """Once, when everything about the pipeline as it was opened is told."""
        editor, target = self.editor, self.editor.target
        if self._is_begun or not editor.is_settled:
            return
        self._is_begun = True
        if isinstance(target, PipelineFileTarget) and target.takes_fixes:
            fix = fix_of_all(editor, editor.failures)
            if fix is not None:
                editor.apply(fix, by=self)
        if not self.app.is_headless:  # tests have much that is not the studio's
            self.call_after_refresh(collect_and_freeze)

    def _select_first(self) -> None:
        """Begin with the stage that a reader begins with."""
        self.editor.select(self.board.first_stage)

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
            "Looking at files and databases.", "What is found shows up in the stages."
        )

    @work(group="dialog", exclusive=True)
    async def action_settings(self) -> None:
        edit = await self.app.push_screen_wait(PipelineSettings(self.editor))
        if edit is not None:
            self.editor.apply(edit, by=self)

    @work(group="dialog", exclusive=True)
    async def locate(self) -> None:
        """Ask where a bucket that the pipeline names lies."""
        editor = self.editor
        values = (
            v for stage in editor.stages for v in as_properties(editor.properties(stage)).values()
        )
        await choose_location(self.studio, values)

    # -- keeping -----------------------------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_save(self) -> None:
        self.inspector.flush()
        await self.keeper.save()

    @work(group="dialog", exclusive=True)
    async def action_save_as(self) -> None:
        self.inspector.flush()
        await self.keeper.save_as()

    @work(group="dialog", exclusive=True)
    async def action_export(self) -> None:
        self.inspector.flush()
        await self.keeper.export()

    @work(group="dialog", exclusive=True)
    async def action_deploy(self) -> None:
        self.inspector.flush()
        if not await self.keeper.deploy():
            self._show_problems()

    # -- running -----------------------------------------------------------------------------------

    def action_run(self) -> None:
        """Run it with the arguments of the last time; missing ones are asked for."""
        self.inspector.flush()
        if self._is_ready():
            self._run(always_ask=False)

    def action_run_with(self) -> None:
        self.inspector.flush()
        self._run(always_ask=True)

    @work(group="dialog", exclusive=True)
    async def _run(self, *, always_ask: bool) -> None:
        editor = self.editor
        text, namespace, name = editor.text(), editor.namespace, editor.title
        if not await self._has_arguments(text, "Run", always_ask=always_ask):
            return
        source = editor.source
        is_deployed = source.application is not None and not editor.is_changed
        self._runner.run(
            RunRequest(
                text,
                namespace=namespace,
                name=name,
                arguments=self._arguments,
                application=source.application if is_deployed else None,
                application_version=source.version if is_deployed else None,
            )
        )

    async def _has_arguments(self, text: str, verb: str, *, always_ask: bool = False) -> bool:
        """Ask for arguments where macros have no value. False when its user does not want to say.

        :param verb: what is done with them then.
        :param always_ask: also where nothing is lacking.
        """
        if not (always_ask or await self._lacks_arguments(text)):
            return True
        editor = self.editor
        given = await self.app.push_screen_wait(
            ArgumentsDialog(editor.namespace, editor.title, text, given=self._arguments, verb=verb)
        )
        if given is None:
            return False
        self._arguments = given
        editor.judge_with(given)
        return True

    async def _lacks_arguments(self, text: str) -> bool:
        """Whether a macro has no value."""
        editor, given = self.editor, self._arguments
        namespace, name = editor.namespace, editor.title
        try:
            asked = await self.call_and_wait(
                lambda cdap: cdap.runs.arguments(namespace, text, name)
            )
        except LocalcdapError:
            return False  # the run says better what is wrong
        return any(each.value is None and each.name not in given for each in asked.arguments)

    def action_preview(self) -> None:
        self.inspector.flush()
        if self._is_ready():
            self._preview()

    @work(group="dialog", exclusive=True)
    async def _preview(self) -> None:
        """Preview it, with the arguments as for a run."""
        editor = self.editor
        text, namespace, name = editor.text(), editor.namespace, editor.title
        if await self._has_arguments(text, "Preview"):
            self._runner.preview(
                PreviewRequest(text, namespace=namespace, name=name, arguments=self._arguments)
            )

    def _is_ready(self) -> bool:
        """Whether nothing is known to be wrong; the failures are shown otherwise."""
        failures = self.editor.failures
        if failures:
            self.studio.show_notice(
                f"The pipeline has {plural(len(failures), 'failure')}.",
                "They are listed below; n goes to the next.",
                "warning",
            )
            self._show_problems()
        return not failures

    def _show_problems(self) -> None:
        self.query_one("#drawer", ContentSwitcher).current = "problems"
        self.add_class("-drawer")
        self._fit_drawer()

    @work(group="dialog", exclusive=True)
    async def action_stop(self) -> None:
        activity = self._runner.activity
        if isinstance(activity, Preview) or await self.studio.confirm(
            "Stop the run?", "What it has written so far is discarded.", "Stop"
        ):
            self._runner.stop()

    @on(Running.Changed)
    def _show_activity(self, event: Running.Changed) -> None:
        event.stop()
        activity = event.activity
        self.query_one(Title).show_activity(activity)
        self.refresh_bindings()
        if isinstance(activity, Run):
            self.query_one(RunLog).run_id = activity.run
        elif event.is_new:
            self.inspector.preview(activity.preview)
        if event.is_new or not activity.status.is_end or self.board.shows_counts:
            self.board.show_counts(counts_of(activity, self.editor.document), marks_of(activity))
        if activity.status.is_end:
            self._tell_end(activity)

    @on(Running.Refused)
    def _tell_refusal(self, event: Running.Refused) -> None:
        event.stop()
        error = event.error
        self.studio.show_notice(error.message, error.corrective_action or "", "error")
        if isinstance(error, InvalidPipelineError):
            self._show_problems()

    def _tell_end(self, activity: Run | Preview) -> None:
        error = activity.error
        what = "run" if isinstance(activity, Run) else "preview"
        if isinstance(activity, Preview) and activity.errors:
            self._tell_failures(activity.errors)
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
        is_told = error.message.startswith(f"Stage '{error.stage}'")
        where = f"{error.stage}: " if error.stage and not is_told else ""
        self.studio.show_notice(
            f"The {what} failed. {where}{error.message}", error.corrective_action or "", "error"
        )
        if error.stage and self.editor.node(error.stage):
            self.editor.select(error.stage)

    def _tell_failures(self, failures: list[ValidationFailure]) -> None:
        """Why a preview was not begun; the first stage with a failure is selected."""
        first, others = failures[0], len(failures) - 1
        where = f"{first.stage}: " if first.stage else ""
        more = f" And {plural(others, 'other failure')}." if others else ""
        self.studio.show_notice(
            f"The preview was refused. {where}{first.message}{more}",
            first.corrective_action or "",
            "error",
        )
        if first.stage and self.editor.node(first.stage):
            self.editor.select(first.stage)
