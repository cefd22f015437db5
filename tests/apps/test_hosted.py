"""A system application in its process, called through the host, from this process and from another."""

from __future__ import annotations

import json
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


def create(instance: Instance, id: str, namespace: str = "default") -> AppAnswer:
    return instance.call("POST", f"/contexts/{namespace}/experiments", {"id": id})


def ids(instance: Instance, namespace: str = "default") -> list[str]:
    page = instance.call("GET", f"/contexts/{namespace}/experiments", limit="100")
    return [each["id"] for each in page.body["experiments"]]


def pid(instance: Instance) -> int:
    """Of the application's process."""
    return instance.call("GET", "/pid").body


def test_it_is_deployed_started_and_called(instance):
    (listed,) = instance.cdap.apps.list_applications()
    detail = instance.cdap.apps.describe("catalogue")

    assert (listed.name, listed.running) == ("catalogue", False)
    assert [table.table for table in detail.services[0].tables] == ["experiments", "deletions"]
    assert [each.name for each in detail.listeners] == ["catalogue-deletions"]
    assert create(instance, "a").status == 201
    assert instance.call("PUT", "/contexts/default/experiments/a/runs").status == 200
    assert instance.call("GET", "/contexts/default/experiments/a").body["runs"] == 1
    assert instance.call("GET", "/contexts/nowhere/experiments").status == 404
    assert instance.cdap.apps.list_applications()[0].running
    assert pid(instance) != os.getpid()
    with pytest.raises(NotFoundError, match="There is no application 'x'"):
        instance.cdap.apps.call("x", AppRequest("GET", "/"))


def test_another_process_calls_it(instance):
    create(instance, "a")
    home = ["--home", str(instance.home.path)]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "localcdap.cli", "apps", *arguments, *home]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    found = run("catalogue", "GET", "/contexts/default/experiments", "-q", "limit=7")
    added = run("catalogue", "post", "/contexts/default/experiments", "-b", '{"id": "b"}', "--json")
    missing = run("catalogue", "GET", "/contexts/x/experiments")

    assert [each["id"] for each in json.loads(found.stdout)["experiments"]] == ["a"]
    assert json.loads(added.stdout)["status"] == 201
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "404: Namespace 'x' does not exist." in missing.stderr
    assert "GET    /contexts/{context}/experiments?limit&after" in run("catalogue").stdout
    assert ids(instance) == ["a", "b"]


def test_killed_in_the_middle_of_a_transaction(instance):
    create(instance, "a")

    with pytest.raises(PluginError, match="was ended by SIGKILL while it answered POST"):
        instance.call("POST", "/contexts/default/half-done", ["a", "b"])

    # What it left open is rolled back at once: the same rows can be written now.
    begin = time.monotonic()
    assert instance.call("PUT", "/contexts/default/experiments/a/runs").status == 200
    assert time.monotonic() - begin < 3
    assert ids(instance) == ["a"]
    row = instance.call("GET", "/contexts/default/experiments/a").body
    assert row == {"id": "a", "note": "", "runs": 1}


def test_killed_between_two_calls(instance):
    create(instance, "a")
    os.kill(pid(instance), signal.SIGKILL)
    time.sleep(0.1)

    assert ids(instance) == ["a"]


def test_rows_of_a_deleted_namespace_are_gone_and_listeners_are_woken(instance):
    instance.cdap.namespaces.create("sales")
    for id in "ab":
        create(instance, id, "sales")
    create(instance, "kept")
    instance.cdap.apps.stop("catalogue")

    instance.cdap.namespaces.delete("sales")
    assert instance.call("GET", "/contexts/sales/experiments").status == 404
    instance.cdap.namespaces.create("sales")

    assert ids(instance, "sales") == []
    wait_until(lambda: instance.call("GET", "/rows").body == 1)
    wait_until(lambda: instance.call("GET", "/deletions").body == {"sales": 1})
    assert instance.cdap.apps.describe("catalogue").listeners[0].error is None


def test_events_that_it_does_not_want_do_not_start_it(instance):
    instance.cdap.namespaces.create("sales")
    newest = instance.cdap.messaging.newest()
    time.sleep(0.3)

    assert not instance.cdap.apps.list_applications()[0].running
    instance.cdap.namespaces.delete("sales")
    wait_until(lambda: instance.cdap.apps.list_applications()[0].running)
    assert newest < instance.cdap.messaging.newest()


def test_plugins_of_a_namespace_run_in_the_plugin_worker(instance):
    instance.cdap.namespaces.create("sales")
    instance.put("shout", "sales")

    assert instance.call("POST", "/contexts/sales/shout", ["ada"]).body == ["ADA!"]
    assert instance.call("POST", "/contexts/default/shout", ["ada"]).status == 404
    assert instance.call("POST", "/messages/news", [1, 2]).body == [1, 2]
    assert "catalogue" in instance.call("GET", "/spaces").body["sales"]


def test_outside_of_the_namespace_system_it_is_refused(tmp_path):
    with Instance(tmp_path / "home") as instance:
        instance.put("catalogue", "default")
        (broken,) = instance.cdap.artifacts.list_artifacts("default", errors=True)

        assert (
            "runs in the namespace 'system' only, and 'catalogue' is in 'default'" in broken.error
        )
        assert instance.cdap.apps.list_applications() == []
        assert not instance.cdap.structured_tables.exists("experiments")


def test_a_version_whose_tables_do_not_fit_leaves_the_old_one_running(instance):
    create(instance, "a")
    text = (HERE / "catalogue.py").read_text()
    place = instance.home.path / "plugins" / "system" / "catalogue-1.0.0.py"

    place.write_text(text.replace('"note": FieldType.STRING', '"note": FieldType.LONG'))
    instance.cdap.artifacts.sync()
    (broken,) = instance.cdap.artifacts.list_artifacts("system", errors=True)
    assert "Table experiments exists" in broken.error
    assert "field note is LONG instead of STRING" in broken.error
    assert (ids(instance), create(instance, "b").status) == (["a"], 201)

    place.write_text(text.replace('"GET", "/rows"', "").replace('@get("/rows")', '@get("/all")'))
    instance.cdap.artifacts.sync()
    assert instance.cdap.artifacts.list_artifacts("system", errors=True) == []
    assert (instance.call("GET", "/rows").status, instance.call("GET", "/all").body) == (404, 2)


def test_one_that_takes_too_long_or_cannot_be_loaded(tmp_path):
    with Instance(tmp_path / "home") as instance:
        instance.settings("app.time_limit_s = 0.5\napp.idle_minutes = 0.01")
        instance.put("catalogue", "system")
        with pytest.raises(
            PluginError, match=r"took more than 0\.5 s while it answered GET /asleep"
        ):
            instance.call("GET", "/asleep")
        assert ids(instance) == []
        wait_until(lambda: not instance.cdap.apps.list_applications()[0].running)

        place = instance.home.path / "plugins" / "system" / "catalogue-1.0.0.py"
        text = place.read_text().replace(
            "def initialize(self) -> None:", "def initialize(self) -> None:\n        1 / 0"
        )
        place.write_text(text)
        instance.cdap.artifacts.sync()
        with pytest.raises(PluginError, match="ZeroDivisionError"):
            ids(instance)
