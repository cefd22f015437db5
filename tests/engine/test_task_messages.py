"""What plugin code logs, prints and counts in Spark's workers, on its way to the run."""

# ruff: noqa: T201

from __future__ import annotations

import logging
import subprocess
import sys
from collections import Counter

import pytest

from localcdap.api.serialization.value_types import unpack
from localcdap.engine.driver.progress_report import ProgressReport, TaskListener
from localcdap.engine.host_client import RedactingSpoolWriter
from localcdap.engine.messages.spool import LogLines, Message, Progress, RecordCounts
from localcdap.engine.tasks import task_messages
from localcdap.engine.tasks.pass_plan import CountKey
from localcdap.engine.tasks.task_messages import TaskMessageWriter
from localcdap.messaging.consumer import SpoolReader, SpoolWriter
from localcdap.pipeline.macros.evaluation import Secrets
from localcdap.testing import PipelineTester
from tests.engine import plugins
from tests.engine.plugins import NUMBERS


@pytest.fixture
def channel(tmp_path):
    folder = tmp_path / "reported"
    folder.mkdir()
    return folder


@pytest.fixture
def receive(channel, tmp_path):
    """Reads everything that was reported: (the lines, the sums of counts)."""

    def receive():
        sums = []
        with SpoolWriter(tmp_path / "spool") as spool, TaskListener(channel, spool, sums.append):
            pass
        messages = [unpack(data, Message) for _, data in SpoolReader(tmp_path / "spool").read()]
        return [line for m in messages if isinstance(m, LogLines) for line in m.lines], sums[-1]

    return receive


@pytest.fixture
def task(monkeypatch):
    """Tells which task this process is, as Spark does in a worker."""

    def be(stage=0, partition=0, attempt=0, number=0):
        name = f"{stage}-{partition}-{attempt}-{number}"
        monkeypatch.setattr(task_messages, "_get_file_name", lambda: name)

    be()
    return be


def test_lines_carry_level_and_stage(channel, receive, task):
    streams, handlers = (sys.stdout, sys.stderr), logging.getLogger().handlers[:]
    with task_messages.capture_output(str(channel)) as teller:
        teller.stage = "now"
        print("printed\n\nin", "parts", end=" ")
        print("of a line")
        logging.getLogger("localcdap.stage.its own").info("logged %s", "x")
        logging.getLogger("a.library").warning("warned")
        logging.getLogger("a.library").debug("not of interest")
        logging.getLogger("a.library").info("%d", "no number")
        sys.stderr.write("no end")

    lines, _ = receive()
    found = [(line.level, line.stage, line.text) for line in lines]
    assert found[:4] == [
        ("INFO", "now", "printed"),
        ("INFO", "now", "in parts of a line"),
        ("INFO", "its own", "logged x"),
        ("WARNING", "now", "warned"),
    ]
    assert found[4][2].startswith("A log line could not be formatted")
    assert found[5] == ("WARNING", "now", "no end")
    assert (sys.stdout, sys.stderr) == streams
    assert logging.getLogger().handlers == handlers


