"""The process of a run, from order to end, as the host starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from localcdap.api.serialization.value_types import unpack
from localcdap.engine.commit import Staging
from localcdap.engine.driver import recovery
from localcdap.engine.driver.progress_report import create_status
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.orders import AT_WORK, SPOOL, WorkOrder, write_order
from localcdap.engine.messages.spool import (
    Committed,
    Counted,
    Failed,
    LogLine,
    LogLines,
    Message,
    RunStatus,
    StagesTimed,
    StatusChanged,
    TableLoads,
)
from localcdap.messaging.consumer import SpoolReader, SpoolWriter
from localcdap.testing import record_plugins
from localcdap.testing.references import file_ref
from tests.engine import plugins
from tests.engine.plugins import NUMBERS

REPOSITORY = Path(__file__).resolve().parents[2]
ARTIFACT = {"name": "plugins", "version": "1.0.0", "scope": "USER"}


def document(*chain, config=None):
    """A pipeline of stages one behind the other, each (name, plugin class, properties)."""
    stages = []
    for name, cls, properties in chain:
        ref = file_ref(cls)
        plugin = {
            "name": ref.name,
            "type": ref.type,
            "properties": properties,
            "artifact": ARTIFACT,
        }
        stages.append({"name": name, "plugin": plugin})
    names = [name for name, _, _ in chain]
    connections = [{"from": a, "to": b} for a, b in zip(names, names[1:], strict=False)]
    found = {"stages": stages, "connections": connections, "engine": "spark"} | (config or {})
    return {"name": "p", "artifact": {"name": "cdap-data-pipeline"}, "config": found}


def order(endpoint, folder, *chain, arguments=None, config=None):
    return WorkOrder(
        run_id=str(uuid.uuid4()),
        namespace="default",
        pipeline="p",
        document=json.dumps(document(*chain, config=config)),
        plugins={name: file_ref(cls) for name, cls, _ in chain},
        arguments=arguments or {},
        logical_start_ms=1_700_000_000_000,
        engine_url=endpoint.url,
        engine_token=endpoint.token,
        base_directory=str(folder),
        user="me",
    )


def start(run_directory):
    return subprocess.Popen(
        [sys.executable, "-m", "localcdap.engine.run_process", str(run_directory)],
        stdin=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
    )


def said(run_directory) -> list:
    return [unpack(data, Message) for _, data in SpoolReader(run_directory / SPOOL).read()]


def of(messages, kind):
    return [message for message in messages if isinstance(message, kind)]


def statuses(messages):
    return [message.status.value for message in of(messages, StatusChanged)]


@pytest.fixture
def run_directory(tmp_path):
    directory = tmp_path / "run"
    directory.mkdir()
    return directory


def numbers_source(folder):
    """A source stage of ten numbers, which are stored in a folder."""
    import pyarrow as pa

    from localcdap.api.arrow import RecordCodec

    file = folder / "in.arrows"
    batch = RecordCodec(NUMBERS).encode([{"n": n, "word": "w"} for n in range(10)])
    with pa.ipc.new_stream(str(file), batch.schema) as stream:
        stream.write_batch(batch)
    properties = {"schema": str(NUMBERS), "path": str(file)}
    return ("in", record_plugins.RecordFileSource, properties)


@pytest.fixture
def source(tmp_path):
    return numbers_source(tmp_path)


@pytest.mark.spark
def test_a_process_that_waits_gets_its_order_and_completes(engine, run_directory, source, tmp_path):
    process = start(run_directory)
    time.sleep(0.3)
    chain = [source, ("add", plugins.AddOne, {}), ("out", plugins.ParquetSink, {"path": "out"})]

    write_order(run_directory, order(engine, tmp_path, *chain, arguments={"a": "b"}))
    process.stdin.close()

    assert process.wait(120) == 0
    messages = said(run_directory)
    assert statuses(messages) == ["PENDING", "STARTING", "RUNNING", "COMPLETED"]
    (counted,) = of(messages, Counted)
    assert {name: (c.in_, c.out) for name, c in counted.stages.items()} == {
        "in": (0, 10),
        "add": (10, 10),
        "out": (10, 0),
    }
    assert of(messages, Committed)[0].directories == [str(tmp_path / "out")]
    assert list((tmp_path / "out").glob("part-*.parquet"))
    texts = [line.text for line in of(messages, LogLine)]
    assert texts[0] == "Pipeline 'p' is started by user 'me' with arguments {'a': 'b'}"
    assert texts[1] == "Pipeline 'p' running"
    assert (run_directory / "order.json").stat().st_mode & 0o077 == 0


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("fail_at", [None, "7"])
def test_what_plugins_say_in_workers_is_in_the_log(
    engine, run_directory, source, tmp_path, fail_at
):
    talks = {"fail_at": fail_at} if fail_at else {}
    chain = [source, ("talks", plugins.Talks, talks), ("out", plugins.ParquetSink, {"path": "out"})]
    write_order(run_directory, order(engine, tmp_path, *chain))

    process = start(run_directory)

    assert process.wait(120) == (1 if fail_at else 0)
    messages = said(run_directory)
    assert isinstance(messages[-1], StatusChanged)
    reported = [line for message in of(messages, LogLines) for line in message.lines]
    lines = [(line.level, line.text) for line in reported if line.stage == "talks"]
    assert sorted(lines) == [
        ("INFO", "logged 0"),
        ("INFO", "logged 5"),
        ("INFO", "printed 0"),
        ("INFO", "printed 5"),
        ("WARNING", "warned 0"),
        ("WARNING", "warned 5"),
    ]
    if not fail_at:
        (counted,) = of(messages, Counted)
        assert counted.stages["talks"].metrics == {"begun": 1, "seen": 10, "ended": 1}
        (timed,) = of(messages, StagesTimed)
        assert timed.microseconds.keys() == {"talks"}
        assert timed.microseconds["talks"] > 0


@pytest.mark.spark
def test_a_run_that_fails_says_why_and_leaves_nothing(engine, run_directory, source, tmp_path):
    chain = [
        source,
        ("broken", plugins.Broken, {"how": "raise"}),
        ("out", plugins.ParquetSink, {"path": "out"}),
    ]
    write_order(run_directory, order(engine, tmp_path, *chain))

    assert start(run_directory).wait(120) == 1

    messages = said(run_directory)
    assert statuses(messages)[-1] == "FAILED"
    (failed,) = of(messages, Failed)
    assert failed.stage == "broken"
    assert "cannot take 3" in failed.message
    assert any("plugins.py" in frame for frame in failed.trace)
    assert [p.name for p in tmp_path.iterdir() if "out" in p.name] == []


@pytest.mark.spark
def test_sigterm_kills_a_run(engine, run_directory, source, tmp_path):
    chain = [
        source,
        ("slow", plugins.Slow, {"started": str(tmp_path / "started")}),
        ("out", plugins.ParquetSink, {"path": "out"}),
    ]
    write_order(run_directory, order(engine, tmp_path, *chain))
    process = start(run_directory)
    deadline = time.monotonic() + 120
    while not (tmp_path / "started").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)

    process.send_signal(signal.SIGTERM)

    assert process.wait(120) == 143
    messages = said(run_directory)
    assert statuses(messages)[-1] == "KILLED"
    assert of(messages, Failed) == []
    assert [str(p) for p in tmp_path.rglob("*") if "out" in str(p)] == []


def test_an_invalid_pipeline_fails_with_all_reasons(run_directory, source, tmp_path):
    from localcdap.engine.endpoint import Endpoint

    chain = [source, ("above", plugins.Above, {"limit": "x"}), ("out", plugins.ParquetSink, {})]
    nowhere = Endpoint("sc://127.0.0.1:1", None)
    write_order(run_directory, order(nowhere, tmp_path, *chain))

    assert start(run_directory).wait(120) == 1

    (failed,) = of(said(run_directory), Failed)
    assert "'limit' must be a whole number" in failed.message
    assert "'path' has no value" in failed.message


def test_a_process_without_an_order_goes_when_its_input_ends(run_directory):
    process = start(run_directory)
    process.stdin.close()

    assert process.wait(120) == 0
    assert list(run_directory.iterdir()) == []


def test_recovery_finishes_a_decided_run_once(run_directory, tmp_path):
    load = TableLoad("default", "t", NUMBERS, "n", "/rows")
    staging = Staging(run_directory, "run-1")
    (Path(staging.create_directory(str(tmp_path / "out"))) / "part").touch()
    staging.commit([load])
    from localcdap.engine.endpoint import Endpoint

    given = order(Endpoint("sc://x", None), tmp_path)
    write_order(run_directory, given)
    with SpoolWriter(run_directory / SPOOL) as spool:
        spool.append(create_status(RunStatus.RUNNING))

    assert recovery.recover_run(run_directory) is RunStatus.COMPLETED
    assert recovery.recover_run(run_directory) is RunStatus.COMPLETED

    messages = said(run_directory)
    assert statuses(messages) == ["RUNNING", "COMPLETED"]
    assert of(messages, TableLoads) == [TableLoads(given.run_id, [load])]


def test_a_run_for_which_spark_still_works_names_what_stays(run_directory, tmp_path):
    staging = Staging(run_directory, "run-1")
    directory = staging.create_directory(str(tmp_path / "out"))
    staging.block(run_directory / "tables")
    (run_directory / AT_WORK).touch()
    with SpoolWriter(run_directory / SPOOL) as spool:
        spool.append(create_status(RunStatus.RUNNING))

    assert recovery.recover_run(run_directory) is RunStatus.FAILED

    (failed,) = of(said(run_directory), Failed)
    assert "Spark still works for it" in failed.message
    assert directory in failed.corrective_action
    assert Path(directory).is_file()


def test_recovery_of_an_undecided_run_removes_what_was_staged(run_directory, tmp_path):
    Staging(run_directory, "run-1").create_directory(str(tmp_path / "out"))
    with SpoolWriter(run_directory / SPOOL) as spool:
        spool.append(create_status(RunStatus.RUNNING))

    assert recovery.recover_run(run_directory) is RunStatus.FAILED

    assert statuses(said(run_directory)) == ["RUNNING", "FAILED"]
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
