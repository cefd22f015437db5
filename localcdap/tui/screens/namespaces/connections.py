"""The connections of a namespace, which stages share as ``${conn(name)}``: their list, and one in a form."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import msgspec
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from localcdap.api.app.connections import Connection, ConnectionPlugin
from localcdap.api.connector import ConnectorFailure
from localcdap.api.errors import BadRequestError
from localcdap.decoders import decode_json
from localcdap.tui.dialogs.dialog_screen import DialogScreen, create_row
from localcdap.tui.dialogs.metadata import format_properties, parse_properties
from localcdap.tui.lists import FilteredList, ListEntry
from localcdap.tui.routes import PrepTarget
from localcdap.tui.studio import StudioNode

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


_TITLE = (
    "A stage takes its properties from a connection with the property 'connection' = ${conn(name)} and "
    "'Use connection' = YES. b shows the data behind a connection, T tests it."
)


class ConnectionsPanel(StudioNode, Vertical):
    """Shows the connections of a namespace, sets, imports and deletes them.

    :param on_change: called after each change; it has the panel show the connections again.
    """

    DEFAULT_CSS = """
    ConnectionsPanel {
        & > #connections-title { height: auto; padding: 0 1 1 1; color: $foreground 60%; }
        & > FilteredList { height: 1fr; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "new connection", id="connections.new"),
        Binding("enter", "edit", "edit", id="connections.edit", show=False),
        Binding("I", "import_file", "import a file", id="connections.import"),
        Binding("b", "browse", "browse", id="connections.browse"),
        Binding("T", "test", "test", id="connections.test", show=False),
        Binding("d,delete", "remove", "delete connection", id="connections.delete"),
        Binding("y", "copy", "copy macro", id="connections.copy", show=False),
    ]

    def __init__(self, on_change: Callable[[], object], id: str | None = None) -> None:
        super().__init__(id=id)
        self._on_change = on_change
        self._namespace = "default"
        self._connections: dict[str, Connection] = {}

    def compose(self) -> ComposeResult:
        yield Static(Content(_TITLE), id="connections-title")
        yield FilteredList(
            verb="edit",
            action="edit",
            id="connections",
            empty="No connections. a creates one; I imports one that Data Fusion exported.",
        )

    def show(self, namespace: str) -> None:
        """Show the connections of a namespace; of the same namespace, read them again."""
        self._namespace = namespace
        self.call(
            lambda cdap: cdap.connections.list_connections(namespace),
            on_result=self._fill,
            group="connections",
        )

    def explain_disabled(self, action: str) -> str | None:
        if (
            action in ("edit", "browse", "test", "remove", "copy")
            and self.query_one(FilteredList).key is None
        ):
            return "no connection is highlighted"
        return None

    @work
    async def action_add(self) -> None:
        made = await self.app.push_screen_wait(ConnectionDialog(None))
        if made is not None:
            self._put(made)

    @work
    async def action_edit(self) -> None:
        before = self._connections.get(self.query_one(FilteredList).key or "")
        if before is not None:
            made = await self.app.push_screen_wait(ConnectionDialog(before))
            if made is not None:
                self._put(made)

    @work
    async def action_import_file(self) -> None:
        file = await self.studio.pick_file("Import a connection that Data Fusion exported")
        if file is None:
            return
        namespace = self._namespace

        def load() -> object:
            try:
                return decode_json(file.read_bytes())
            except (OSError, msgspec.DecodeError) as error:
                raise BadRequestError(
                    f"The file '{file}' is not the JSON of a connection: {error}."
                ) from None

        self.call(lambda cdap: cdap.connections.load(namespace, load()), on_result=self._show_saved)

    def action_browse(self) -> None:
        """Show the data behind the connection in the prep area."""
        name = self.query_one(FilteredList).key
        if name is not None:
            self.studio.namespace = self._namespace
            self.studio.navigate(PrepTarget(connection=name))

    def action_test(self) -> None:
        """Say whether the connection works."""
        name, namespace = self.query_one(FilteredList).key, self._namespace
        if name is not None:
            self.call(
                lambda cdap: cdap.connectors.test_stored(namespace, name),
                on_result=lambda failures: self._show_test(name, failures),
            )

    def _show_test(self, name: str, failures: list[ConnectorFailure]) -> None:
        if not failures:
            self.studio.show_notice(f"Connection {name} works.")
            return
        first = failures[0]
        where = f"{first.property}: " if first.property else ""
        self.studio.show_notice(
            f"Connection {name} does not work. {where}{first.message}",
            first.corrective_action or "",
            "error",
        )

    @work
    async def action_remove(self) -> None:
        name, namespace = self.query_one(FilteredList).key, self._namespace
        if name is not None and await self.studio.confirm(
            f"Delete connection {name}?",
            "Stages that use it fail then. Its secure keys are deleted too.",
        ):
            self.call(
                lambda cdap: cdap.connections.delete(namespace, name),
                on_result=lambda _: self._on_change(),
            )

    def action_copy(self) -> None:
        self.studio.copy_text(f"${{conn({self.query_one(FilteredList).key})}}", "macro")

    def _put(self, connection: Connection) -> None:
        namespace = self._namespace
        self.call(
            lambda cdap: cdap.connections.put(namespace, connection), on_result=self._show_saved
        )

    def _show_saved(self, connection: Connection) -> None:
        self.studio.show_notice(
            f"Saved connection {connection.name}.",
            f"Stages use it as ${{conn({connection.name})}}.",
        )
        self.query_one(FilteredList).show(connection.name)
        self._on_change()

    def _fill(self, connections: list[Connection]) -> None:
        self._connections = {each.name: each for each in connections}
        self.query_one(FilteredList).set_entries([_build_entry(each) for each in connections])


def _build_entry(connection: Connection) -> ListEntry:
    label = f"{connection.name}  {connection.description}".rstrip()
    count = len(connection.plugin.properties)
    properties = "1 property" if count == 1 else f"{count} properties"
    return ListEntry(connection.name, label, hint=f"{connection.connection_type} · {properties}")
