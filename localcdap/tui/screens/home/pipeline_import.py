"""Imports pipeline files: reads and deploys them, and shows the failures of a refused deployment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from localcdap.api.errors import DocumentError
from localcdap.host.cdap import Cdap
from localcdap.pipeline.library.application_model import Deployment, DeployRequest
from localcdap.text import plural
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.routes import PipelineFileTarget
from localcdap.tui.studio import Studio

ImportAnswer = Literal["fix", "open"]


class FailedImportDialog(DialogScreen[ImportAnswer]):
    """Shows why a pipeline was not deployed, and asks what to do.

    The answer ``fix`` means to use the installed versions of plugins; ``open`` means to open the file in the
    studio.
    """

    DEFAULT_CSS = """
    FailedImportDialog {
        & > #dialog { width: 84; }
        & #import-list { height: auto; max-height: 12; }
        & .import-line { height: auto; padding-bottom: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "answer('fix')", "use installed versions", show=False),
        Binding("o", "answer('open')", "open in the studio", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("up,k", "scroll(-1)", "up", show=False),
        Binding("pagedown,ctrl+d", "scroll(10)", "page down", show=False),
        Binding("pageup,ctrl+u", "scroll(-10)", "page up", show=False),
    ]

    def __init__(self, deployment: Deployment, *, is_fixed: bool = False) -> None:
        """:param is_fixed: whether the deployment used installed versions already."""
        super().__init__()
        self._deployment = deployment
        self._is_fixed = is_fixed
        self._repairs = [
            each for each in deployment.problems if each.repair is not None and not is_fixed
        ]

    def compose_body(self) -> ComposeResult:
        count = plural(len(self._deployment.errors), "failure")
        still = "still has" if self._is_fixed else "has"
        title = f"{self._deployment.name} {still} {count} and was not deployed."
        yield Static(Content(title), id="dialog-title")
        with VerticalScroll(id="import-list", can_focus=False):
            for failure in self._deployment.errors:
                action = failure.corrective_action
                line = Content.assemble(
                    ("✗ ", "$error"),
                    (failure.stage or "pipeline", "bold"),
                    f"  {failure.message}",
                    (f"\n  {action}" if action else "", "$foreground 60%"),
                )
                yield Static(line, classes="import-line")
            for problem in self._repairs:
                line = Content.assemble(
                    ("⚒ ", "$accent"), (problem.stage, "bold"), f"  {problem.message}"
                )
                yield Static(line, classes="import-line")
        with Horizontal(id="dialog-buttons"):
            yield Button("Cancel", id="cancel", compact=True)
            if self._repairs:
                yield Button("Use installed versions (x)", id="fix", compact=True)
            yield Button("Open in studio (o)", id="open", variant="primary", compact=True)

    @on(Button.Pressed, "#fix")
    def _press_fix(self) -> None:
        self.dismiss("fix")

    @on(Button.Pressed, "#open")
    def _press_open(self) -> None:
        self.dismiss("open")

    def action_answer(self, answer: ImportAnswer) -> None:
        if answer == "open" or self._repairs:
            self.dismiss(answer)

    def action_scroll(self, by: int) -> None:
        self.query_one("#import-list").scroll_relative(y=by, animate=False)


def read_pipeline_file(path: Path) -> str:
    """Return the text of a pipeline file.

    :raises DocumentError: when the file cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{path} is not UTF-8 text: {error.reason} at byte {error.start}.",
            "A pipeline file is the JSON that CDAP or Data Fusion exports.",
            file=str(path),
        ) from None
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}.", file=str(path)) from None


def open_pipeline_file(studio: Studio, path: Path, *, takes_fixes: bool = False) -> None:
    """Open a pipeline file in the studio and remember it among the recent files."""
    studio.user_state.remember_file(path)
    studio.save_user_state()
    studio.navigate(PipelineFileTarget(path.absolute(), takes_fixes=takes_fixes))


def import_pipeline(
    screen: AreaScreen, path: Path, on_deployed: Callable[[str], object], *, fix: bool = False
) -> None:
    """Deploy a pipeline file. When it has failures, ask whether to fix it or to open it.

    :param on_deployed: gets the name of the deployed pipeline.
    :param fix: whether installed versions of plugins replace versions that are not installed.
    """
    studio = screen.studio
    namespace = studio.namespace

    def deploy(cdap: Cdap) -> Deployment:
        text = read_pipeline_file(path)
        return cdap.applications.deploy(
            DeployRequest(text, namespace, fallback_name=path.stem, file=str(path), fix=fix)
        )

    def show_result(deployment: Deployment) -> None:
        if deployment.application is None:
            screen.run_worker(ask_what_to_do(deployment), group="import", exclusive=True)
            return
        changes = "\n".join(str(each) for each in (*deployment.repairs, *deployment.upgrades))
        version = deployment.application.number
        studio.show_notice(f"Deployed {deployment.name}, version {version}.", changes)
        on_deployed(deployment.name)

    async def ask_what_to_do(deployment: Deployment) -> None:
        dialog = FailedImportDialog(deployment, is_fixed=fix)
        match await screen.app.push_screen_wait(dialog):
            case "fix":
                import_pipeline(screen, path, on_deployed, fix=True)
            case "open":
                open_pipeline_file(studio, path, takes_fixes=fix)

    screen.call(deploy, on_result=show_result)
