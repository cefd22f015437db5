"""What the open pipeline changes for fields, datasets and other pipelines, before it is deployed."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localcdap.metadata.lineage.impact_service import ImpactReport
from localcdap.metadata.lineage.impact_text import describe_impact, summarize_impact
from localcdap.text import plural, sanitize_for_terminal
from localcdap.tui.dialogs.dialog_screen import DialogScreen


class PipelineImpactDialog(DialogScreen[bool]):
    """Shows an impact report.

    :param verb: the action that enter confirms, such as ``Deploy``; the answer is then True. Without a verb,
        enter does nothing.
    """

    DEFAULT_CSS = """
    PipelineImpactDialog {
        align: center middle;
        background: $background 60%;
        & > #impact {
            width: 100; max-width: 94%; height: auto; max-height: 90%; padding: 1 2; background: $surface;
        }
        & #impact-title { height: auto; }
        & #impact-blocks { height: auto; max-height: 28; margin: 1 0; scrollbar-size-vertical: 1; }
        & #impact-blocks > Static { height: auto; margin-bottom: 1; }
        & #impact-keys { height: 1; color: $foreground 60%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "copy", id="impact.copy"),
        Binding("enter", "accept", "confirm", id="impact.accept", show=False),
        Binding("j,down", "scroll(1)", "down", show=False),
        Binding("k,up", "scroll(-1)", "up", show=False),
        Binding("q", "dismiss_empty", "back", show=False),
    ]

    def __init__(self, report: ImpactReport, *, verb: str = "") -> None:
        super().__init__()
        self._report = report
        self._verb = verb

    def compose(self) -> ComposeResult:
        report = self._report
        with Vertical(id="impact"):
            title = Content.styled(sanitize_for_terminal(summarize_impact(report)), "bold")
            if report.errors:
                failures = plural(len(report.errors), "failure")
                title += Content.styled(
                    f"\nThe pipeline has {failures}; this is what is known.", "$text-warning"
                )
            yield Static(title, id="impact-title")
            with VerticalScroll(id="impact-blocks"):
                for block in self._list_blocks():
                    yield Static(block)
            keys = f"enter {self._verb.lower()}  " if self._verb else ""
            yield Static(Content(f"{keys}y copy  escape back"), id="impact-keys")

    def _list_blocks(self) -> list[Content]:
        return [
            Content("\n").join(
                [
                    Content.styled(title, "$text-accent"),
                    *(Content(f"  {sanitize_for_terminal(line)}") for line in lines),
                ]
            )
            for title, lines in describe_impact(self._report)
        ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "accept" or bool(self._verb)

    def action_accept(self) -> None:
        self.dismiss(True)

    def action_copy(self) -> None:
        text = "\n\n".join(str(block) for block in self._list_blocks())
        self.studio.copy_text(f"{summarize_impact(self._report)}\n\n{text}", "impact")

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)
