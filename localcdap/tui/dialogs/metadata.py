"""The dialog with the tags and properties of an entity, in which those of users can be changed.

Other dialogs write properties in the same way, as the lines of a text, each ``name=value``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from localcdap.api.errors import LocalcdapError
from localcdap.api.metadata import (
    Metadata,
    MetadataEntity,
    MetadataScope,
    ScopedMetadata,
    find_problems,
)
from localcdap.host.cdap import Cdap
from localcdap.metadata.entities import format_entity
from localcdap.metadata.records import MetadataChange
from localcdap.tui.dialogs.dialog_screen import DialogScreen, create_title
from localcdap.tui.labels import sanitize_name
from localcdap.tui.lists import FilteredList, ListEntry

_TAG: Final = "tag"
_PROPERTY: Final = "property"
_READ_ONLY: Final = "localcdap itself writes it"


class MetadataDialog(DialogScreen[None]):
    """Shows the metadata of an entity, and changes what users wrote."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "add_tag", "add a tag", id="metadata.add_tag"),
        Binding("p", "add_property", "set a property", id="metadata.add_property"),
        Binding("e", "change", "change the value", id="metadata.change"),
        Binding("d,delete", "remove", "remove", id="metadata.remove"),
        Binding("y", "copy", "copy", id="metadata.copy", show=False),
    ]
    DEFAULT_CSS = """
    MetadataDialog > #dialog { width: 90; height: 28; }
    """
    HAS_FOOTER = True
    AUTO_FOCUS = "FilteredListOptions"

    def __init__(self, entity: MetadataEntity) -> None:
        super().__init__()
        self.entity = entity
        self._metadata = ScopedMetadata()
        self._is_closing = False

    def compose_body(self) -> ComposeResult:
        path = sanitize_name(format_entity(self.entity))
        yield create_title("Tags and properties", path)
        yield FilteredList(
            verb="change",
            action="change",
            can_filter=False,
            empty="No metadata yet: t adds a tag, p sets a property.",
        )
        yield Static(id="dialog-problem")

    def on_mount(self) -> None:
        self._read()

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        if action not in ("change", "remove", "copy"):
            return None
        found = self._highlighted
        if found is None:
            return "nothing is highlighted"
        scope, kind, _ = found
        if action != "copy" and scope is MetadataScope.SYSTEM:
            return _READ_ONLY
        return "a tag has no value" if action == "change" and kind == _TAG else None

    def action_dismiss_empty(self) -> None:
        """Close after the last change, which the screen below then reads; an error stays in sight."""
        self._is_closing = True
        self.call(lambda _: None, on_result=lambda _: self._close(), group="change", ordered=True)

    def _close(self) -> None:
        if self._is_closing:
            self.dismiss()

    @work
    async def action_add_tag(self) -> None:
        tag = await self.studio.ask(f"New tag of {self.entity.name}", verb="Add", check=_check_tag)
        if tag is not None:
            self._change(lambda cdap: cdap.metadata.add(self.entity, {}, [tag]), f"{_TAG} {tag}")

    @work
    async def action_add_property(self) -> None:
        key = await self.studio.ask(
            f"Name of the property of {self.entity.name}",
            verb="Next",
            check=_check_key,
            suggestions=list(self._metadata.user.properties),
        )
        if key is not None:
            await self._ask_value(key)

    @work
    async def action_change(self) -> None:
        if self._highlighted is not None:
            await self._ask_value(self._highlighted[2])

    def action_remove(self) -> None:
        if self._highlighted is None:
            return
        _, kind, name = self._highlighted
        tags, keys = ([name], []) if kind == _TAG else ([], [name])
        self._change(lambda cdap: cdap.metadata.remove(self.entity, keys, tags))

    def action_copy(self) -> None:
        if self._highlighted is not None:
            scope, kind, name = self._highlighted
            text = name if kind == _TAG else self._metadata.get(scope).properties[name]
            self.studio.copy_text(text, kind)

    async def _ask_value(self, key: str) -> None:
        before = self._metadata.user.properties.get(key, "")
        value = await self.studio.ask(
            f"Value of {key}", before, verb="Set", check=lambda text: _check_value(key, text)
        )
        if value is not None:
            self._change(
                lambda cdap: cdap.metadata.add(self.entity, {key: value}), f"{_PROPERTY} {key}"
            )

    def _change(self, change: Callable[[Cdap], MetadataChange], key: str | None = None) -> None:
        """Change the metadata, then show all of it; an error stays in sight."""
        if key is not None:
            self.query_one(FilteredList).show(f"{MetadataScope.USER} {key}")
        self.show_problem("")
        self.call(
            change,
            on_result=lambda _: self._read(),
            on_error=self.show_error,
            group="change",
            ordered=True,
        )

    def _read(self) -> None:
        entity = self.entity
        self.call(
            lambda cdap: cdap.metadata.get(entity),
            on_result=self._fill,
            on_error=self._show_unreadable,
            group="metadata",
        )

    def show_error(self, error: LocalcdapError) -> None:
        """Show an error, which stays in sight."""
        self._is_closing = False
        super().show_error(error)

    def _show_unreadable(self, error: LocalcdapError) -> None:
        self.query_one(FilteredList).set_entries([], empty="")
        self.show_error(error)

    def _fill(self, metadata: ScopedMetadata) -> None:
        self._metadata = metadata
        self.query_one(FilteredList).set_entries(
            [
                entry
                for scope in MetadataScope
                for entry in _list_entries(scope, metadata.get(scope))
            ]
        )

    @property
    def _highlighted(self) -> tuple[MetadataScope, str, str] | None:
        """The scope, the kind and the name of the highlighted tag or property."""
        key = self.query_one(FilteredList).key
        if key is None:
            return None
        scope, kind, name = key.split(" ", 2)
        return MetadataScope(scope), kind, name


def _list_entries(scope: MetadataScope, metadata: Metadata) -> list[ListEntry]:
    is_own = scope is MetadataScope.USER
    group = "of users" if is_own else "of localcdap, read-only"
    tone = "" if is_own else "$foreground 60%"

    def build(kind: str, name: str, label: str) -> ListEntry:
        shown = sanitize_name(label)
        return ListEntry(f"{scope} {kind} {name}", shown, hint=kind, group=group, tone=tone)

    tags = [build(_TAG, tag, tag) for tag in sorted(metadata.tags)]
    properties = sorted(metadata.properties.items())
    return [*tags, *(build(_PROPERTY, key, f"{key} = {value}") for key, value in properties)]


def _check_tag(tag: str) -> str | None:
    return _describe(Metadata.of({}, [tag])) if tag else "Enter a tag."


def _check_key(key: str) -> str | None:
    return _describe(Metadata.of({key: ""}, [])) if key else "Enter a name."


def _check_value(key: str, value: str) -> str | None:
    return _describe(Metadata.of({key: value}, []))


def _describe(metadata: Metadata) -> str | None:
    """Return what is wrong with metadata, in the original's words. The service checks its own length too."""
    return " ".join(find_problems(metadata)) or None


def format_properties(properties: Mapping[str, str]) -> str:
    """Return the lines of properties."""
    return "\n".join(f"{name}={value}" for name, value in properties.items())


def parse_properties(text: str, problems: list[str]) -> dict[str, str]:
    """Return the properties of lines; empty lines are left out.

    :param problems: gets a sentence for each line that is not ``name=value``.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.partition("=")
        if name.strip() and equals:
            found[name.strip()] = value.strip()
        elif line.strip():
            problems.append(f"Line {number} of the properties is not name=value.")
    return found
