"""``localcdap report``, and what ``localcdap runs`` says of failed runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from localcdap.cli.main import run
from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import RunError, StageCounts
from localcdap.testing import TemporaryInstance
from tests.runs.stored_runs import write_run

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporaryInstance]:
    with TemporaryInstance(tmp_path_factory.mktemp("report")) as made:
        error = RunError("Connection refused by db:5432", "Start the database.", "Db")
        write_run(made.cdap, "orders", arguments={"day": "1"})
        made.cdap.namespaces.create("other")
        write_run(made.cdap, "elsewhere", namespace="other")
        counts = {"In": StageCounts(0, 4, 0)}
        write_run(made.cdap, "orders", RunStatus.FAILED, error=error, stages=counts)
        yield made


@pytest.fixture
def command(instance, capsys) -> Command:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run([*arguments, "--home", str(instance.home.path)])
        return code, *capsys.readouterr()

    return call


def test_the_report(command, tmp_path):
    code, out, _ = command("report")
    assert code == 0
    assert "2 runs: 1 completed, 1 failed. Success rate 50 %." in out
    assert "another system was not reached" in out
    assert "elsewhere" not in out
    assert "elsewhere" in command("report", "--all-namespaces")[1]
    assert "No runs." in command("report", "nothing")[1]
    found = json.loads(command("report", "--json")[1])
    assert found["totals"] == {"runs": 2, "completed": 1, "failed": 1, "killed": 0}
    assert command("report", "--format", "csv")[1].startswith("namespace,pipeline,runs")
    page = tmp_path / "week.html"
    assert command("report", "--output", str(page))[0] == 0
    assert page.read_text().startswith("<!doctype html>")
    code, out, _ = command("report", "--from", "2020-01-01", "--to", "2020-02-01")
    assert (code, out) == (0, "No runs.\n")


def test_wrong_uses(command, tmp_path):
    assert command("report", "--from", "soon")[0] == 2
    assert command("report", "--from", "2020-02-01", "--to", "2020-01-01")[0] != 0
    assert "cannot be written" in command("report", "--output", str(tmp_path / "no" / "x.md"))[2]
    assert command("runs", "classify")[1:] == command("runs", "classify")[1:]
    assert command("report", "--namespace", "nowhere")[0] == 1


def test_why_a_run_failed(command):
    code, out, _ = command("runs", "classify", "last")
    assert code == 0
    assert "Networking-'Db': another system was not reached" in out
    assert "→ Start the database." in out
    (found,) = json.loads(command("runs", "classify", "last", "--json")[1])
    assert found["stageName"] == "Db"
    assert found["errorType"] == "SYSTEM"
    assert found["dependency"] == "true"
    assert "another system was not reached" in command("runs")[1]
    code, _, err = command("runs", "classify", "last", "--namespace", "other")
    assert code == 1
    assert "has not failed" in err


def test_two_runs(command):
    runs = json.loads(command("runs", "--json")[1])
    code, out, _ = command("runs", "compare", runs[1]["run"], runs[0]["run"])
    assert code == 0
    assert "argument day: 1 → (none)" in out
    assert "in A" in out
