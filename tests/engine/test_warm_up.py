"""Small queries that make a new Spark server quick."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest

from localcdap.engine.endpoint import Endpoint
from localcdap.engine.local.server import LEASES, RECORD
from localcdap.engine.warm_up import start_warm_up, warm_up
from localcdap.processes.single_instance import hold_lease

KINDS = 3


@pytest.fixture
def directory(engine: Endpoint, engine_directory: Path, tmp_path: Path) -> Path:
    """The directory of the shared server, without the leases of these tests."""
    assert engine
    shutil.copy(engine_directory / RECORD, tmp_path / RECORD)
    return tmp_path


def test_a_server_computes_rounds_of_each_kind_and_leaves_no_files(directory: Path) -> None:
    assert warm_up(directory, KINDS) == KINDS
    assert list((directory / "tmp").iterdir()) == []


def test_it_gives_way_to_runs(directory: Path) -> None:
    rounds: list[int] = []
    thread = threading.Thread(target=lambda: rounds.append(warm_up(directory, 1)))
    with hold_lease(directory / LEASES):
        thread.start()
        time.sleep(1)
        assert not rounds
        assert not (directory / "tmp" / "warm-up" / "out").exists()
    thread.join(60)
    assert rounds == [1]


def test_it_ends_when_there_is_no_server(tmp_path: Path) -> None:
    assert warm_up(tmp_path) == 0
    assert start_warm_up(tmp_path).wait(60) == 0
