"""A connection in a form: its name, type, description and properties."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from localcdap.api.app.connections import Connection, ConnectionPlugin
from localcdap.tui.dialogs.dialog_screen import DialogScreen, create_row
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
        & > #dialog { width: 76; }
        & .row > .label { width: 14; }
        & .row > TextArea { height: 8; }
        & #connection-help { height: auto; color: $text-muted; margin-top: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "accept", "save", priority=True),
    ]

    def __init__(self, connection: Connection | None) -> None:
        super().__init__()
        self._given = connection

    def compose_body(self) -> ComposeResult:
        given = self._given
        title = "New connection" if given is None else f"Connection {given.name}"
        yield Static(Content(title), id="dialog-title")
        if given is None:
            yield create_row("name", Input(id="connection-name", compact=True))
        kind = given.connection_type if given is not None else ""
        example = "PostgreSQL, GCS …"
        yield create_row(
            "type", Input(kind, placeholder=example, id="connection-type", compact=True)
        )
        description = given.description if given is not None else ""
        yield create_row(
            "description", Input(description, id="connection-description", compact=True)
        )
        text = format_properties(given.plugin.properties if given is not None else {})
        area = TextArea(text, tab_behavior="focus", id="connection-properties")
        yield create_row("properties", area)
        yield Static(Content(_HELP), id="connection-help")
        yield Static(id="dialog-problem")
        yield from self.compose_buttons("Save")

    @on(Input.Submitted)
    def _go_on(self) -> None:
        self.focus_next()

    def action_accept(self) -> None:
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
            self.show_problem(" ".join(problems))
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
