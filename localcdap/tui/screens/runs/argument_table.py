"""The arguments of a run and where each came from."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from localcdap.runs.arguments import GIVEN
from localcdap.runs.model import Run
from localcdap.tui.log.harmless import harmless
from localcdap.tui.screens.runs.quiet_table import QuietTable

ORIGINS: Final = {
    GIVEN: "given for the run",
    "pipeline": "pipeline preference",
    "namespace": "namespace preference",
    "instance": "instance preference",
}


class ArgumentTable(QuietTable):
    """Name, value and origin of each argument."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[dict[str, str], dict[str, str]] | None = None

    @property
    def value(self) -> str | None:
        """That of the row under the cursor."""
        values = list(self._shown[0].values()) if self._shown else []
        return values[self.cursor_row] if self.cursor_row < len(values) else None

    def on_mount(self) -> None:
        self.add_columns("argument", "value", "where it came from")

    def put(self, run: Run) -> None:
        """Show the arguments of a run."""
        if self._shown == (run.arguments, run.origins):
            return
        self._shown = run.arguments, run.origins
        self.clear()
        for name, value in run.arguments.items():
            origin = run.origins.get(name, "")
            self.add_row(_text(name), _text(value), Text(ORIGINS.get(origin, origin)))


def _text(text: str) -> Text:
    return Text(harmless(text).replace("\n", "␊"), no_wrap=True)
