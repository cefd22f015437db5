"""Several processes on the tables of one instance."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcdap.api.app import FieldType, StructuredTableSpecification
from localcdap.home import Home
from localcdap.host import open_in_process

REPOSITORY = Path(__file__).resolve().parents[3]
SPEC = StructuredTableSpecification(
    "counters", fields={"name": FieldType.STRING, "n": FieldType.LONG}, primary_key=["name"]
)


class Hammer:
    def __init__(self, home: Path, times: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.hammer", str(home), str(times)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        )

    def received(self) -> str:
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "localcdap.toml").write_text("")
    return tmp_path


@pytest.fixture
def hammer(home: Path) -> Iterator[Callable[[int], Hammer]]:
    """Starts processes that count so often in the instance that is open here."""
    found: list[Hammer] = []

    def start(times: int) -> Hammer:
        found.append(Hammer(home, times))
        return found[-1]

    yield start
    for hammer in found:
        hammer.process.kill()
        hammer.process.communicate()


def counts(cdap) -> dict[str, int]:
    return cdap.transactions.run(
        lambda c: {row["name"]: row["n"] for row in c.table("counters").scan()}
    )


@pytest.mark.slow
def test_two_processes_that_count_lose_nothing(home: Path, hammer: Callable[[int], Hammer]):
    with open_in_process(Home(home)) as cdap:
        assert cdap.is_host
        cdap.structured_tables.create_or_update(SPEC)
        hammers = [hammer(15), hammer(15)]
        assert [each.received() for each in hammers] == ["ready False"] * 2
        for each in hammers:
            each.go_on()
        assert [each.received() for each in hammers] == ["done"] * 2

        assert counts(cdap) == {"blind": 30, "read": 30}


@pytest.mark.soak
def test_a_client_that_is_killed_leaves_whole_transactions(
    home: Path, hammer: Callable[[int], Hammer]
):
    with open_in_process(Home(home)) as cdap:
        cdap.structured_tables.create_or_update(SPEC)
        killed, other = hammer(10_000), hammer(40)
        for each in (killed, other):
            assert each.received() == "ready False"
            each.go_on()
        while counts(cdap).get("blind", 0) < 5:
            pass
        killed.process.send_signal(signal.SIGKILL)
        assert other.received() == "done"

        found = counts(cdap)
        assert 40 <= found["blind"] == found["read"]
