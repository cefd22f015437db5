"""The runs screen: the actions on the runs of the history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from textual import on, work
from textual.binding import Binding, BindingType

from localcdap.api.errors import InvalidPipelineError, LocalcdapError
from localcdap.api.metadata import MetadataEntity
from localcdap.host.cdap import Cdap
from localcdap.runs.arguments import GIVEN
from localcdap.runs.history import RunFilter
from localcdap.runs.model import Run, RunRequest
from localcdap.text import format_duration
from localcdap.tui.labels import RUN_MARKS, sanitize_lines, sanitize_name
from localcdap.tui.routes import DeployedTarget, DocumentTarget
from localcdap.tui.screens.runs.arguments import ArgumentsDialog
from localcdap.tui.screens.runs.comparison import RunComparison
from localcdap.tui.screens.runs.history_screen import RunHistoryScreen
from localcdap.tui.screens.runs.run_list import format_start_time
from localcdap.tui.screens.runs.run_view import RunView
from localcdap.tui.studio import Choice

_MOST_FAILURES: Final = 4
_OF_A_RUN: Final = ("again", "again_with", "open_pipeline", "compare", "copy_id", "show_log")


class RunsScreen(RunHistoryScreen):
    """Shows and manages the runs of a namespace. A narrow screen shows either the history or a run."""

    AREA = "runs"
    CSS_PATH = "runs.tcss"
    AUTO_FOCUS = "#runs-list"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "again", "run again", id="runs.again"),
        Binding("R", "again_with", "run with other arguments", id="runs.again_with", show=False),
        Binding("x", "stop", "stop", id="runs.stop"),
        Binding("o", "open_pipeline", "open pipeline", id="runs.open_pipeline"),
        Binding("c", "compare", "compare", id="runs.compare", show=False),
        Binding("L", "show_log", "log", id="runs.log"),
        Binding("p", "pipeline", "runs of a pipeline", id="runs.pipeline"),
        Binding("s", "state", "runs with a status", id="runs.state", show=False),
        Binding("t", "table", "as a table", id="runs.table"),
        Binding("slash", "filter", "filter runs", id="runs.filter", key_display="/"),
        Binding("y", "copy_id", "copy run id", id="runs.copy_id", show=False),
        Binding("f5", "refresh", "refresh", id="runs.refresh", show=False),
        Binding("escape", "back", "back", id="runs.back", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._reasons: list[str | None] = []

    # -- keys ----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action == "filter" or super().check_action(action, parameters)

    @property
    def entity(self) -> MetadataEntity | None:
        """The deployed pipeline of the highlighted run."""
        run = self.run
        if run is None or run.application_version is None:
            return None
        return MetadataEntity.of_application(run.pipeline, run.namespace)

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        if action == "metadata" and self.entity is None:
            return "no run of a deployed pipeline is highlighted"
        if action not in (*_OF_A_RUN, "stop"):
            return None
        run = self.run
        if run is None:
            return "no run is highlighted"
        if action == "stop" and run.status.is_end:
            return "the run has ended"
        if action in ("again", "again_with", "open_pipeline") and run.document is None:
            return "an older localcdap made the run and did not store its pipeline"
        return None

    def action_again(self) -> None:
        run = self.run
        if run is not None:
            self._start(run, None)

    def action_again_with(self) -> None:
        run = self.run
        if run is not None:
            self.call(
                lambda cdap: read_rerun(cdap, run),
                on_result=lambda found: self._edit_arguments(run, *found),
                group="start",
            )

    def _edit_arguments(self, run: Run, document: str, given: dict[str, str]) -> None:
        def start(arguments: dict[str, str] | None) -> None:
            if arguments is not None:
                self._start(run, arguments)

        editor = ArgumentsDialog(run.namespace, run.pipeline, document, given)
        self.app.push_screen(editor, start)

    def _start(self, run: Run, arguments: dict[str, str] | None) -> None:
        self.call(
            lambda cdap: rerun(cdap, run, arguments),
            on_result=self._show_started,
            on_error=self._show_start_error,
            group="start",
        )

    def _show_start_error(self, error: LocalcdapError) -> None:
        """Show the failures of a pipeline that could not be started, or another error."""
        if not isinstance(error, InvalidPipelineError):
            self.studio.report_error(error)
            return
        lines = [_format_failure(each) for each in error.failures[:_MOST_FAILURES]]
        if len(error.failures) > _MOST_FAILURES:
            lines.append(f"and {len(error.failures) - _MOST_FAILURES} more")
        lines.append("o opens the pipeline in the studio.")
        self.studio.show_notice(error.message, "\n".join(lines), "error")

    @work(group="dialog")
    async def action_stop(self) -> None:
        run = self.run
        if run is None or run.status.is_end:
            return
        question = f"Stop run {run.run[:8]} of {sanitize_name(run.pipeline)}?"
        detail = (
            "The files and tables that it writes stay as they were before it. What its actions changed, and "
            "the rows that it committed to databases, remain."
        )
        if await self.studio.confirm(question, detail, verb="Stop"):
            self.call(lambda cdap: cdap.runs.stop(run.run), group="stop")

    def action_open_pipeline(self) -> None:
        run = self.run
        if run is None:
            return
        stage, version = self._view.stage, run.application_version
        if version is not None:
            self.call(
                lambda cdap: cdap.applications.has_application(run.namespace, run.pipeline),
                on_result=lambda there: (
                    self.studio.navigate(DeployedTarget(run.pipeline, version, stage))
                    if there
                    else self._open_document(run, stage)
                ),
                group="open",
            )
        else:
            self._open_document(run, stage)

    def _open_document(self, run: Run, stage: str | None) -> None:
        self.call(
            lambda cdap: cdap.runs.get_document(run.run),
            on_result=lambda text: self.studio.navigate(DocumentTarget(run.pipeline, text, stage)),
            group="open",
        )

    def action_compare(self) -> None:
        run = self.run
        if run is not None:
            wanted = RunFilter(run.pipeline)
            self.call(
                lambda cdap: cdap.runs.list_page(run.namespace, wanted, None, 200).runs,
                on_result=lambda runs: self._compare(run, runs),
                group="compare",
            )

    @work(group="dialog")
    async def _compare(self, run: Run, runs: Sequence[Run]) -> None:
        others = [each for each in runs if each.run != run.run]
        if not others:
            self.studio.show_notice(f"{run.pipeline} has run only once.", "Run it again with r.")
            return
        choices = [Choice(_format_run(each), each, hint=each.run[:8]) for each in others]
        older = next((each for each in others if each.starting <= run.starting), None)
        title = f"Compare run {run.run[:8]} with"
        other = await self.studio.choose(choices, title=title, current=older)
        if other is not None:
            self.app.push_screen(RunComparison(*sorted((run, other), key=lambda r: r.starting)))

    def action_show_log(self) -> None:
        self.add_class("-run")
        self._view.show_tab("log")
        self.call_after_refresh(self._view.focus_inside)

    def action_copy_id(self) -> None:
        if self.run is not None:
            self.studio.copy_text(self.run.run, "id of the run")

    @on(RunView.Changed)
    def _update_keys(self) -> None:
        reasons = [self.explain_disabled(action) for action in (*_OF_A_RUN, "stop")]
        if reasons != self._reasons:
            self._reasons = reasons
            self.refresh_bindings()


def _format_failure(failure: Mapping[str, Any]) -> str:
    """Return stage and message of a failure."""
    stage, message = failure.get("stage"), sanitize_lines(str(failure.get("message", "")))
    return f"{sanitize_name(str(stage))}: {message}" if stage else message


def _format_run(run: Run) -> str:
    mark, _ = RUN_MARKS[run.status]
    took = format_duration(run.starting, run.end)
    return f"{mark} {run.status.lower():10} {format_start_time(run.starting):13} {took:>12}"


def read_rerun(cdap: Cdap, run: Run) -> tuple[str, dict[str, str]]:
    """Return the document of a run, and the values to give to a new run with the same arguments.

    These are the values that were given to the run, and the preferences that have changed since.

    :raises NotFoundError: when the document was not stored.
    """
    document = cdap.runs.get_document(run.run)
    current = cdap.runs.get_arguments(run.namespace, document, run.pipeline)
    values = {each.name: each.value for each in current.arguments}
    given = {
        name: value
        for name, value in run.arguments.items()
        if run.origins.get(name, GIVEN) == GIVEN or values.get(name) != value
    }
    return document, given


def build_rerun_request(run: Run, document: str, arguments: Mapping[str, str]) -> RunRequest:
    """Build the request to run the pipeline of a run again with the same profile."""
    deployed = run.application_version is not None
    return RunRequest(
        document=document,
        namespace=run.namespace,
        name=run.pipeline,
        arguments=dict(arguments),
        profile=run.profile,
        use_suggested=bool(run.repairs),
        application=run.pipeline if deployed else None,
        application_version=run.application_version,
    )


def rerun(cdap: Cdap, run: Run, arguments: Mapping[str, str] | None = None) -> Run:
    """Run the pipeline of a run again.

    :param arguments: the arguments of the new run; None for the same arguments.
    :raises InvalidPipelineError: when the pipeline now has failures.
    :raises NotFoundError: when the document of the run was not stored.
    """
    document, same = read_rerun(cdap, run)
    return cdap.runs.start(
        build_rerun_request(run, document, same if arguments is None else arguments)
    )
