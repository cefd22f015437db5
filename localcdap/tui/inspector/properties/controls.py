"""The controls that edit single values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, TextArea

from localcdap.api.schema import Schema
from localcdap.tui.schema_text import SchemaSyntaxError, format_schema, parse_schema
from localcdap.tui.textual_internals.app import remove_bindings
from localcdap.tui.widgets.code_area import CodeArea

TREES: Final = frozenset(("javascript", "json", "python", "sql"))
"""Languages that tree-sitter parses."""
LONGEST: Final = 200_000
"""Characters of a text that is coloured."""

Span = tuple[int, int, str]
"""First and last character of a line, and what stands there: ``keyword``, ``string``, ``number`` …"""
LineHighlighter = Callable[[str], Iterable[Span]]

_RECIPE: Final = re.compile(
    r"""(?P<comment>^\s*(?://|\#(?!pragma)).*$)
    |(?P<keyword>^\s*(?:\#pragma\s+)?[\w-]+)
    |(?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`)
    |(?P<variable>:[\w-]+|\$\{[^}]*\})
    |(?P<number>\b\d+(?:\.\d+)?\b)
    |(?P<function>\b(?:exp|prop)(?=:\s*\{))""",
    re.VERBOSE,
)
_EXPRESSION: Final = re.compile(
    r"""(?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
    |(?P<number>\b\d+(?:\.\d+)?\b)
    |(?P<keyword>\b(?:and|or|not|true|false|null|empty|size|eq|ne|lt|gt|le|ge)\b)
    |(?P<function>\b\w+(?=\())""",
    re.VERBOSE,
)


def _create_highlighter(pattern: re.Pattern[str]) -> LineHighlighter:
    def find_spans(line: str) -> Iterable[Span]:
        for found in pattern.finditer(line):
            assert found.lastgroup is not None
            yield found.start(), found.end(), found.lastgroup

    return find_spans


HIGHLIGHTERS: Final[dict[str, LineHighlighter]] = {
    "wrangler": _create_highlighter(_RECIPE),
    "jexl": _create_highlighter(_EXPRESSION),
}
"""The highlighters by language; a better one can replace one of these."""


class ControlChanged(Message):
    """The user changed the value of a control."""

    def __init__(self, control: Control, text: str) -> None:
        super().__init__()
        self.value_control = control
        self.text = text


class Control(Widget):
    """The interface of all controls; the place of the cursor survives :meth:`put`.

    They say what is typed with :class:`ControlChanged`.
    """

    is_literal: ClassVar[bool] = True
    """Whether :attr:`value_text` is the very text that was put, while nothing is typed."""

    @property
    def value_text(self) -> str:
        """The value as it stands in the document."""
        raise NotImplementedError

    def put(self, text: str) -> None:
        """Show another value; no message."""
        raise NotImplementedError

    def take(self, text: str) -> None:
        """Put something in where the cursor is, as if it was typed."""
        raise NotImplementedError

    @property
    def problem(self) -> str | None:
        """Why the typed text is not a valid value, so that it is not used; None for a valid one."""
        return None

    def post_change(self) -> None:
        """Post a message about the change."""
        self.post_message(ControlChanged(self, "" if self.problem else self.value_text))


class ValueInput(Input):
    """The text field of a control with one line."""

    DEFAULT_CSS = """
    ValueInput, ValueInput.-textual-compact, ValueInput.-textual-compact:focus {
        border: none !important; height: 1; padding: 0 1; background: $surface;
        &:focus { background: $panel; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "app.focus_next", "next field", show=False),
        Binding("up", "app.focus_previous", "previous field", show=False),
    ]

    def __init__(self, text: str, *, placeholder: str = "", password: bool = False) -> None:
        super().__init__(
            text, placeholder=placeholder, password=password, compact=True, select_on_focus=False
        )

    def put(self, text: str) -> None:
        if text != self.value:
            place = self.cursor_position
            with self.prevent(Input.Changed):
                self.value = text
            self.cursor_position = min(place, len(text))


class LineControl(ValueInput, Control):
    """A text or number on one line; macros are texts like any other.

    :param secret: whether it is masked, unless it is a macro.
    """

    def __init__(self, text: str, *, placeholder: str = "", secret: bool = False) -> None:
        super().__init__(text, placeholder=placeholder, password=secret and "${" not in text)
        self._secret = secret

    @property
    def value_text(self) -> str:
        return self.value

    def put(self, text: str) -> None:
        super().put(text)
        self._mask()

    def take(self, text: str) -> None:
        self.insert_text_at_cursor(text)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._mask()
        self.post_change()

    def _mask(self) -> None:
        self.password = self._secret and "${" not in self.value


class EscapedControl(LineControl):
    """A text that cannot be shown as it is, as a JSON string."""

    def __init__(self, text: str) -> None:
        super().__init__(json.dumps(text))

    @property
    def value_text(self) -> str:
        return str(json.loads(self.value))

    @property
    def problem(self) -> str | None:
        try:
            is_text = isinstance(json.loads(self.value), str)
        except ValueError:
            is_text = False
        return None if is_text else "Write it as a JSON string, between quotes."

    def put(self, text: str) -> None:
        super().put(json.dumps(text))


class Toggle(Control, can_focus=True):
    """True or false, or nothing, which means the default.

    :param default: what nothing means; None when it has no meaning.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,enter", "switch", "switch", show=False),
        Binding("backspace,delete", "clear", "default", show=False),
        Binding("down,j", "app.focus_next", "next field", show=False),
        Binding("up,k", "app.focus_previous", "previous field", show=False),
    ]
    DEFAULT_CSS = """
    Toggle {
        height: 1; padding: 0 1; width: auto; min-width: 18;
        &:focus { background: $panel; }
        &:hover { background: $boost; }
    }
    """
    value: reactive[str] = reactive("")

    def __init__(self, text: str, default: str | None) -> None:
        super().__init__()
        self.set_reactive(Toggle.value, text)
        self._default = default or ""

    @property
    def value_text(self) -> str:
        return self.value

    @property
    def is_on(self) -> bool:
        return (self.value or self._default).strip().lower() == "true"

    def put(self, text: str) -> None:
        self.value = text

    def take(self, text: str) -> None:
        self._set_text(text)

    def render(self) -> Text:
        text = Text("● true" if self.is_on else "○ false", no_wrap=True)
        if not self.value:
            text.append(" (default)" if self._default else " (not set)", "dim")
        return text

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.action_switch()

    def on_key(self, event: events.Key) -> None:
        if event.character in ("t", "f", "$"):  # what true, false and macros begin with
            event.stop()
            texts = {"t": "true", "f": "false", "$": "${}"}
            self._set_text(texts[event.character])

    def action_switch(self) -> None:
        self._set_text("false" if self.is_on else "true")

    def action_clear(self) -> None:
        self._set_text("")

    def _set_text(self, text: str) -> None:
        self.value = text
        self.post_change()


_LEFT: Final = ("f6", "f7")
"""Keys of Textual's areas that are the inspector's here, in areas too."""


class ValueArea(CodeArea):
    """Several lines, as high as they need."""

    DEFAULT_CSS = """
    ValueArea, ValueArea.-textual-compact, ValueArea.-textual-compact:focus {
        border: none !important; padding: 0 1; height: auto; min-height: 1; max-height: 14;
        background: $surface;
        &:focus { background: $panel; }
    }
    """

    def __init__(self, text: str, language: str | None) -> None:
        is_long = len(text) > LONGEST
        self.highlight_line = None if is_long else HIGHLIGHTERS.get(language or "")
        super().__init__(
            text,
            language=language if language in TREES and not is_long else None,
            soft_wrap=False,
            tab_behavior="focus",
            compact=True,
            highlight_cursor_line=False,
        )
        remove_bindings(self, _LEFT)

    def put(self, text: str) -> None:
        if text != self.text:
            place = self.cursor_location
            with self.prevent(TextArea.Changed):
                self.load_text(text)
            self.move_cursor(place)


class AreaControl(ValueArea, Control):
    """A text of several lines: a script, SQL, JSON, a recipe.

    :param language: of its highlighting; one that is not known is shown plain.
    """

    def __init__(self, text: str, language: str | None = None) -> None:
        super().__init__(self.format_text(text), language)

    def format_text(self, text: str) -> str:
        """Return the text that the area shows for a value."""
        return text

    @property
    def value_text(self) -> str:
        return self.text

    def put(self, text: str) -> None:
        super().put(self.format_text(text))

    def take(self, text: str) -> None:
        self.insert(text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_change()


class SchemaControl(AreaControl):
    """A record schema as lines (:mod:`localcdap.tui.schema_text`)."""

    is_literal = False

    def __init__(self, text: str) -> None:
        self._record = "etlSchemaBody"
        super().__init__(text)

    def format_text(self, text: str) -> str:
        if not text.strip():
            return ""
        schema = Schema.parse_record(text)
        self._record = schema.name or ""
        return format_schema(schema)

    @property
    def value_text(self) -> str:
        schema = parse_schema(self.text, self._record)
        return "" if schema is None else str(schema)

    @property
    def problem(self) -> str | None:
        try:
            parse_schema(self.text, self._record)
        except SchemaSyntaxError as error:
            return str(error)
        return None
