"""kill -9 at random moments: nothing committed is lost, nothing half done is seen.

Starting Python takes longer than a round may: a process of its own loads everything once, and forks a child
for each round.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from localcdap.store.commit_log import open_after_checkpoint

from . import committer


def killed_round(folder: Path, first: int, after_s: float, *, at_start: bool) -> int:
    """Let a child commit from number ``first`` on, kill it; the number of the last one it acknowledged.

    :param at_start: count the time from its start, else from its first commit.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(writing, 1)
            os.close(reading)
            sys.stdout = os.fdopen(1, "w", closefd=False)
            committer.main(str(folder), first)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as lines:
        said = "" if at_start else lines.readline()
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        said += lines.read()
    assert os.WIFSIGNALED(status), "the child failed by itself"
    whole = said.split("\n")[:-1]
    return int(whole[-1]) if whole else first - 1


def found(folder: Path) -> dict[str, dict[int, int]]:
    """What is there, by kind: read with plain SQL."""
    connection = open_after_checkpoint(folder / "localcdap.duckdb")
    try:
        rows = connection.execute("SELECT kind, id, n FROM app_crashes").fetchall()
    except duckdb.CatalogException:
        rows = []  # killed before the table was made
    finally:
        connection.close()
    kinds: dict[str, dict[int, int]] = {}
    for kind, id, n in rows:
        kinds.setdefault(kind, {})[id] = n
    return kinds


def check(kinds: dict[str, dict[int, int]], acknowledged: int) -> int:
    """Compare with what a whole number of transactions leaves; the number of the last one."""
    rows = kinds.get("row", {})
    last = max(rows, default=-1)
    assert acknowledged <= last <= acknowledged + 1
    assert rows == {n: n for n in range(last + 1)}
    if last >= 0:
        assert kinds["count"] == {0: last + 1}
        assert kinds["account"] == {0: last + 1, 1: -last - 1}
        tens = range(last // 10 + 1)
        assert kinds["tens"] == {n: min(10 * n + 9, last) for n in tens}
    return last


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kills", [5, pytest.param(200, marks=pytest.mark.soak)])
def test_nothing_committed_is_lost_and_nothing_half_done_is_seen(tmp_path: Path, kills: int):
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, str(tmp_path), str(kills)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[3],
    )

    assert done.returncode == 0, done.stdout + done.stderr
    # Three of four children are killed after their first commit.
    assert int(done.stdout) >= kills // 2


def main(folder: Path, rounds: int) -> int:
    """Kill as often as asked; the number of the last transaction that was committed."""
    last, dice = -1, random.Random()
    for number in range(rounds):
        try:
            acknowledged = killed_round(
                folder, last + 1, dice.uniform(0, 0.05), at_start=number % 4 == 0
            )
            last = check(found(folder), acknowledged)
        except AssertionError as error:
            raise AssertionError(f"round {number}, after transaction {last}") from error
    return last


if __name__ == "__main__":
    sys.stdout.write(f"{main(Path(sys.argv[1]), int(sys.argv[2]))}\n")
