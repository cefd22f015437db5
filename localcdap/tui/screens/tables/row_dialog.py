"""The dialog in which a row of a dataset is changed as JSON."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static, TextArea

from localcdap.api.errors import BadRequestError
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.labels import sanitize_name
from localcdap.tui.screens.tables.row_changes import EditedRow, save_row


class RowDialog(DialogScreen[bool]):
    """Changes a row, or makes a new one. The answer is True when it was saved."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", id="row.save", priority=True),
    ]
    DEFAULT_CSS = """
    RowDialog > #dialog { width: 84; height: 26; max-height: 92%; }
    RowDialog TextArea { height: 1fr; background: $panel; }
    RowDialog TextArea:blur { border: tall $panel; }
    RowDialog #dialog-problem { max-height: 6; margin-top: 1; }
    """
    HAS_FOOTER = True

    def __init__(self, row: EditedRow) -> None:
        super().__init__()
        self._row: Final = row

    def compose_body(self) -> ComposeResult:
        row = self._row
        name = sanitize_name(row.dataset)
        verb = "New row of" if row.before is None else "Row of"
        yield Static(Content(f"{verb} {name}  key {row.key}"), id="dialog-title")
        yield TextArea(row.text, tab_behavior="focus", id="row-text")
        yield Static(id="dialog-problem")

    @on(TextArea.Changed)
    def _check(self, event: TextArea.Changed) -> None:
        event.stop()
        try:
            self._row.parse(event.text_area.text)
            self.show_problem("")
        except BadRequestError as error:
            self.show_problem(error.message)

    def action_save(self) -> None:
        """Write the row; an error stays in sight."""
        row = self._row
        try:
            after = row.parse(self.query_one("#row-text", TextArea).text)
        except BadRequestError as error:
            self.show_problem(error.message)
            return
        self.call(
            lambda cdap: save_row(cdap, row, after),
            on_result=lambda _: self.dismiss(True),
            on_error=self.show_error,
            group="row",
            ordered=True,
        )
