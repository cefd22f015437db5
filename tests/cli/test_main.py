"""How a command line is read."""

from __future__ import annotations

import subprocess
import sys

import pytest

from localcdap.cli.main import order_arguments


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("runs --home h", "runs --home h"),
        ("--home h runs", "runs --home h"),
        ("--home=h -n team run p.json", "run p.json --home=h -n team"),
        ("--json --home demo validate p.json", "validate p.json --json --home demo"),
        ("--home h new plugin X", "new plugin X --home h"),
        ("--home h debug p.json -- -x", "debug p.json --home h -- -x"),
        ("--home demo", "studio --home demo"),
        ("-n team", "studio -n team"),
        ("--home", "studio --home"),
        ("--help", "--help"),
        ("--json", "--json"),
        ("--home h --help", "studio --home h --help"),
    ],
)
def test_options_of_all_commands_may_stand_before_the_command(typed, meant):
    assert order_arguments(typed.split()) == meant.split()


def run_shell(redirection: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m localcdap.cli --help {redirection}"
    return subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, check=False, timeout=120
    )


def test_the_end_of_the_process_loses_nothing_and_says_what_is_lost():
    whole = run_shell("| cat")
    assert whole.stdout.startswith("Usage: localcdap")
    assert whole.stdout.rstrip().endswith("internal error of localcdap.")
    assert run_shell(">&-").stderr == ""
    full = run_shell("> /dev/full")
    assert full.returncode == 2
    assert "disk is full" in full.stderr
