"""What is sent to the terminal so that it takes a text into its clipboard."""

from __future__ import annotations

import base64
import re

from hypothesis import given
from hypothesis import strategies as st

from localcdap.tui.machine import MAX_BYTES, build_osc52


def decoded(control: str) -> str:
    coded = re.search(r"\]52;c;([A-Za-z0-9+/=]*)\x07", control)
    return base64.b64decode(coded[1]).decode()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_terminal_gets_the_text_back(text):
    assert decoded(build_osc52(text, {})) == text


def test_a_lone_surrogate_is_no_fault():
    assert decoded(build_osc52("a\ud800b", {})) == "a?b"


def test_tmux_hands_it_on_to_the_terminal_around_it():
    control = build_osc52("text", {"TMUX": "/tmp/tmux-0/default,1,0", "TERM": "screen-256color"})

    outer = re.search(r"\x1bPtmux;(.*)\x1b\\$", control, re.DOTALL)[1]
    assert outer.replace("\x1b\x1b", "\x1b") == build_osc52("text", {})
    assert control.startswith(build_osc52("text", {}))


def test_screen_hands_it_on_too():
    assert build_osc52("text", {"TERM": "screen"}) == f"\x1bP{build_osc52('text', {})}\x1b\\"


async def test_copying_says_what_was_copied(open_studio):
    async with open_studio() as driver:
        driver.app.copy_text("a\nb", "cell")

        assert driver.app.clipboard == "a\nb"
        assert driver.app.notices.newest_first[0].title == "Copied the cell, 2 lines."


async def test_too_much_for_a_clipboard_is_reported(open_studio):
    async with open_studio() as driver:
        driver.app.copy_text("x" * (MAX_BYTES + 1), "table")

        assert driver.app.clipboard == ""
        assert driver.app.notices.newest_first[0].severity == "warning"
