"""Spark started ahead of the runs that need it."""

from __future__ import annotations

import threading

import pytest

from localcdap.api.errors import EngineError
from localcdap.engine.local.server import EngineStatus
from localcdap.runs.startup.profiles import Profiles
from localcdap.runs.startup.provisioners import Provisioners


class Engine:
    """A server that starts when it is let, or fails to, and ends before it is warm."""

    def __init__(self, directory, error=None):
        self.directory = directory
        self.started = 0
        self.may_start = threading.Event()
        self.error = error

    def get_status(self):
        return EngineStatus(running=self.started > 0 and self.may_start.is_set())

    def ensure(self):
        self.may_start.wait(60)
        if self.error is not None:
            raise self.error
        self.started += 1


def finish(provisioners):
    thread = provisioners._warming
    if thread is not None:
        thread.join(60)


@pytest.mark.parametrize("error", [None, EngineError("There is no Java.")])
def test_spark_is_started_once_in_the_background(error, tmp_path):
    engine = Engine(tmp_path, error)
    provisioners = Provisioners(Profiles({}, "native"), engine, {}, warms_up=True)
    assert provisioners.warm_up()
    assert provisioners.warm_up()  # it is being started
    thread = provisioners._warming
    engine.may_start.set()
    thread.join(60)
    assert engine.started == (error is None)
    assert provisioners.warm_up() is (error is not None)  # it may be tried again after an error
    finish(provisioners)


def test_the_setting_switches_that_off(tmp_path):
    engine = Engine(tmp_path)
    engine.may_start.set()
    assert not Provisioners(Profiles({}, "native"), engine, {}).warm_up()
    assert engine.started == 0
