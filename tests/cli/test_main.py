"""How a command line is read."""

from __future__ import annotations

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
