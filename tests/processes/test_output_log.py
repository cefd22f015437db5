"""What processes print, and how much of it is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from localcdap.processes.spawn import (
    OutputPipe,
    OutputTail,
    open_log,
    read_end,
    request_stack,
)
from localcdap.processes.tree import end_child

LIMIT = 1_000_000


def test_a_log_is_private_and_continued_up_to_a_size(tmp_path: Path):
    path = tmp_path / "folder" / "log"
    for size, expected in ((0, "new"), (5, "old..new"), (4, "new")):
        path.parent.mkdir(exist_ok=True)
        path.write_text("old..") if size else path.unlink(missing_ok=True)
        with open_log(path, size) as log:
            log.write(b"new")
        assert path.read_text() == expected
    path.unlink()
    open_log(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_end_of_a_log_is_read(tmp_path: Path):
    path = tmp_path / "log"
    assert read_end(path, 5) == ""
    path.write_text("😀" * 100 + "ends")
    assert read_end(path, 5) == "😀ends"
    assert read_end(path, 1000) == "😀" * 100 + "ends"


def test_the_last_lines_are_kept_also_the_one_that_is_not_complete():
    tail = OutputTail(2)

    assert tail.add(b"one\ntwo\nth") == ["one", "two"]
    assert tail.add(b"ree\n\xff\nfive") == ["three", "\ufffd"]

    assert tail.lines == ["three", "\ufffd", "five"]
    assert tail.add(b"\n") == ["five"]
    assert tail.lines == ["\ufffd", "five"]


def test_a_line_without_end_is_cut_at_its_beginning():
    tail = OutputTail(2)
    for _ in range(3):
        tail.add(b"x" * LIMIT)
    tail.add(b"end")

    assert [len(line) for line in tail.lines] == [LIMIT]
    assert tail.lines[0].endswith("xend")


def test_a_pipe_is_read_without_waiting_for_its_writer():
    reads, writes = os.pipe()
    lines: list[str] = []
    pipe = OutputPipe(reads, 10, lines.append)
    pipe.read()
    os.write(writes, b"one\ntwo")
    pipe.read()
    assert lines == ["one"]
    assert len(pipe.add_to(["other"])) == 2
    os.close(writes)

    assert pipe.read_rest() == "one\ntwo"
    assert pipe.add_to(["other"]) == ["other"]


@pytest.mark.parametrize("closes", ["", "os.close(2);"])
def test_a_process_writes_its_stack_when_it_is_asked(closes):
    script = (
        "import os, time\n"
        "from localcdap.processes.spawn import write_stack_on_request\n"
        f"write_stack_on_request(); {closes}\n"
        "def waiting():\n    print(1, flush=True)\n    time.sleep(600)\n"
        "waiting()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.readline()

    assert request_stack(child.pid)

    assert b"most recent call first" in child.stderr.readline()
    assert b"in waiting" in child.stderr.readline()
    end_child(child)
    assert not request_stack(child.pid)
