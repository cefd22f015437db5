"""A connection in a form: its name, type, description and properties."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, Static, TextArea

from localcdap.api.app.connections import Connection, ConnectionPlugin
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.dialogs.property_lines import format_properties, parse_properties

_HELP = (
    "One name=value a line, with the names that the plugin's own properties have. Values of names such as "
    "password or token are stored as secure keys."
)


class ConnectionDialog(DialogScreen[Connection]):
    """Lets its user fill in a connection; the answer is the connection to store.

    :param connection: the one to change, which keeps its name; None for a new one.
    """

    DEFAULT_CSS = """
    ConnectionDialog {
        align: center middle;
        background: $background 60%;
        & > #connection { width: 76; max-width: 96%; height: auto; padding: 1 2; background: $surface; }
        & #connection-title { height: 1; text-style: bold; margin-bottom: 1; }
        & .row { height: auto; }
        & .row > .label { width: 14; color: $text-muted; }
        & .row > Input { width: 1fr; border: none; height: 1; padding: 0 1; background: $panel; }
        & .row > TextArea { width: 1fr; height: 8; border: none; padding: 0 1; background: $panel; }
        & #connection-help { height: auto; color: $text-muted; margin-top: 1; }
        & #connection-problem { height: auto; color: $text-error; }
        & #connection-buttons { height: 1; margin-top: 1; align-horizontal: right; }
        & Button { margin-left: 2; min-width: 12; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "take", "save", priority=True),
    ]

    def __init__(self, connection: Connection | None) -> None:
        super().__init__()
        self._given = connection

    def compose(self) -> ComposeResult:
        given = self._given
        title = "New connection" if given is None else f"Connection {given.name}"
        with Vertical(id="connection"):
            yield Static(Content(title), id="connection-title")
            if given is None:
                yield from _compose_row("name", Input(id="connection-name", compact=True))
            kind = given.connection_type if given is not None else ""
            yield from _compose_row(
                "type",
                Input(kind, placeholder="PostgreSQL, GCS …", id="connection-type", compact=True),
            )
            description = given.description if given is not None else ""
            yield from _compose_row(
                "description", Input(description, id="connection-description", compact=True)
            )
            properties = given.plugin.properties if given is not None else {}
            yield from _compose_row(
                "properties",
                TextArea(
                    format_properties(properties),
                    tab_behavior="focus",
                    id="connection-properties",
                ),
            )
            yield Static(Content(_HELP), id="connection-help")
            yield Static(id="connection-problem")
            with Horizontal(id="connection-buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Save", id="take", variant="primary", compact=True)

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)

    @on(Input.Submitted)
    def _go_on(self) -> None:
        self.focus_next()

    @on(Button.Pressed, "#take")
    def action_take(self) -> None:
        """Answer with the connection, or say what is wrong."""
        problems: list[str] = []
        given = self._given
        name = given.name if given is not None else self._read("connection-name")
        kind = self._read("connection-type")
        if not name:
            problems.append("Give the connection a name.")
        if not kind:
            problems.append("Give the type of the other system.")
        text = self.query_one("#connection-properties", TextArea).text
        properties = parse_properties(text, problems)
        if problems:
            self.query_one("#connection-problem", Static).update(Content(" ".join(problems)))
            return
        plugin = ConnectionPlugin(
            given.plugin.name if given is not None else kind,
            properties=properties,
            category=given.plugin.category if given is not None else None,
            artifact=given.plugin.artifact if given is not None else None,
        )
        self.dismiss(Connection(name, kind, plugin, self._read("connection-description")))

    def _read(self, id: str) -> str:
        return self.query_one(f"#{id}", Input).value.strip()


def _compose_row(label: str, field: Input | TextArea) -> ComposeResult:
    with Horizontal(classes="row"):
        yield Static(label, classes="label")
        yield field
