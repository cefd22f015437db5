"""The command ``localcdap topics``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from localcdap.cli.main import run as run_command
from localcdap.home import Home
from localcdap.host import open_in_process


def test_topics_are_made_listed_shown_and_deleted(
    tmp_path: Path, fresh_home: Callable[[Path], Path], capsys: pytest.CaptureFixture[str]
):
    home = Home(fresh_home(tmp_path / "home"))

    def command(*words: str) -> tuple[int, str]:
        code = run_command(["topics", *words, "--home", str(home.path)])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    with open_in_process(home) as cdap:
        assert command() == (
            0,
            "No topics. Create one with 'localcdap topics create NAME'.\n",
        )
        assert command("create", "alarms") == (0, "Topic 'alarms' created.\n")
        assert command("create", "alarms")[0] == 1
        cdap.messaging.publish("default", "alarms", [{"n": n} for n in range(1001)])
        assert "alarms" in command()[1]
        code, shown = command("alarms")
        lines = shown.splitlines()
        assert (code, len(lines)) == (0, 1001)
        assert lines[-1].endswith('  {"n":1000}')
        first = json.loads(command("alarms", "--json")[1].splitlines()[0])
        assert (first["topic"], first["payload"]) == ("alarms", {"n": 0})
        assert command("delete", "alarms") == (0, "Topic 'alarms' deleted.\n")
        code, told = command("alarms")
        assert (code, "There is no topic 'alarms'" in told) == (1, True)
        assert command("--follow")[0] == 2
        assert command("a", "b")[0] == 2
