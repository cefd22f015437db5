"""A dialog that edits the arguments of a run before it starts, and the question whether it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Static

from localcdap.api.errors import LocalcdapError
from localcdap.runs.arguments import Arguments, RequiredArgument
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.document.editor import Editor
from localcdap.tui.labels import sanitize_lines, sanitize_name
from localcdap.tui.screens.runs.tables import ORIGINS
from localcdap.tui.studio import StudioNode

_EMPTY = "empty text"
_MISSING = "no value yet"


class ArgumentRow(Horizontal):
    """An argument: its name, the value given for the run, and the default that applies without one.

    :param given: the value given for the run; None when the default applies.
    """

    DEFAULT_CSS = """
    ArgumentRow {
        height: 1;
        & > .name { width: 26; padding: 0 1 0 0; text-overflow: ellipsis; text-wrap: nowrap; }
        & > Input { width: 1fr; border: none; height: 1; padding: 0 1; background: $panel; }
        & > .origin { width: 23; padding: 0 0 0 1; color: $foreground 60%; }
        &.-missing > .origin { color: $text-warning; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f4", "empty", "set to empty text", id="arguments.empty"),
    ]

    def __init__(self, argument: RequiredArgument, given: str | None) -> None:
        super().__init__()
        self.argument = argument
        self.given = given

    def compose(self) -> ComposeResult:
        yield Static(Content(sanitize_name(self.argument.name)), classes="name")
        yield Input(self.given or "", compact=True)
        yield Static(classes="origin")

    def on_mount(self) -> None:
        uses = [f"{each.stage}: {each.property}" for each in self.argument.places]
        self.tooltip = "\n".join(["Used by", *uses]) if uses else "The pipeline does not use it."
        self._update_origin()

    def action_empty(self) -> None:
        """Give the empty text as the value, or take it back. It differs from giving no value."""
        self.query_one(Input).value = ""
        self.given = None if self.given == "" else ""
        self._update_origin()

    @on(Input.Changed)
    def _set_given(self, event: Input.Changed) -> None:
        event.stop()
        if event.value or self.given:
            self.given = event.value or None
        self._update_origin()

    def _update_origin(self) -> None:
        argument = self.argument
        field, origin = self.query_one(Input), self.query_one(".origin", Static)
        is_missing = self.given is None and argument.value is None
        self.set_class(is_missing, "-missing")
        if self.given is not None:
            field.placeholder = _EMPTY
            origin.update("given")
        elif argument.value is None:
            field.placeholder = ""
            origin.update(f"! {_MISSING}" if argument.places else "not used")
        else:
            field.placeholder = sanitize_name(argument.value) or _EMPTY
            origin.update(ORIGINS.get(argument.origin or "", ""))


class ArgumentsDialog(DialogScreen[dict[str, str]]):
    """Lists the arguments that the macros of a pipeline use. The answer has the given values only.

    :param pipeline: the name of the pipeline, for its preferences.
    :param document: the pipeline, as JSON text or decoded JSON.
    :param given: the values that are given at first.
    :param verb: the label of the button, such as "Run".
    """

    DEFAULT_CSS = """
    ArgumentsDialog {
        & > #dialog { width: 110; }
        & #arguments-rows { height: auto; max-height: 24; }
        & #arguments-note { color: $foreground 60%; height: auto; margin-top: 1; }
        & #arguments-new { height: 1; border: none; padding: 0 1; margin-top: 1; background: $panel; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "accept", "start", id="arguments.go"),
        Binding("down", "app.focus_next", "next", show=False, priority=True),
        Binding("up", "app.focus_previous", "previous", show=False, priority=True),
    ]

    def __init__(
        self,
        namespace: str,
        pipeline: str | None,
        document: Any,
        given: Mapping[str, str] | None = None,
        *,
        verb: str = "Run",
    ) -> None:
        super().__init__()
        self._namespace = namespace
        self._pipeline = pipeline
        self._document = document
        self._given = dict(given or {})
        self._verb = verb
        self._is_listed = False
        """Whether the arguments are known and listed."""
        self._is_accepted = False
        """Whether the user accepted before that."""

    def compose_body(self) -> ComposeResult:
        title = f"Arguments of {sanitize_name(self._pipeline or 'the pipeline')}"
        yield Static(Content(title), id="dialog-title")
        yield VerticalScroll(id="arguments-rows", can_focus=False)
        yield Input(placeholder="another argument: name=value", id="arguments-new", compact=True)
        yield Static(id="arguments-note")
        yield Static(id="dialog-problem")
        yield from self.compose_buttons(f"{self._verb}  ctrl+r")

    def on_mount(self) -> None:
        namespace, pipeline, document = self._namespace, self._pipeline, self._document
        self.call(
            lambda cdap: cdap.runs.get_arguments(namespace, document, pipeline),
            on_result=self._show,
        )

    @property
    def arguments(self) -> dict[str, str]:
        """The given values."""
        rows = self.query(ArgumentRow)
        return {row.argument.name: row.given for row in rows if row.given is not None}

    def action_accept(self) -> None:
        self._is_accepted = not self._is_listed
        if self._is_accepted:
            return
        new = self.query_one("#arguments-new", Input)
        if new.value and not self._add(new.value):
            return
        self.dismiss(self.arguments)

    @work
    async def _show(self, found: Arguments) -> None:
        named = {each.name for each in found.arguments}
        listed = list(found.arguments)
        listed += [
            RequiredArgument(name, None, None, []) for name in self._given if name not in named
        ]
        # Preferences that the pipeline does not use would only hide its arguments.
        listed = [
            each for each in listed if each.places or each.name in self._given or not each.origin
        ]
        rows = [ArgumentRow(each, self._given.get(each.name)) for each in listed]
        await self.query_one("#arguments-rows").mount_all(rows)
        if self._is_answered or not self.is_running:
            return
        notes = [
            "An argument without a value has its default. f4 gives the empty text."
            if rows
            else "The pipeline has no arguments."
        ]
        if found.functions:
            notes.append(f"Evaluated at run time: {', '.join(found.functions)}")
        self.query_one("#arguments-note", Static).update(Content(sanitize_lines("\n".join(notes))))
        self._is_listed = True
        if self._is_accepted:
            self.action_accept()
            return
        if self.query_one("#arguments-new", Input).value:  # the user is typing there already
            return
        missing = [row for row in rows if row.has_class("-missing")]
        if rows:
            (missing or rows)[0].query_one(Input).focus()
        else:
            self.query_one("#accept", Button).focus()

    def _add(self, text: str) -> bool:
        """Add an argument from ``name=value``; return False when the text has another form."""
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            self.show_problem("Enter name=value.")
            return False
        self.show_problem("")
        name = name.strip()
        self.query_one("#arguments-new", Input).value = ""
        for row in self.query(ArgumentRow):
            if row.argument.name == name:
                row.given = value
                row.query_one(Input).value = value
                return True
        self.query_one("#arguments-rows").mount(
            ArgumentRow(RequiredArgument(name, None, None, []), value)
        )
        return True

    @on(Input.Submitted)
    def _add_or_focus_next(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input.id == "arguments-new" and event.value:
            self._add(event.value)
        else:
            self.focus_next()


async def ask_arguments(
    node: StudioNode, editor: Editor, verb: str, *, always_ask: bool = False
) -> bool:
    """Ask for the arguments of a pipeline where macros have no value. Awaited in a worker.

    The answer becomes the arguments of the editor. False when the user cancels.

    :param verb: the label of the button that continues.
    :param always_ask: ask even when no value is missing.
    """
    text = editor.to_text()
    if not (always_ask or await _lacks_arguments(node, editor, text)):
        return True
    dialog = ArgumentsDialog(
        editor.namespace, editor.title, text, given=editor.arguments, verb=verb
    )
    given = await node.app.push_screen_wait(dialog)
    if given is None:
        return False
    editor.set_arguments(given)
    return True


async def _lacks_arguments(node: StudioNode, editor: Editor, text: str) -> bool:
    """Return whether a macro has no value."""
    given, namespace, name = editor.arguments, editor.namespace, editor.title
    try:
        asked = await node.call_and_wait(
            lambda cdap: cdap.runs.get_arguments(namespace, text, name)
        )
    except LocalcdapError:
        return False  # the run reports this error with more detail
    return any(each.value is None and each.name not in given for each in asked.arguments)
