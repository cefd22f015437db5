"""The hints of keys in the last line."""

from __future__ import annotations

import contextlib

import pytest
from textual.app import App
from textual.binding import Binding

from localcdap.tui.area_screen import KeyHints


class Keys(App[None]):
    """Shows the hints of some keys."""

    BINDINGS = [
        Binding("r,f5", "run", "run"),
        Binding("x", "stop", "stop"),
        Binding("ctrl+s", "save", "save"),
        Binding("q", "leave", "leave", show=False),
    ]

    def __init__(self, impossible=()):
        super().__init__()
        self.impossible = impossible
        self.done = []

    def compose(self):
        yield KeyHints()

    def check_action(self, action, parameters):
        return None if action in self.impossible else True

    def action_run(self):
        self.done.append("run")

    def action_stop(self):
        self.done.append("stop")


@contextlib.asynccontextmanager
async def hints(impossible=(), width=80):
    app = Keys(impossible)
    async with app.run_test(size=(width, 4)) as pilot:
        await pilot.pause()
        yield app.query_one(KeyHints), pilot


@pytest.mark.parametrize(
    ("impossible", "width", "shown"),
    [
        ((), 80, " r run  x stop  ^s save "),
        (("stop",), 80, " r run  ^s save "),  # what does nothing now is not a hint
        ((), 23, " r run  x stop "),  # one that does not fit is left out
        ((), 3, ""),
    ],
)
async def test_what_keys_do_now(impossible, width, shown):
    async with hints(impossible, width) as (line, _):
        assert line.render().plain == shown


async def test_what_becomes_possible_is_shown():
    async with hints(("stop",)) as (line, pilot):
        line.app.impossible = ()
        line.screen.refresh_bindings()
        await pilot.pause()
        assert "stop" in line.render().plain


@pytest.mark.parametrize(("x", "done"), [(1, ["run"]), (7, ["stop"]), (13, ["stop"]), (60, [])])
async def test_a_click_on_a_hint_is_its_key(x, done):
    async with hints() as (line, pilot):
        await pilot.click(KeyHints, offset=(x, 0))
        assert line.app.done == done


async def test_the_hint_below_the_mouse_is_marked():
    async with hints() as (line, pilot):
        await pilot.hover(KeyHints, offset=(8, 0))
        assert line.hovered == 1
        await pilot.hover(offset=(1, 3))
        assert line.hovered == -1
