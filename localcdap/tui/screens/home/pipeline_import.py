"""What became of an imported pipeline, and what can be done about its failures."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from localcdap.api.errors import DocumentError
from localcdap.home import Home
from localcdap.host import demo
from localcdap.host.cdap import Cdap
from localcdap.pipeline.library.application_model import Deployment, DeployRequest
from localcdap.runs.model import Run, RunRequest
from localcdap.text import plural
from localcdap.tui.dialogs.dialog_screen import DialogScreen

ImportAnswer = Literal["fix", "open"]


class FailedImportDialog(DialogScreen[ImportAnswer]):
    """Shows why a pipeline was not deployed; the answer is what to do about it.

    ``fix``: take the artifacts that are here; ``open``: mend it in the studio.
    """

    DEFAULT_CSS = """
    FailedImportDialog {
        align: center middle;
        background: $background 60%;
        & > #import {
            width: 84; max-width: 96%; height: auto; max-height: 90%; padding: 1 2; background: $surface;
        }
        & #import-title { text-style: bold; padding-bottom: 1; height: auto; }
        & #import-list { height: auto; max-height: 12; }
        & .import-line { height: auto; padding-bottom: 1; }
        & #import-buttons { height: auto; margin-top: 1; align-horizontal: right; }
        & Button { margin-left: 2; min-width: 12; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "answer('fix')", "take what is here", show=False),
        Binding("o", "answer('open')", "open in the studio", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("up,k", "scroll(-1)", "up", show=False),
        Binding("pagedown,ctrl+d", "scroll(10)", "page down", show=False),
        Binding("pageup,ctrl+u", "scroll(-10)", "page up", show=False),
    ]

    def __init__(self, answer: Deployment, *, is_fixed: bool = False) -> None:
        """:param is_fixed: the artifacts that are here are taken already, and it still has failures."""
        super().__init__()
        self._answer = answer
        self._is_fixed = is_fixed
        self._repairs = [
            each for each in answer.problems if each.repair is not None and not is_fixed
        ]

    def compose(self) -> ComposeResult:
        count = plural(len(self._answer.errors), "failure")
        still = "still has" if self._is_fixed else "has"
        title = f"{self._answer.name} {still} {count}; it is not deployed."
        with Vertical(id="import"):
            yield Static(Content(title), id="import-title")
            with VerticalScroll(id="import-list", can_focus=False):
                for failure in self._answer.errors:
                    yield Static(
                        Content.assemble(
                            ("✗ ", "$error"),
                            (failure.stage or "pipeline", "bold"),
                            f"  {failure.message}",
                            (
                                f"\n  {failure.corrective_action}"
                                if failure.corrective_action
                                else "",
                                "$foreground 60%",
                            ),
                        ),
                        classes="import-line",
                    )
                for problem in self._repairs:
                    yield Static(
                        Content.assemble(
                            ("⚒ ", "$accent"), (problem.stage, "bold"), f"  {problem.message}"
                        ),
                        classes="import-line",
                    )
            with Horizontal(id="import-buttons"):
                yield Button("Leave it", id="leave", compact=True)
                if self._repairs:
                    yield Button("Take what is here (x)", id="fix", compact=True)
                yield Button("Open in studio (o)", id="open", variant="primary", compact=True)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        match event.button.id:
            case "fix":
                self.dismiss("fix")
            case "open":
                self.dismiss("open")
            case _:
                self.dismiss(None)

    def action_answer(self, way: ImportAnswer) -> None:
        if way == "open" or self._repairs:
            self.dismiss(way)

    def action_scroll(self, by: int) -> None:
        self.query_one("#import-list").scroll_relative(y=by, animate=False)


def read(path: Path) -> str:
    """The text of a pipeline file.

    :raises DocumentError: when it cannot be read.
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


def deploy(cdap: Cdap, path: Path, namespace: str, *, fix: bool) -> Deployment:
    """Deploy a pipeline file.

    :param fix: have stages name the artifacts that are here, where they ask for others.
    """
    return cdap.applications.deploy(
        DeployRequest(read(path), namespace, fallback_name=path.stem, file=str(path), fix=fix)
    )


def run_demo(cdap: Cdap, home: Home, namespace: str) -> tuple[Path, Run]:
    """Set the sample pipeline up and start a run of it."""
    file = demo.install_demo(home)
    request = RunRequest(read(file), namespace, demo.NAME, demo.get_arguments(file))
    return file, cdap.runs.start(request)
