"""The program in a real terminal: opened, left, ended, broken; the terminal is as it was each time."""

from __future__ import annotations

import os
import re
import signal
import stat
import sys

import pytest

from localcdap.rpc.host_record import read_host_record
from tests.tui.terminal import PROGRAM, Terminal

QUIT = "\x11"


@pytest.fixture
def terminal(tmp_path):
    """Start programs in terminals, all on one instance."""
    opened = []

    def start(*arguments, program=PROGRAM, gets_signal=True, **environment):
        places = {
            "LOCALCDAP_HOME": str(tmp_path / "home"),
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
        }
        opened.append(
            Terminal([*program, *arguments], places | environment, gets_signal=gets_signal)
        )
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_it_opens_at_once_and_is_left_with_a_key(terminal):
    opened = terminal()
    opened.until("new pipeline")
    opened.until("plugins")  # it is connected
    opened.suspend()
    assert opened.is_restored
    opened.resume()
    opened.until("new pipeline")  # drawn again, as the shell has written over it
    opened.type(QUIT)

    assert opened.end() == 0
    assert opened.is_restored
    assert opened.after.replace("\x1b", "").strip("[?<0123456789hlu") == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_in_order(terminal, number):
    opened = terminal()
    opened.until("new pipeline")
    os.kill(opened.process.pid, number)

    assert opened.end() == 128 + number
    assert opened.is_restored


@pytest.mark.slow
@pytest.mark.parametrize("gets_signal", [True, False])
def test_it_ends_with_its_terminal(terminal, gets_signal):
    opened = terminal(gets_signal=gets_signal)
    opened.until("plugins")
    opened.hang_up()

    assert opened.end() != 0


BROKEN = """
from localcdap.tui.screens.home.screen import HomeScreen
def fail(self):
    raise RuntimeError("a fault [of] ours")
HomeScreen.action_run_demo = fail
from localcdap.cli.main import main
main()
"""


@pytest.mark.slow
def test_a_fault_ends_it_in_order_and_leaves_a_report(terminal, tmp_path):
    opened = terminal(program=[sys.executable, "-c", BROKEN])
    opened.until("plugins")
    opened.type("d")

    assert opened.end() == 3
    assert opened.is_restored
    assert "Internal error of localcdap: a fault [of] ours" in opened.after
    assert "Traceback" not in opened.after
    report = next((tmp_path / "home" / "reports").iterdir())
    assert str(report) in opened.after
    assert "RuntimeError" in report.read_text()


@pytest.mark.slow
def test_the_editor_gets_the_terminal_and_gives_it_back(terminal, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "in the editor"; echo "preview.records = 9" > "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    opened = terminal(EDITOR=str(editor))
    opened.until("plugins")
    opened.type(",")
    opened.until("plugin.directories")
    opened.type("e")
    opened.until("in the editor")
    opened.until("Saved.")
    opened.type(QUIT)

    assert opened.end() == 0
    assert opened.is_restored
    assert (tmp_path / "home" / "localcdap.toml").read_text() == "preview.records = 9\n"


@pytest.mark.slow
def test_without_colours_there_are_none(terminal):
    opened = terminal(NO_COLOR="1", COLORTERM="truecolor")
    opened.until("plugins")
    opened.type(QUIT)
    opened.end()

    colours = set(re.findall(rb"[34]8;2;(\d+);(\d+);(\d+)", opened.output))
    assert colours
    assert all(red == green == blue for red, green, blue in colours)


@pytest.mark.slow
def test_a_studio_goes_on_when_another_one_and_then_the_host_are_killed(terminal, tmp_path):
    first = terminal()
    first.until("plugins")
    second = terminal()
    second.until("plugins")
    host = read_host_record(tmp_path / "home")
    assert host is not None
    first.process.kill()
    first.process.wait(60)
    assert read_host_record(tmp_path / "home") == host

    os.kill(host.pid, signal.SIGKILL)
    second.until(f"Process {host.pid}, the host")
    second.until("is now the host.")
    second.type(QUIT)

    assert second.end() == 0
    assert second.is_restored


def test_a_file_is_opened_from_the_command_line(terminal, tmp_path):
    opened = terminal("studio", str(tmp_path / "missing.json"))

    assert opened.end() == 2
    assert "There is no file at" in opened.output.decode()


@pytest.mark.parametrize("arguments", [[], ["studio"]])
def test_a_terminal_that_cannot_be_drawn_on_gets_words(terminal, arguments):
    opened = terminal(*arguments, TERM="dumb")

    assert opened.end() == 2
    assert b"\x1b[?1049h" not in opened.output
    assert ("TERM=dumb" if arguments else "Open the terminal studio").encode() in opened.output


def test_without_a_terminal_it_says_so(tmp_path):
    import subprocess

    done = subprocess.run(
        [*PROGRAM, "studio", "--home", str(tmp_path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 2
    assert "needs a terminal" in done.stderr


def test_without_a_terminal_and_a_command_it_lists_the_commands():
    import subprocess

    done = subprocess.run(PROGRAM, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    assert "Open the terminal studio" in done.stdout + done.stderr
