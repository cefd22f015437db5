"""Calls of a run to its host, which is killed in the middle of one: the run goes on with the next host."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.api.dataset.definition import DatasetDeclaration
from localcdap.api.errors import HostLostError
from localcdap.engine.host_client import create_declarer, execute_statements
from localcdap.engine.messages.host import RUN_DATASETS, TABLE_STATEMENTS, StatementBatch
from localcdap.engine.messages.orders import WorkOrder

DYING_HOST = f"""
import os, signal, sys, threading
from pathlib import Path
from localcdap.rpc.host_lock import connect_or_become_host
from localcdap.version import VERSION


class Dying:
    def declare(self, namespace, stage, declaration):
        os.kill(os.getpid(), signal.SIGKILL)

    def carry_out(self, statements):
        os.kill(os.getpid(), signal.SIGKILL)


lock = connect_or_become_host(Path(sys.argv[1]), VERSION)
lock.listen({{{RUN_DATASETS!r}: Dying(), {TABLE_STATEMENTS!r}: Dying()}})
print("listening", flush=True)
threading.Event().wait(60)
"""


@pytest.fixture
def dying_host(tmp_path: Path, fresh_home) -> Iterator[subprocess.Popen[str]]:
    """A process that is the host of an instance, and is killed in each call."""
    command = [sys.executable, "-c", DYING_HOST, str(fresh_home(tmp_path / "home"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listening\n"
        yield process
        process.kill()


def test_a_dataset_that_was_being_created_is_created_by_the_next_host(tmp_path, dying_host):
    home = str(tmp_path / "home")
    order = WorkOrder(
        *("r1", "default", "p", "{}", {}, {}, 0, "sc://x", str(tmp_path)), host_directory=home
    )
    declare = create_declarer(order)
    assert declare is not None
    properties = {
        "partitioning.fields.": "day",
        "partitioning.field.day": "STRING",
        "format": "text",
    }

    files = declare("Sink", DatasetDeclaration("days", "partitionedFileSet", properties))

    assert dying_host.wait() == -signal.SIGKILL
    assert files is not None
    assert Path(files.folder) == Path(home, "filesets", "default", "days")


def test_statements_that_may_have_been_carried_out_are_not_repeated(tmp_path, dying_host):
    batch = StatementBatch("default", ["DROP TABLE t"], ["t"])

    with pytest.raises(HostLostError):
        execute_statements(str(tmp_path / "home"), batch)

    assert dying_host.wait() == -signal.SIGKILL