def test_bytes_go_where_they_went_before(channel, receive, task, capfdbinary, monkeypatch):
    monkeypatch.setattr(sys, "stdout", open(1, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    with task_messages.capture_output(str(channel), "stage"):
        subprocess.run([sys.executable, "-c", "print('child')"], stdout=sys.stdout, check=True)
        sys.stdout.buffer.write(b"bytes")
        sys.stdout.buffer.flush()

    assert capfdbinary.readouterr().out == b"child\nbytes"
    assert receive()[0] == []


def test_a_secure_key_that_a_plugin_prints_is_hidden(channel, task, tmp_path):
    secrets = Secrets({"key": "hunter2"}.__getitem__)
    assert secrets.source("key") == "hunter2"
    with task_messages.capture_output(str(channel), "stage"):
        print("the key is hunter2")

    with (
        RedactingSpoolWriter(tmp_path / "spool", secrets) as spool,
        TaskListener(channel, spool, print),
    ):
        pass

    data = (tmp_path / "spool").read_bytes()
    assert b"the key is" in data
    assert b"hunter2" not in data


def test_of_too_many_lines_the_first_are_kept(channel, receive, task, monkeypatch):
    monkeypatch.setattr(task_messages, "_MOST_LINES", 3)
    with task_messages.capture_output(str(channel), "stage"):
        for number in range(10):
            print(number)

    lines, _ = receive()

    assert [line.text for line in lines] == [
        *"012",
        "This task wrote 7 more lines, which were left out.",
    ]


def test_another_attempt_does_not_say_again_what_was_said(channel, receive, task):
    for attempt, said in enumerate(["a a b", "a a b c a"]):
        task(attempt=attempt, number=attempt)
        with task_messages.capture_output(str(channel), "stage"):
            for text in said.split():
                print(text)
    task(partition=1, number=2)
    with task_messages.capture_output(str(channel), "stage"):
        print("a")

    lines, _ = receive()

    assert Counter(line.text for line in lines) == {"a": 4, "b": 1, "c": 1}


def test_counts_so_far_are_those_of_the_latest_attempts(channel, receive, task, monkeypatch):
    monkeypatch.setattr(task_messages, "_INTERVAL_S", 0)
    key = CountKey("stage", "out")
    for partition, attempt, counts in ((0, 0, [5, 5]), (0, 1, [3]), (1, 0, [1])):
        task(partition=partition, attempt=attempt, number=partition + 10 * attempt)
        teller = TaskMessageWriter(str(channel))
        for count in counts:
            teller.count(Counter({key: count}))
        teller.close()

    _, sums = receive()

    assert sums == {key: 4}


def test_what_is_no_message_is_passed_over(channel, receive, task):
    with task_messages.capture_output(str(channel), "stage"):
        print("good")
    with (channel / "0-0-0-0").open("ab") as file:
        file.write(b'{"type":"log","time":1}\nnonsense\n\xff\n{"type":"log","ti')
    (channel / "something").write_text("else")
    (channel / "1-0-0-1").mkdir()

    assert [line.text for line in receive()[0]] == ["good"]


def test_nothing_is_captured_where_nobody_listens(tmp_path, capsys):
    with task_messages.capture_output(None, "stage"):
        print("read by others")
    assert capsys.readouterr().out == "read by others\n"


def test_a_task_whose_run_is_over_does_not_begin(tmp_path):
    with (
        pytest.raises(InterruptedError, match="is over"),
        task_messages.capture_output(str(tmp_path / "gone"), "stage"),
    ):
        pytest.fail("It began.")


def test_a_task_ends_with_its_run_whatever_it_does(channel):
    code = (
        "import sys, time; from localcdap.engine.tasks.task_messages import capture_output\n"
        "with capture_output(sys.argv[1]):\n"
        "    sys.__stdout__.write('at work\\n'); sys.__stdout__.flush(); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, channel], stdout=subprocess.PIPE) as task:
        assert task.stdout.readline() == b"at work\n"
        channel.rmdir()

        assert task.wait(timeout=60) == 1


def test_progress_is_reported_when_it_has_changed(tmp_path):
    counted = Counter({CountKey("a", "fed"): 3, CountKey("b", "in"): 3, CountKey("b", "out"): 2})
    with SpoolWriter(tmp_path / "spool") as spool:
        report = ProgressReport(spool)
        report.report(Counter())
        report.report(counted)
        report.report(counted)
    reported = [unpack(data, Message) for _, data in SpoolReader(tmp_path / "spool").read()]
    assert len(reported) == 1
    assert isinstance(reported[0], Progress)
    assert reported[0].stages == {"a": RecordCounts(out=3), "b": RecordCounts(in_=3, out=2)}


@pytest.mark.spark
@pytest.mark.parametrize("outlets", [1, 2])
def test_metrics_of_plugin_code_are_exact(spark, tmp_path, outlets):
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", NUMBERS, [{"n": n, "word": "abc"[n % 3]} for n in range(10)])
    pipeline.stage("talks", plugins.Talks, {}, ["in"])
    for number in range(outlets):
        pipeline.sink(f"out {number}", "talks")
    pipeline.stage("groups", plugins.CountedGroups, {}, ["talks"])
    pipeline.sink("groups out", "groups")

    counts = pipeline.run()

    metrics = counts["talks"].metrics
    assert metrics.pop("begun") == metrics.pop("ended") > 0  # once in each task
    assert metrics == {"seen": 10}
    assert counts["groups"].metrics == {"grouped": 10, "groups made": 3}
    assert counts["in"].metrics == {}
    assert (counts["groups"].in_, counts["groups"].out, counts["groups"].groups) == (10, 10, 3)
