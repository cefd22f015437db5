"""Private parts of Textual around the app: removal of widgets, errors, keys, the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Final

from textual._callback import invoke
from textual.app import App
from textual.await_remove import AwaitRemove
from textual.binding import Binding
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.events import Event, InputEvent, MouseDown
from textual.filter import LineFilter
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import WorkerFailed

from localcdap.api.errors import LocalcdapError
from localcdap.tui.textual_internals.control_filter import ControlFilter
from localcdap.tui.textual_internals.strip import install_lazy_caches
from localcdap.tui.textual_internals.stylesheet import CachedStylesheet


class CancellableRemove(AwaitRemove):
    """The result of :meth:`Widget.remove` in the studio: waiting for it can be cancelled.

    When a worker that awaits Textual's own is cancelled, as an exclusive worker is, the tasks of the removed
    widgets are cancelled too. The app waits for these tasks and would end without a message. Here only the
    waiting is cancelled.
    """

    def __await__(self) -> Generator[None, None, None]:
        waiting = [task for task in self._tasks if task is not asyncio.current_task()]

        async def wait() -> None:
            if waiting:
                await asyncio.wait(waiting)
            if self._post_remove is not None:
                await invoke(self._post_remove)

        return wait().__await__()


class InternalsApp(App[None]):
    """An app with the studio's changes to Textual's private methods."""

    def __init__(self) -> None:
        install_lazy_caches()
        super().__init__()
        self.stylesheet = CachedStylesheet(variables=self.get_css_variables())
        self._control_filter: Final = ControlFilter()
        self.fault: Exception | None = None
        """The internal error that ended the app."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters of all lines that widgets paint; the last one removes control characters."""
        return [*super().get_line_filters(), self._control_filter]

    def update_styles(self, node: DOMNode, animate: bool = True) -> None:
        """Style a node and its descendants again, unless it is not mounted yet.

        Textual styles a widget when it is mounted. It also does so for each class that a constructor adds:
        650 times, 2.5 ms each, when 25 forms are opened.
        """
        if node is self or node.is_dom_root or node.is_attached:
            super().update_styles(node, animate)

    def write_to_terminal(self, text: str) -> None:
        """Write a control sequence to the terminal."""
        if self._driver is not None:
            self._driver.write(text)

    def list_base_screens(self, modes: Iterable[str]) -> Iterator[Screen[Any]]:
        """Yield the lowest screen of each mode that was opened."""
        for mode in modes:
            yield from self._screen_stacks.get(mode, ())[:1]

    async def on_event(self, event: Event) -> None:
        """Handle an event; keys that are pressed while the app closes its last screen have no effect.

        Textual asks for the open screen first, and would end with its error that there is none. Nor has a
        click on what has been removed since the screen was drawn: Textual would fail to find its container.
        """
        if isinstance(event, InputEvent) and not self._screen_stacks.get(self._current_mode):
            return
        if isinstance(event, MouseDown) and self._is_on_removed(event):
            return
        await super().on_event(event)

    def _is_on_removed(self, event: MouseDown) -> bool:
        widget, _ = self.screen.get_widget_and_offset_at(event.x, event.y)
        return widget is not None and widget.parent is None

    def _handle_exception(self, error: Exception) -> None:
        """End the app in order on any error of a widget; the command reports it.

        An error of localcdap, such as that of a service that a worker of a widget called, is only reported.
        A widget that does not find another one while the whole screen is removed is not an error.
        """
        cause = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(cause, NoMatches) and not self.is_running:
            return
        if isinstance(error, WorkerFailed) and isinstance(cause, LocalcdapError):
            self.report_error(cause)
            return
        self.fault = self.fault or error
        super()._handle_exception(error)

    def report_error(self, error: Exception) -> None:
        """Called with an error that no caller handled; the app goes on."""

    def _fatal_error(self) -> None:
        """Close without Textual's traceback: the command prints the error."""
        self._close_messages_no_wait()

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        is_handled = await super()._check_bindings(key, priority)
        if not is_handled and not priority:
            found = self._find_disabled_binding(key)
            if found is not None:
                self.explain_key(*found)
        return is_handled

    def _find_disabled_binding(self, key: str) -> tuple[DOMNode, Binding] | None:
        """Return the binding that a key would have had an effect with, and its node.

        One that is shown as disabled comes before one that is hidden, the nearest to the focus first. A
        binding of Textual itself, which has no id, is none of them.
        """
        hidden = None
        for node, bindings in self.screen._modal_binding_chain:
            for binding in bindings.key_to_bindings.get(key, ()):
                if binding.id and binding.description:
                    if self._check_action_state(binding.action, node) is None:
                        return node, binding
                    hidden = hidden or (node, binding)
        return hidden

    def explain_key(self, node: DOMNode, binding: Binding) -> None:
        """Called when a key has no effect, because its action cannot be done now."""

    def _prune(self, *nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        removal = super()._prune(*nodes, parent=parent)
        return CancellableRemove(removal._tasks, removal._post_remove)


def is_usable(node: DOMNode | None) -> bool:
    """Return whether actions of a node may run: a widget must be mounted and not being removed."""
    return not (isinstance(node, Widget) and (node._pruning or not node.is_mounted))


def list_bindings(node: DOMNode) -> Iterator[Binding]:
    """Yield the bindings of a node itself, with the keys of the user's keymap."""
    for _, binding in node._bindings:
        yield binding


def check_action_state(app: App[Any], action: str, node: DOMNode) -> bool | None:
    """Return whether an action can be done: False hides it, None shows it as disabled."""
    return app._check_action_state(action, node)


def remove_bindings(node: DOMNode, keys: Iterable[str]) -> None:
    """Remove keys that a widget of Textual binds."""
    for key in keys:
        node._bindings.key_to_bindings.pop(key, None)
