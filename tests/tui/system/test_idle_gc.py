"""When the studio clears up."""

from __future__ import annotations

import gc

import pytest

from localcdap.tui import machine


@pytest.mark.parametrize(
    ("rounds", "tidied"),
    [
        ((0, 0, 0), []),
        ((1, 2, 3), []),
        ((2, 2), [1]),
        ((0, 4, 4, 0, 0), [2]),
        ((1, 1, 1, 1), [1, 3]),
    ],
)
def test_it_is_done_when_there_was_something_and_nothing_is_going_on(monkeypatch, rounds, tidied):
    done, tidying = [], machine.IdleGarbageCollector()
    for look, count in enumerate(rounds):
        monkeypatch.setattr(gc, "get_count", lambda count=count: (0, 0, count))
        monkeypatch.setattr(machine, "collect_and_freeze", lambda look=look: done.append(look))
        tidying.collect_if_idle()

    assert done == tidied
