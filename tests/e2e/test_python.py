"""The same services from Python."""

from __future__ import annotations

from pathlib import Path

from localcdap.api.client import connect
from tests.e2e.program import Program


def test_the_services_are_at_hand_and_a_command_shares_them(program: Program, tmp_path: Path):
    with connect(program.home) as cdap:
        names = {plugin.name for plugin in cdap.artifacts.list_plugins("default")}
        listed = program("plugins", "--json")

    assert "GroupByAggregate" in names
    assert {plugin["name"] for plugin in listed.json} == names
