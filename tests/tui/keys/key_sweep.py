"""Presses every key of a screen, and finds those that do nothing and do not say why."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from textual.binding import Binding
from textual.dom import DOMNode
from textual.widget import Widget

from localcdap.tui.textual_internals.app import list_bindings
from tests.tui.studio_driver import Driver

LEFT_OUT = {
    "studio.leave",  # the studio would end
    "studio.suspend",  # there is no shell in a test
    "field.editor",  # nor a terminal for an editor
    "studio.new",  # the open pipeline would be another one
    "studio.open",
    "list.reload",  # what is loaded again may be the same
    "runs.refresh",
}
PREFIXES_LEFT_OUT = ("move.", "go.")  # keys for other keys; the areas have a test of their own


def list_keys(driver: Driver) -> Iterator[tuple[DOMNode, Binding]]:
    """The bindings of the studio that a key can reach from the focus, nearest first, each action once."""
    screen, found = driver.app.screen, set()
    for node, _ in screen._modal_binding_chain:
        for binding in list_bindings(node):
            name = binding.id or ""
            is_left_out = not name or name in LEFT_OUT or name.startswith(PREFIXES_LEFT_OUT)
            if not is_left_out and (name, binding.action) not in found:
                found.add((name, binding.action))
                yield node, binding


def look(driver: Driver) -> tuple[Any, ...]:
    """What a user sees, and what a key may change besides."""
    app = driver.app
    shown = [strip.text for strip in app.screen._compositor.render_strips()]
    styles = [strip._segments for strip in app.screen._compositor.render_strips()]
    return shown, repr(styles), app.focused, len(app.screen_stack), app.current_mode, app._clipboard


async def find_silent_keys(
    driver: Driver, reset: Callable[[], Awaitable[None]], known: set[tuple[str, str]]
) -> list[str]:
    """Press every key of every widget that can have the focus; return those without effect or notice.

    :param reset: brings the screen back to where the keys are pressed.
    :param known: actions that were tried already, which are left out; those tried here are added.
    """
    silent = []
    await reset()
    base = driver.app.screen
    for widget in [each for each in base.focus_chain if isinstance(each, Widget)]:
        if not widget.is_attached or not widget.focusable:
            continue
        widget.focus()
        await driver.settled()
        for node, binding in list(list_keys(driver)):
            tried = (type(node).__name__, binding.action)
            if tried in known:
                continue
            known.add(tried)
            await reset()
            if not (widget.is_attached and widget.focusable):
                break
            widget.focus()
            await driver.settled()
            driver.app.clear_notifications()
            await driver.settled()
            before, said = look(driver), len(driver.app.notices)
            key = next(k for k, b in node._bindings if b is binding)
            await driver.press(key)
            if look(driver) == before and len(driver.app.notices) == said:
                silent.append(f"{type(node).__name__} {binding.id} {binding.action} ({key})")
    return silent
