"""A dialog with a form of short values, whose defaults are greyed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static

from localcdap.text import sanitize_for_terminal
from localcdap.tui.dialogs.dialog_screen import DialogScreen, create_row
from localcdap.tui.labels import sanitize_name
from localcdap.tui.screens.analytics.answers import Parameter


@dataclass(frozen=True)
class FormField:
    """A value of a form.

    :param default: what an empty field stands for; it is shown greyed.
    :param hint: stands right of the field.
    :param detail: stands below the fields while this one has the focus.
    :param suggestions: values that are completed while they are typed.
    """

    name: str
    label: str
    value: str = ""
    default: str = ""
    hint: str = ""
    detail: str = ""
    suggestions: Sequence[str] = ()


def make_parameter_fields(
    parameters: Sequence[Parameter], given: Mapping[str, str]
) -> list[FormField]:
    """Return a field for each parameter; values that are the defaults stay empty."""
    return [
        FormField(
            each.name,
            each.label,
            "" if given.get(each.name, each.default) == each.default else given[each.name],
            each.default,
            each.rule,
            each.description,
            each.valid_values,
        )
        for each in parameters
    ]


class FormDialog(DialogScreen[dict[str, str]]):
    """Asks for some values. The answer has those that were given; empty ones are left out.

    :param check: returns what is wrong with the values, or None.
    """

    DEFAULT_CSS = """
    FormDialog {
        & > #dialog { width: 104; max-width: 98%; max-height: 94%; }
        & #form-note { color: $foreground 60%; height: auto; }
        & #form-rows { height: auto; max-height: 22; scrollbar-size-vertical: 1; }
        & .row { height: 1; }
        & .row > .label { width: 24; text-wrap: nowrap; text-overflow: ellipsis; }
        & .row > Input:focus { background: $primary 25%; }
        & .row > .hint {
            width: 40%; max-width: 34; padding: 0 0 0 1; color: $foreground 60%;
            text-wrap: nowrap; text-overflow: ellipsis;
        }
        & #form-detail { color: $foreground 60%; height: 2; margin-top: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "accept", "start", id="form.go", priority=True),
        Binding("down", "app.focus_next", "next", show=False, priority=True),
        Binding("up", "app.focus_previous", "previous", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        fields: Sequence[FormField],
        *,
        verb: str,
        note: str = "",
        check: Callable[[dict[str, str]], str | None] | None = None,
    ) -> None:
        super().__init__()
        self._title = title
        self._fields = {each.name: each for each in fields}
        self._verb = verb
        self._note = note
        self._check = check

    def compose_body(self) -> ComposeResult:
        yield Static(Content(sanitize_for_terminal(self._title)), id="dialog-title")
        with VerticalScroll(id="form-rows", can_focus=False):
            for field in self._fields.values():
                yield _create_row(field)
        if self._note:
            yield Static(Content(f"\n{sanitize_for_terminal(self._note)}"), id="form-note")
        yield Static(id="form-detail")
        yield Static(id="dialog-problem")
        yield from self.compose_buttons(f"{self._verb}  ctrl+r")

    @property
    def values(self) -> dict[str, str]:
        """The values that are given."""
        found = {each.name or "": each.value.strip() for each in self.query(Input)}
        return {name: value for name, value in found.items() if value}

    def on_descendant_focus(self) -> None:
        field = self._fields.get(getattr(self.focused, "name", None) or "")
        detail = "" if field is None else field.detail
        self.query_one("#form-detail", Static).update(Content(sanitize_for_terminal(detail)))

    def action_accept(self) -> None:
        """Answer with the values, or say what is wrong with them."""
        values = self.values
        problem = None if self._check is None else self._check(values)
        if problem is None:
            self.dismiss(values)
        else:
            self.show_problem(problem)

    @on(Input.Submitted)
    def _go_on(self, event: Input.Submitted) -> None:
        event.stop()
        self.focus_next()


def _create_row(field: FormField) -> Horizontal:
    label, default, hint = (
        sanitize_name(text) for text in (field.label, field.default, field.hint)
    )
    return create_row(
        label,
        Input(
            field.value,
            placeholder=default,
            suggester=SuggestFromList(field.suggestions) if field.suggestions else None,
            name=field.name,
            compact=True,
        ),
        Static(Content(hint), classes="hint"),
    )
