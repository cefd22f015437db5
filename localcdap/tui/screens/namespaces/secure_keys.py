"""The secure keys of a namespace. Their values can be set, but are never read or shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from localcdap.namespaces.secure_keys import SecureKey
from localcdap.tui.labels import format_age
from localcdap.tui.lists.filtered_list import FilteredList, ListEntry
from localcdap.tui.studio import StudioNode

_VAULTS = {"keyring": "in the keyring of the system", "file": "in a file that only you can read"}
"""The description of each place where values are stored."""


class SecureKeysPanel(StudioNode, Vertical):
    """Shows the secure keys of a namespace, sets and deletes them.

    :param on_change: called after each change; it has the panel show the keys again.
    """

    DEFAULT_CSS = """
    SecureKeysPanel {
        & > #secure-keys-title { height: auto; padding: 0 1 1 1; }
        & > FilteredList { height: 1fr; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "new key", id="keys.new"),
        Binding("enter", "replace", "change value", id="keys.replace", show=False),
        Binding("d,delete", "remove", "delete key", id="keys.delete"),
        Binding("y", "copy", "copy macro", id="keys.copy", show=False),
    ]

    def __init__(self, on_change: Callable[[], object], id: str | None = None) -> None:
        super().__init__(id=id)
        self._on_change = on_change
        self._namespace = "default"
        self._keys: dict[str, SecureKey] = {}

    def compose(self) -> ComposeResult:
        yield Static(
            Content.styled(
                "Pipelines use the values as ${secure(name)}. They are never shown.",
                "$foreground 60%",
            ),
            id="secure-keys-title",
        )
        yield FilteredList(
            verb="change value",
            action="replace",
            id="secure-keys",
            empty="No secure keys. a creates one.",
        )

    def show(self, namespace: str) -> None:
        """Show the keys of a namespace; of the same namespace, read them again."""
        self._namespace = namespace
        self.call(
            lambda cdap: cdap.secure_keys.list_keys(namespace), on_result=self._fill, group="keys"
        )

    def explain_disabled(self, action: str) -> str | None:
        if action in ("replace", "remove", "copy") and self.query_one(FilteredList).key is None:
            return "no key is highlighted"
        return None

    @work
    async def action_add(self) -> None:
        name = await self.studio.ask(
            "Name of the secure key", detail="Lower-case letters, digits, '_' and '-'."
        )
        if name:
            description = await self.studio.ask(f"What is {name} for?", detail="Optional.")
            if description is not None:
                await self._ask_value(name, description)

    @work
    async def action_replace(self) -> None:
        key = self._keys.get(self.query_one(FilteredList).key or "")
        if key is not None:
            await self._ask_value(key.name, key.description)

    @work
    async def action_remove(self) -> None:
        name, namespace = self.query_one(FilteredList).key, self._namespace
        if name is not None and await self.studio.confirm(
            f"Delete secure key {name}?", "This cannot be undone."
        ):
            self.call(
                lambda cdap: cdap.secure_keys.delete(namespace, name),
                on_result=lambda _: self._on_change(),
            )

    def action_copy(self) -> None:
        self.studio.copy_text(f"${{secure({self.query_one(FilteredList).key})}}", "macro")

    async def _ask_value(self, name: str, description: str) -> None:
        namespace = self._namespace
        value = await self.studio.ask(
            f"Value of {name}",
            verb="Save",
            password=True,
            check=lambda text: None if text.strip() else "Enter a value.",
        )
        if value is None:
            return

        def show_result(key: SecureKey) -> None:
            self.studio.show_notice(f"Saved {name} {_VAULTS.get(key.vault, key.vault)}.")
            self.query_one(FilteredList).show(name)
            self._on_change()

        self.call(
            lambda cdap: cdap.secure_keys.put(namespace, name, value, description),
            on_result=show_result,
        )

    def _fill(self, keys: list[SecureKey]) -> None:
        self._keys = {key.name: key for key in keys}
        self.query_one(FilteredList).set_entries([_build_entry(key) for key in keys])


def _build_entry(key: SecureKey) -> ListEntry:
    label = f"{key.name}  ••••••••  {key.description}".rstrip()
    hint = f"{key.vault} · {format_age(key.last_modified_time)}"
    return ListEntry(key.name, label, hint=hint)
