"""A system application in its process, called through the host, from this process and from another."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.errors import NotFoundError, PluginError
from localcdap.apps.model import AppAnswer, AppRequest
from localcdap.testing import TemporaryInstance

HERE = Path(__file__).parent


class Instance(TemporaryInstance):
    def put(self, name: str, namespace: str, version: str = "1.0.0") -> None:
        """Drop a module of this folder in as an artifact."""
        place = self.home.path / "given" / f"{name}-{version}.py"
        place.parent.mkdir(exist_ok=True)
        shutil.copyfile(HERE / f"{name}.py", place)
        self.drop(place, namespace)

    def call(self, method: str, path: str, body: Any = None, **query: str) -> AppAnswer:
        return self.cdap.apps.call("catalogue", AppRequest(method, path, query, body))


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    with Instance(tmp_path / "home") as made:
        made.put("catalogue", "system")
        yield made


def wait_until(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_all_of_it(instance):
    print(instance.cdap.artifacts.list_artifacts("system", errors=True))
    print(instance.cdap.apps.list_applications())
    t=time.time()
    print(instance.call("GET", "/spaces"), time.time()-t)
    t=time.time()
    print(instance.call("POST", "/contexts/default/experiments", {"id":"a"}), time.time()-t)
    for i in range(50):
        t=time.time()
        x=instance.call("GET", "/contexts/default/experiments/a"); t= time.time()-t
    print(x,t)
    assert 0
