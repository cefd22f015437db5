"""``localcdap jobs`` on jobs that are stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from localcdap.api.app.jobs import JobDetail
from localcdap.apps.jobs.records import JobRecords, StoredJob
from localcdap.cli.main import run
from localcdap.engine.messages.spool import LogLine
from localcdap.testing import TemporaryInstance

Command = Callable[..., tuple[int, str, str]]
NOW = 1_790_000_000_000


def write_job(records: JobRecords, store, id: str, title: str, status: str, **more: object) -> None:
    detail = JobDetail(
        id, "ModelManagementApp", "train", "default", title, "PENDING", NOW, "native"
    )
    job = StoredJob(detail, 0, 512, "")
    records.add(job)
    if status == "PENDING":
        return
    detail.status, detail.started = status, NOW
    for name, value in more.items():
        setattr(detail, name, value)
    with store.transaction() as tx:
        records.change(tx, job)
        records.add_log(tx, id, [LogLine(NOW / 1000, "INFO", None, f"working on {title}")])


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporaryInstance]:
    with TemporaryInstance(tmp_path_factory.mktemp("jobs")) as made:
        jobs = made.cdap.jobs
        records, store = jobs._records, jobs._store
        write_job(records, store, "aa11", "Train 'one'", "COMPLETED", ended=NOW + 4000)
        write_job(
            records,
            store,
            "aa22",
            "Train 'two'",
            "FAILED",
            ended=NOW + 9000,
            error="Out of memory.",
        )
        write_job(records, store, "bb33", "Train 'three'", "PENDING")
        yield made


@pytest.fixture
def command(instance, capsys) -> Command:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["jobs", *arguments, "--home", str(instance.home.path)])
        return code, *capsys.readouterr()

    return call


def test_jobs_are_listed_shown_and_stopped(command):
    code, out, _ = command()
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["bb33", "aa22", "aa11"]
    assert "PENDING, 1 in the queue" in out
    assert "4.0 s" in out
    assert command("list", "--application", "other")[1] == ""
    assert json.loads(command("--json")[1])[1]["error"] == "Out of memory."

    code, out, _ = command("show", "aa11")
    assert (code, "COMPLETED" in out) == (0, True)
    code, out, _ = command("show", "aa22")
    assert code == 1
    assert "Out of memory." in out

    assert "INFO    working on Train 'one'" in command("log", "aa1", "--follow")[1]

    code, out, _ = command("stop", "last")
    assert (code, out) == (0, "Train 'three' bb33: KILLED\n")


def test_what_is_wrong_is_said(command):
    code, _, error = command("show", "aa")
    assert code == 1
    assert "Several jobs begin with 'aa'." in error
    code, _, error = command("log", "zz")
    assert "There is no job 'zz'." in error
    assert "localcdap jobs" in error
    code, _, error = command("stop")
    assert code == 2
    assert "The job is missing" in error
