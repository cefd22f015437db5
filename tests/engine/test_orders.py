"""How a run process gets its work order."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest

from localcdap.engine.messages import orders
from localcdap.engine.messages.orders import WorkOrder, wait_for_order, write_order


@pytest.fixture
def pipe():
    theirs, ours = os.pipe()
    yield theirs, ours
    for end in (theirs, ours):
        os.close(end)


def make_order(folder: Path) -> WorkOrder:
    return WorkOrder("run-1", "default", "p", "{}", {}, {}, 0, "sc://x", str(folder))


def test_an_order_is_read_as_soon_as_the_input_has_something(tmp_path, pipe, monkeypatch):
    monkeypatch.setattr(orders, "_POLL_S", 3600.0)
    real = select.select

    def give_order_while_it_waits(*arguments):
        write_order(tmp_path, make_order(tmp_path))
        os.write(pipe[1], b"\n")
        return real(*arguments)

    monkeypatch.setattr(select, "select", give_order_while_it_waits)
    found = wait_for_order(tmp_path, pipe[0])
    assert found is not None
    assert found.run_id == "run-1"


def test_an_input_without_an_order_does_not_end_the_wait(tmp_path, pipe, monkeypatch):
    os.write(pipe[1], b"\n")
    real = select.select
    waits = []

    def give_order_at_the_second_wait(*arguments):
        waits.append(arguments)
        if len(waits) == 2:
            write_order(tmp_path, make_order(tmp_path))
        return real(*arguments)

    monkeypatch.setattr(select, "select", give_order_at_the_second_wait)
    assert wait_for_order(tmp_path, pipe[0]) is not None
    assert len(waits) == 2
