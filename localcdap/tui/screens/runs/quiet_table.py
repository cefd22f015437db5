"""A table without a frame, whose cursor is quiet until it has the focus."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import DataTable


class QuietTable(DataTable[Text]):
    """Rows of texts; one of them is under the cursor."""

    DEFAULT_CSS = """
    QuietTable {
        height: 1fr;
        background: transparent;
        & > .datatable--header, & > .datatable--header:hover {
            background: transparent; color: $foreground 60%; text-style: none;
        }
        & > .datatable--cursor { background: $boost; color: $foreground; text-style: none; }
        & > .datatable--hover { background: $boost; }
        &:focus > .datatable--cursor {
            background: $primary 30%; color: $foreground; text-style: none;
        }
    }
    """

    def __init__(self) -> None:
        super().__init__(cursor_type="row")
