"""Removing ended runs: by hand, and by the settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.cli.main import run as run_command
from localcdap.engine.messages.spool import RunStatus
from localcdap.home import Home
from localcdap.host import Cdap, open_in_process
from localcdap.runs.model import StageCounts, StoredLogLine, get_now
from localcdap.runs.retention import RunRetention
from tests.runs.stored_runs import write_alerts, write_log, write_run

DAY = 86_400_000


@pytest.fixture
def home(tmp_path: Path, fresh_home: Callable[[Path], Path]) -> Home:
    return Home(fresh_home(tmp_path / "home"))


@pytest.fixture
def cdap(home: Home) -> Iterator[Cdap]:
    with open_in_process(home) as cdap:
        yield cdap


def write_days(cdap: Cdap, *days: float, **more) -> list[str]:
    """Write runs that began so many days ago."""
    return [write_run(cdap, starting=get_now() - int(n * DAY), **more).run for n in days]


def list_ids(cdap: Cdap) -> set[str]:
    return {each.run for each in cdap.runs.list_runs("default")}


def test_runs_that_no_limit_keeps_are_removed_with_all_they_left(cdap: Cdap, home: Home):
    old, young = write_days(cdap, 9, 1)
    (other,) = write_days(cdap, 9, pipeline="other", document='{"name": "other"}')
    for run in (old, young):
        write_log(cdap, run, [StoredLogLine(1, 0, "INFO", run)])
        write_alerts(cdap, run, "In", {"who": run})
        (home.runs / run).mkdir(parents=True)

    assert cdap.runs.prune("default", RunRetention(days=3), "sales", only_list=True) == [old]
    assert list_ids(cdap) == {old, young, other}
    assert cdap.runs.prune("default", RunRetention(days=3)) == [old, other]

    assert list_ids(cdap) == {young}
    assert not (home.runs / old).exists()
    assert (home.runs / young).exists()
    assert [line.text for line in cdap.runs.read_log(young)] == [young]
    assert cdap.runs.read_log(old) == []
    assert cdap.runs.read_alerts(old) == []
    assert [each.payload for each in cdap.runs.read_alerts(young)] == [{"who": young}]
    assert "sales" in cdap.runs.get_document(young)  # another run of the same document was removed
    store = cdap.runs._store
    assert store.read("SELECT count(*) FROM run_documents", ()) == [(1,)]


@pytest.mark.slow
def test_alerts_are_shown_and_removed_with_their_namespace(cdap: Cdap, home: Home, capsys):
    cdap.namespaces.create("team")
    counts = {"In": StageCounts(0, 10, 0, alerts=3), "Out": StageCounts(10, 10, 0)}
    run = write_run(cdap, namespace="team", stages=counts).run
    write_alerts(cdap, run, "In", {"who": "ada", "age": None}, {"who": "b\x1b[31mob"})

    def show(*options: str) -> str:
        words = ("runs", "show", run, *options, "--namespace", "team", "--home", str(home.path))
        assert run_command(list(words)) == 0
        printed = capsys.readouterr()
        return printed.out + printed.err

    assert run_command(["runs", "--namespace", "team", "--home", str(home.path)]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split()[-2:] == ["alerts", "because"]
    assert line.split()[-1] == "3"
    told = show("--alerts")
    assert "stage  in  out  errors  alerts" in told
    assert "In     who=ada, age=None" in told
    assert "\x1b[31mob" not in told
    assert "and 1 alert more, which are not kept" in told
    assert [each["stage"] for each in json.loads(show("--alerts", "--json"))["alerts"]] == [
        "In"
    ] * 2
    cdap.namespaces.delete("team")
    assert cdap.runs._store.read("SELECT count(*) FROM run_alerts", ()) == [(0,)]


@pytest.mark.slow
def test_with_both_limits_either_keeps_a_run(cdap: Cdap):
    *old, newer, young = write_days(cdap, 9, 8, 7, 1)

    assert cdap.runs.prune("default", RunRetention(days=3, newest=2)) == old
    assert list_ids(cdap) == {newer, young}
    assert cdap.runs.prune("default", RunRetention(newest=1)) == [newer]


@pytest.mark.slow
def test_active_runs_stay_and_count(cdap: Cdap):
    old, ended = write_days(cdap, 9, 8)
    (active,) = write_days(cdap, 7, status=RunStatus.RUNNING)

    assert cdap.runs.prune("default", RunRetention(newest=1)) == [old, ended]
    assert list_ids(cdap) == {active}


@pytest.mark.slow
@pytest.mark.parametrize(
    "retention", [RunRetention(), RunRetention(days=-1), RunRetention(newest=-1)]
)
def test_nothing_is_removed_without_a_limit(cdap: Cdap, retention):
    write_days(cdap, 1000)
    with pytest.raises(BadRequestError, match="Nothing says which runs"):
        cdap.runs.prune("default", retention)
    with pytest.raises(NotFoundError):
        cdap.runs.prune("nowhere", RunRetention(days=1))
    assert len(list_ids(cdap)) == 1


@pytest.mark.slow
def test_the_settings_are_applied_when_the_host_starts(home: Home):
    with open_in_process(home) as cdap:
        old, young = write_days(cdap, 9, 1)
    with open_in_process(home) as cdap:
        assert list_ids(cdap) == {old, young}
    (home.path / "localcdap.toml").write_text("[runs]\nkeep_days = 3\n")
    with open_in_process(home) as cdap:
        assert list_ids(cdap) == {young}


@pytest.mark.slow
def test_runs_are_removed_by_the_command(cdap: Cdap, home: Home, capsys):
    old, young = write_days(cdap, 9, 1)

    def command(*words: str) -> tuple[int, str]:
        code = run_command(["runs", *words, "--home", str(home.path)])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    assert command("--keep-days", "1")[0] == 2
    assert command("prune")[0] == 2
    assert command("prune", "--keep-days", "3", "--dry-run") == (
        0,
        f"{old}\n1 run would be removed.\n",
    )
    code, out = command("prune", "sales", "--keep-newest", "1", "--json")
    assert json.loads(out) == {"runs": [old], "removed": True}
    assert old not in command()[1]
    assert young in command("sales")[1]
