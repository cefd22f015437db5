"""Presses every key of a screen, and finds those that do nothing and do not say why."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from textual.binding import Binding
from textual.dom import DOMNode

from localcdap.tui.textual_internals.app import check_action_state, list_bindings
from tests.tui.studio_driver import Driver

LEFT_OUT = {
    "studio.leave",  # the studio would end
    "studio.suspend",  # there is no shell in a test
    "field.editor",  # nor a terminal for an editor
    "studio.new",  # the open pipeline would be another one
    "studio.open",
    "sql.export",  # where it cannot be used, the key is that of the text: to the end of the line
    "list.reload",  # what is loaded again may be the same
    "runs.refresh",
}
STARTS_SPARK = {
    *("pipeline.run", "pipeline.run_with", "pipeline.preview", "trial.run"),
    *("runs.again", "home.demo"),
}
"""Keys that are pressed only where they cannot be used."""
CURSOR_MOVES = ("cursor(", "page(", "to(", "first", "last")
"""Actions that move the cursor of a list, which is seen to be at an end of it."""
PREFIXES_LEFT_OUT = ("move.", "go.")  # keys for other keys; the areas have a test of their own


def list_keys(driver: Driver) -> Iterator[tuple[DOMNode, Binding]]:
    """The bindings of the studio that a key can reach from the focus, nearest first, each action once."""
    screen, found = driver.app.screen, set()
    for node, _ in screen._modal_binding_chain:
        for binding in list_bindings(node):
            name = binding.id or ""
            is_left_out = not name or name in LEFT_OUT or name.startswith(PREFIXES_LEFT_OUT)
            if name in STARTS_SPARK:
                is_left_out = bool(check_action_state(driver.app, binding.action, node))
            if binding.action.startswith(CURSOR_MOVES):
                continue
            if not is_left_out and (name, binding.action) not in found:
                found.add((name, binding.action))
                yield node, binding


def look(driver: Driver) -> tuple[Any, ...]:
    """What a user sees, and what a key may change besides."""
    app = driver.app
    shown = [list(strip) for strip in app.screen._compositor.render_strips()]
    return shown, app.focused, len(app.screen_stack), app.current_mode, app._clipboard


def newest_notice(driver: Driver) -> Any:
    """The last notice; None before the first. Their number stays the same once old ones are left out."""
    return next(iter(driver.app.notices.newest_first), None)


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
    for place in range(len(base.focus_chain)):
        if not await _focus(driver, reset, place):
            break
        is_clean = True
        for node, binding in list(list_keys(driver)):
            tried = (type(node).__name__, binding.action)
            if tried in known:
                continue
            known.add(tried)
            if not is_clean and not await _focus(driver, reset, place):
                break
            driver.app.clear_notifications()
            before, said = look(driver), newest_notice(driver)
            await driver.press(next(key for key, each in node._bindings if each is binding))
            is_clean = look(driver) == before
            if is_clean and newest_notice(driver) is said:
                silent.append(f"{tried[0]} {binding.id} {binding.action}")
    return silent


async def _focus(driver: Driver, reset: Callable[[], Awaitable[None]], place: int) -> bool:
    """Bring the screen back, and focus a widget of it; False when it has fewer."""
    await reset()
    chain = driver.app.screen.focus_chain
    if place >= len(chain):
        return False
    chain[place].focus()
    await driver.settled()
    return True
