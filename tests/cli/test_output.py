"""Texts of plugins on a terminal."""

from __future__ import annotations

from localcdap.cli.runs.report import _print_lines
from localcdap.runs.model import StoredLogLine


def test_the_log_of_a_run_does_nothing_to_the_terminal(capfd):
    _print_lines([StoredLogLine(1, 0, "ERROR", "bad \x1b[2J\x07", stage="s\x1b")])
    out = capfd.readouterr().out
    assert r"[s\x1b] bad \x1b[2J\x07" in out
    assert not set("\x1b\x07") & set(out)
