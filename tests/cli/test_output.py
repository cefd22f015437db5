"""Texts of plugins on a terminal."""

from __future__ import annotations

import pytest

from localcdap.cli.logs import _print
from localcdap.cli.output import visible
from localcdap.runs.model import LogLine


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 𝄞 👨‍👩‍👧", "plain é 𝄞 👨‍👩‍👧"),
        ("two\r\nlines\tand a tab\n", "two\nlines\tand a tab\n"),
        ("\x1b]0;title\x07\x1b[2J", r"\x1b]0;title\x07\x1b[2J"),
        ("over\rwritten\x9b31m\x7f\0", r"over\x0dwritten\x9b31m\x7f\x00"),
        ("a\u202eb\u2028\ud800", r"a\u202eb\u2028\ud800"),
        ("", ""),
    ],
)
def test_control_characters_are_seen_and_do_nothing(text, shown):
    assert visible(text) == shown


def test_the_log_of_a_run_does_nothing_to_the_terminal(capfd):
    _print([LogLine(1, 0, "ERROR", "bad \x1b[2J\x07", stage="s\x1b")])
    out = capfd.readouterr().out
    assert r"[s\x1b] bad \x1b[2J\x07" in out
    assert not set("\x1b\x07") & set(out)
