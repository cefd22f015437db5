"""Jump mode: a letter over every part that can have the focus, or be gone to."""

from __future__ import annotations

from itertools import product
from typing import Final, Protocol, runtime_checkable

from textual import events
from textual.app import ComposeResult
from textual.errors import NoWidget
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from localcdap.tui.dialogs.dialog_screen import DialogScreen

LETTERS: Final = "asdfjklghqwertyuiopzxcvbnm"
"""The letters of labels, those of the home row first."""


@runtime_checkable
class Jumpable(Protocol):
    """A widget without focus that one can jump to all the same, such as a tab."""

    def jump(self) -> None: ...


class JumpScreen(DialogScreen[Widget]):
    """Shows a label over each target; the answer is the one whose label is typed."""

    DEFAULT_CSS = """
    JumpScreen {
        align: left top;
        background: $background 40%;
        & > .jump-label {
            position: absolute; width: auto; height: 1; padding: 0 1;
            background: $accent; color: $background; text-style: bold;
        }
        & > .jump-help { dock: bottom; height: 1; background: $panel; color: $text-muted; padding: 0 1; }
    }
    """

    def __init__(self, targets: list[Widget]) -> None:
        super().__init__()
        self._targets = dict(zip(build_labels(len(targets)), targets, strict=True))
        self._typed = ""

    def compose(self) -> ComposeResult:
        for label, target in self._targets.items():
            shown = Static(label, classes="jump-label")
            shown.styles.offset = (max(target.region.x, 0), max(target.region.y, 0))
            yield shown
        yield Static("Type the letter of the part to go to; escape to stay.", classes="jump-help")

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" or not event.is_printable:
            return
        event.stop()
        self._typed += (event.character or "").lower()
        if self._typed in self._targets:
            self.dismiss(self._targets[self._typed])
        elif not any(label.startswith(self._typed) for label in self._targets):
            self.dismiss(None)


def list_jump_targets(screen: Screen[object]) -> list[Widget]:
    """Return the visible widgets that can be jumped to, from the top left."""
    found = [
        widget
        for widget in screen.query(Widget)
        if (widget.focusable or isinstance(widget, Jumpable)) and _is_seen(screen, widget)
    ]
    return sorted(found, key=lambda widget: (widget.region.y, widget.region.x))


def build_labels(count: int) -> list[str]:
    """Return labels, none of which is the beginning of another: single letters, or pairs of letters."""
    if count <= len(LETTERS):
        return list(LETTERS[:count])
    pairs = ["".join(pair) for pair in product(LETTERS, repeat=2)]
    return (
        pairs[:count]
        if count <= len(pairs)
        else ["".join(t) for t in product(LETTERS, repeat=3)][:count]
    )


def _is_seen(screen: Screen[object], widget: Widget) -> bool:
    seen = widget.region.intersection(screen.region)
    if not widget.is_on_screen or not widget.visible or seen.area == 0:
        return False
    try:
        top, _ = screen.get_widget_at(seen.x, seen.y)
    except NoWidget:
        return False
    return widget in top.ancestors_with_self or top in widget.ancestors_with_self
