"""kill -9 while a dataset of a custom type is updated: properties, table and files are all old or all new."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from localcdap.home import Home
from localcdap.host import open_in_process

from . import generations

LONGEST_S = 0.6
"""Several updates: one takes some 50 ms."""


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.soak)])
def test_an_update_is_whole(fresh_home, tmp_path: Path, rounds: int) -> None:
    folder = Path(fresh_home(tmp_path))
    (folder / "plugins").mkdir(exist_ok=True)
    (folder / "plugins" / "counted-1.0.0.py").write_text(generations.MODULE)
    moments = random.Random(5)
    last = 0
    for remaining in reversed(range(rounds)):
        waits = last == 0 and not remaining
        last = kill_updates(folder, moments.uniform(0, LONGEST_S), last, waits=waits)
    assert last > 0, "some updates were made"


def kill_updates(folder: Path, after_s: float, before: int, *, waits: bool) -> int:
    """Let a process update, kill it, and look; return the number of the last update.

    :param waits: for an update before the time begins.
    """
    command = [sys.executable, "-m", generations.__name__, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        first = process.stdout.readline() if waits else ""
        time.sleep(after_s)
        process.kill()
        said = (first + process.stdout.read()).split("\n")[:-1]
    acknowledged = int(said[-1]) if said else before
    with open_in_process(Home(folder)) as cdap:
        found = cdap.datasets.describe("default", generations.NAME)
        number = int(found.properties["number"])
        assert number in (acknowledged, acknowledged + 1)
        assert found.schema is not None
        assert len(found.schema.field_names) == 1 + number
        place = Path(str(found.folder))
        assert {each.read_text() for each in place.iterdir()} == {str(number)}
        (table,) = (t for t in cdap.sql.list_tables("default") if t.name == generations.NAME)
        assert len(table.columns) == 1 + number
        assert [each.name for each in place.parent.iterdir()] == [generations.NAME], "no strays"
    return number
