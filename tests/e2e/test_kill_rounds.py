"""``kill -9`` of any process while runs, schedules, an application, a synchronization and emissions work.

``LOCALCDAP_KILL_ROUNDS=500 LOCALCDAP_KILL_SEED=7 pytest -s -m soak tests/e2e/test_kill_rounds.py`` says what
it does.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from localcdap.engine.local.server import EngineServer
from localcdap.home import Home
from localcdap.host import Cdap, connect
from tests.e2e.kill_rounds import (
    HARMLESS,
    LEFT_S,
    MARK,
    VICTIMS,
    BusyInstance,
    Processes,
    Round,
    RunOracle,
)
from tests.e2e.program import Program, wait_until

ROUNDS = int(os.environ.get("LOCALCDAP_KILL_ROUNDS", "40"))
SEED = int(os.environ.get("LOCALCDAP_KILL_SEED", "1"))
EVENTS = ("home/runs/*/spool", "out/.*", "home/runs/*/commit.json", "out/*")
"""Half of the kills follow a new file of such a name at once."""
EVERY = 10
"""Rounds after which what is left is looked at."""


def say(text: str) -> None:
    """Show how it goes on, where pytest does not capture it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@pytest.fixture
def tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BusyInstance]:
    """An instance with a Spark server of its own; all of its processes have ended after the test."""
    monkeypatch.setenv(MARK, str(tmp_path))
    home = tmp_path / "home"
    monkeypatch.setenv("LOCALCDAP_ENGINE_DIRECTORY", str(home / "engine"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    instance = BusyInstance(tmp_path, Program(home, {}))
    yield instance
    stop(instance)
    for each in Processes(home, str(tmp_path)).list_all():
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()


def stop(tested: BusyInstance) -> bool:
    """Stop Spark; return whether no process of the instance is left: its host ends by itself."""
    EngineServer(tested.home / "engine").stop()
    return not Processes(tested.home, str(tested.folder)).list_all()


class Rounds:
    """The rounds of one instance."""

    def __init__(self, tested: BusyInstance, cdap: Cdap, random: random.Random) -> None:
        self._tested, self._cdap, self._random = tested, cdap, random
        self._processes = Processes(tested.home, str(tested.folder))
        self.oracle = RunOracle(tested, cdap)
        self._longest_s = 3.0
        self.problems: list[str] = []

    def run(self, number: int) -> None:
        """Let it work, kill a process meanwhile, and look at the next command and all results."""
        began = time.monotonic()
        kinds, weights = zip(*VICTIMS.items(), strict=True)
        (kind,) = self._random.choices(kinds, weights)
        event = self._random.choice([*EVENTS, *[""] * len(EVENTS)])
        share, choice = self._random.random(), self._random.random()
        round = Round(self._tested, self._cdap, number)
        round.start()
        if kind == "sync command":  # it ends before the run does
            time.sleep(share * self._longest_s / 3)
        elif event:
            self._wait_for_file(round, event)
        else:
            time.sleep(share * self._longest_s)
        killed = self._kill(round, kind, choice)
        after_s = time.monotonic() - began
        round.finish()
        worked_s = time.monotonic() - began
        if round.said.get("status") == "COMPLETED" and kind != "Spark":
            self._longest_s = worked_s
        answer = self._tested.program("runs", "--limit", "1", "--json")
        problems = [] if answer.code == 0 else [f"the next command says {answer.err}"]
        problems += [*round.check(), *self.oracle.check()]
        if kind in HARMLESS and round.said.get("status") == "FAILED":
            problems.append(f"the run has failed with the {kind}: {round.said['error']}")
        self._report(number, problems)
        checked_s = time.monotonic() - began - worked_s
        say(
            f"round {number}: {kind} after {after_s:.1f} s {event}: {killed}; {round.describe()}, "
            f"{worked_s:.1f} + {checked_s:.1f} s"
        )

    def _wait_for_file(self, round: Round, pattern: str) -> None:
        """Wait until a new file of this name is there."""
        before = set(self._tested.folder.glob(pattern))
        while set(self._tested.folder.glob(pattern)) <= before and not round.is_over():
            time.sleep(0.002)

    def _kill(self, round: Round, kind: str, choice: float) -> list[int]:
        """Kill a process of a kind as soon as there is one; return which."""
        while not (found := self._processes.find(kind)):
            if round.is_over():
                return []
            time.sleep(0.02)
        killed = []
        for pid in found if kind == "host and run" else [found[int(choice * len(found))]]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        return killed

    def check_what_is_left(self, number: int) -> None:
        """Check that there is neither a process nor a hidden folder that nobody needs."""
        try:
            wait_until(lambda: not self._list_left(), "nothing is left", LEFT_S)
        except AssertionError:
            self._report(number, [f"left: {each}" for each in self._list_left()])

    def _list_left(self) -> list[str]:
        found = [f"{each} {each.cmdline()}" for each in self._processes.list_strays()]
        active = {
            each.run for each in self._cdap.runs.list_runs("default") if not each.status.is_end
        }
        tested, before = self._tested, time.time() - LEFT_S
        if not active:
            for folder in (tested.out, tested.snapshots, tested.folder / "prepared"):
                found += map(str, folder.glob(".*"))
        for each in (*tested.home.glob("runs/*/*"), *tested.home.glob("previews/*")):
            is_kept = each.name == "process.log" or each.parent.name in active
            if not is_kept and each.exists() and each.stat().st_mtime < before:
                found.append(str(each))
        return found

    def _report(self, number: int, problems: list[str]) -> None:
        for each in problems:
            say(f"round {number}: PROBLEM: {each}")
        self.problems += [f"round {number}: {each}" for each in problems]


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.timeout(600 + 60 * ROUNDS)
def test_nothing_is_lost_doubled_or_left(tested: BusyInstance) -> None:
    say(f"seed {SEED}, {tested.folder}")
    with connect(Home(tested.home)) as cdap:
        tested.fill(cdap)
        assert tested.program("engine", "start").code == 0
        rounds = Rounds(tested, cdap, random.Random(SEED))
        cdap.schedules.enable("default", "due", "often")
        since = int(time.time()) + 1
        for number in range(ROUNDS):
            rounds.run(number)
            if number % EVERY == EVERY - 1:
                rounds.check_what_is_left(number)
        until = int(time.time()) - 5  # a time of the last moment may have no run any more
        cdap.schedules.suspend("default", "due", "often")
        problems = rounds.problems
        wait_until(lambda: not cdap.schedules.list_jobs("default"), "all due runs have begun")
        problems += [*rounds.oracle.check(), *rounds.oracle.check_all(since, until)]
        rounds.check_what_is_left(ROUNDS)
        say(str(rounds.oracle.describe()))
    wait_until(lambda: stop(tested), "the instance has no process", LEFT_S)
    assert problems == []
    assert rounds.oracle.describe()["COMPLETED"] > ROUNDS / 4
