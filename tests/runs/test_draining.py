"""What a run has said takes effect when it is asked for, no matter when the host watches it."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StoreError
from localcdap.api.schema import Schema
from localcdap.api.security import Authorizer, Permission
from localcdap.api.tables import TableWrite
from localcdap.engine.driver.progress_report import create_status
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.orders import EXIT_FILE, ORDER, SPOOL, UNREADABLE_ORDER
from localcdap.engine.messages.spool import Progress, RecordCounts, RunStatus, TableLoads
from localcdap.messaging.consumer import SpoolWriter
from localcdap.processes import identity
from localcdap.runs.effects import RunEffects
from localcdap.runs.model import StageCounts
from localcdap.runs.startup.processes import RunProcess
from localcdap.runs.watcher import RunWatcher, WatchedRun
from localcdap.security.authorizer import ALLOW_ALL, PrivilegeAuthorizer
from localcdap.security.privileges import Privileges
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.program import wait_until
from tests.runs.stored_runs import GONE, write_run

ROW = Schema.record("row", [("id", Schema.INT)])


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        yield made


def said(
    instance: TemporaryInstance,
    folder: Path,
    table: str,
    how: TableWrite,
    *,
    user: str | None = None,
    authorizer: Authorizer = ALLOW_ALL,
) -> str:
    """A run that nobody looks at, and that has reported a row for a table, and its end."""
    rows = folder / "rows"
    rows.mkdir()
    pq.write_table(
        pa.Table.from_batches([RecordCodec(ROW).encode([{"id": 1}])]), rows / "a.parquet"
    )
    runs = instance.cdap.runs
    run = write_run(instance.cdap, status=RunStatus.RUNNING, user=user)
    load = TableLoad("default", table, ROW, None, str(rows), how)
    with SpoolWriter(folder / SPOOL) as spool:
        spool.append(TableLoads(run.run, [load]), create_status(RunStatus.COMPLETED))
    watched = WatchedRun(runs._store, runs._records, run, GONE, folder, lambda: None, authorizer)
    runs._watch._runs[run.run] = watched
    return run.run


def test_rows_are_in_their_tables_when_a_run_is_drained(instance, tmp_path):
    run = said(instance, tmp_path, "drained", TableWrite())
    instance.cdap.runs.drain_spool(run)
    instance.cdap.runs.drain_spool(run)
    assert instance.cdap.tables.read_rows("default", "drained", 9).rows == [[1]]
    assert instance.cdap.runs.get("default", run).status is RunStatus.COMPLETED


def test_what_cannot_take_effect_is_reported(instance, tmp_path):
    run = said(instance, tmp_path, "wrong", TableWrite("update", ("id",), among="held.nil = 1"))
    with pytest.raises(StoreError) as raised:
        instance.cdap.runs.drain_spool(run)
    assert "The rows for wrong could not be written" in raised.value.message
    assert 'does not have a column named "nil"' in raised.value.message
    assert instance.cdap.runs.get("default", run).status is RunStatus.FAILED


def test_a_run_writes_only_what_its_user_may_write(instance, tmp_path):
    held = Privileges.of(True, {"alice": {"namespaces/default/datasets/hers": [Permission.WRITE]}})
    for table, user in (("hers", "alice"), ("his", "alice"), ("any", None)):
        folder = tmp_path / table
        folder.mkdir()
        authorizer = PrivilegeAuthorizer(lambda: held)
        run = said(instance, folder, table, TableWrite(), user=user, authorizer=authorizer)
        if table == "his":
            with pytest.raises(StoreError, match="'WRITE' on entity 'dataset:default.his'"):
                instance.cdap.runs.drain_spool(run)
            assert instance.cdap.runs.get("default", run).status is RunStatus.FAILED
        else:
            instance.cdap.runs.drain_spool(run)
    names = {each.name for each in instance.cdap.tables.list_tables("default")}
    assert {"hers", "any"} <= names
    assert "his" not in names


def test_a_run_that_has_ended_has_had_its_effect(instance):
    instance.cdap.runs.drain_spool(write_run(instance.cdap).run)


def test_a_run_that_is_stopped_before_its_process_reports_is_killed(instance):
    assert RunStatus.PENDING.can_become(RunStatus.STOPPING)
    run = write_run(instance.cdap, status=RunStatus.PENDING)
    service = instance.cdap.runs
    effects = RunEffects(service._store, service._records, run.run)
    with service._store.transaction() as tx:
        record = service._records.get_in(tx, run.run)
        record.status = RunStatus.STOPPING  # as stop() sets it
        service._records.change(tx, record)

    with service._store.transaction() as tx:
        effects.apply(
            tx, create_status(RunStatus.FAILED)
        )  # what recovery says of a process that is gone

    assert service.get("default", run.run).status is RunStatus.KILLED


@pytest.mark.parametrize("end", [RunStatus.FAILED, RunStatus.KILLED, RunStatus.COMPLETED])
def test_what_a_run_counted_before_it_failed_stays(instance, tmp_path, end):
    runs = instance.cdap.runs
    stages = {"In": StageCounts(), "Out": StageCounts()}
    run = write_run(instance.cdap, status=RunStatus.RUNNING, stages=stages)
    with SpoolWriter(tmp_path / SPOOL) as spool:
        so_far = {"In": RecordCounts(0, 12, 1)}
        spool.append(Progress(0.0, 1, 2, 10, so_far), create_status(end))
    watched = WatchedRun(runs._store, runs._records, run, GONE, tmp_path, lambda: None)
    watched.drain_spool()
    found = runs.get("default", run.run)
    assert found.progress is None
    kept = StageCounts() if end is RunStatus.COMPLETED else StageCounts(0, 12, 1)
    assert found.stages == {"In": kept, "Out": StageCounts()}


def test_a_run_whose_process_died_says_how(instance, tmp_path):
    runs = instance.cdap.runs
    run = write_run(instance.cdap, status=RunStatus.RUNNING)
    (tmp_path / EXIT_FILE).write_text("-11")
    with SpoolWriter(tmp_path / SPOOL) as spool:
        spool.append(create_status(RunStatus.RUNNING))
    watched = WatchedRun(runs._store, runs._records, run, GONE, tmp_path, lambda: None)
    wait_until(watched.check, "the run is recovered")
    error = runs.get("default", run.run).error
    assert error.message.endswith("ended before the run did. It was killed by SIGSEGV.")


def test_a_recovery_that_takes_long_keeps_no_other_run_from_its_messages(
    instance, tmp_path, monkeypatch
):
    runs, may_go_on = instance.cdap.runs, threading.Event()
    folders = {name: tmp_path / name for name in ("slow", "quick")}
    for folder in folders.values():
        folder.mkdir()

    def stop_spark_work(folder: Path) -> None:
        if folder == folders["slow"]:
            may_go_on.wait()

    monkeypatch.setattr("localcdap.engine.driver.recovery.stop_spark_work", stop_spark_work)
    found = {name: write_run(instance.cdap, status=RunStatus.RUNNING).run for name in folders}

    def get_status(name: str) -> RunStatus:
        return runs.get("default", found[name]).status

    watch = RunWatcher()
    for name, folder in folders.items():
        record = runs.get("default", found[name])
        watch.add(WatchedRun(runs._store, runs._records, record, GONE, folder, lambda: None))
    try:
        wait_until(lambda: get_status("quick") is RunStatus.FAILED, "the other run is recovered")
        assert get_status("slow") is RunStatus.RUNNING
    finally:
        may_go_on.set()
    wait_until(lambda: get_status("slow") is RunStatus.FAILED, "the run is recovered")
    error = runs.get("default", found["slow"]).error
    assert error.message.startswith("The run had not begun: it waited for Spark")
    watch.close()


def test_a_process_that_was_not_forked_is_forgotten_when_its_run_has_ended(instance, tmp_path):
    runs = instance.cdap.runs
    run = write_run(instance.cdap, status=RunStatus.RUNNING)
    process = RunProcess(tmp_path, tmp_path / "no-fork-server", run.run)
    assert process.identity.pid in identity._children
    with SpoolWriter(process.directory / SPOOL) as spool:
        spool.append(create_status(RunStatus.COMPLETED))
    process._input.close()  # it ends without an order

    watch = RunWatcher()
    watch.add(
        WatchedRun(
            runs._store, runs._records, run, process.identity, process.directory, lambda: None
        )
    )
    pid = process.identity.pid
    wait_until(lambda: pid not in identity._children, "the process is forgotten")
    watch.close()
    assert runs.get("default", run.run).status is RunStatus.COMPLETED


def test_a_run_whose_order_cannot_be_read_fails_once(instance, tmp_path):
    runs = instance.cdap.runs
    run = write_run(instance.cdap, status=RunStatus.STARTING)
    (tmp_path / ORDER).write_text("{")
    watched = WatchedRun(runs._store, runs._records, run, GONE, tmp_path, lambda: None)
    while not watched.check():
        watched.wait_for_recovery()

    ended = runs.get("default", run.run)
    assert ended.status is RunStatus.FAILED
    assert "cannot be read" in ended.error.message
    assert [each.name for each in tmp_path.iterdir()] == [UNREADABLE_ORDER]
