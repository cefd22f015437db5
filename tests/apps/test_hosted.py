"""A system application in its process, called through the host, from this process and from another."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from localcdap.api.app.transactions import TransactionLimits
from localcdap.api.errors import NotFoundError, PluginError
from localcdap.apps.model import AppAnswer, AppRequest, AppSummary
from localcdap.cli.main import run
from localcdap.datasets.transactions import TransactionService
from localcdap.processes.limits import IS_LINUX
from localcdap.rpc.host_record import read_host_record
from localcdap.testing import TemporaryInstance

HERE = Path(__file__).parent
SHIPPED = ("dataprep", "ModelManagementApp", "ReportGenerationApp")
_numbers = itertools.count()


class Instance(TemporaryInstance):
    def put(self, name: str, namespace: str, version: str = "1.0.0") -> None:
        """Drop a module of this folder in as an artifact."""
        place = self.home.path / "given" / f"{name}-{version}.py"
        place.parent.mkdir(exist_ok=True)
        shutil.copyfile(HERE / f"{name}.py", place)
        self.drop(place, namespace)

    def call(self, method: str, path: str, body: Any = None, **query: str) -> AppAnswer:
        return self.cdap.apps.call("catalogue", AppRequest(method, path, query, body))


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """One for most tests of this module; each uses a namespace of its own."""
    with Instance(tmp_path_factory.mktemp("apps") / "home") as made:
        made.put("catalogue", "system")
        yield made


@pytest.fixture
def namespace(instance: Instance) -> str:
    """One that is there for one test."""
    name = f"n{next(_numbers)}"
    instance.cdap.namespaces.create(name)
    return name


def wait_until(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def create(instance: Instance, namespace: str, id: str) -> AppAnswer:
    return instance.call("POST", f"/contexts/{namespace}/experiments", {"id": id})


def ids(instance: Instance, namespace: str) -> list[str]:
    page = instance.call("GET", f"/contexts/{namespace}/experiments", limit="100")
    return [each["id"] for each in page.body["experiments"]]


def is_running(instance: Instance) -> bool:
    (found,) = list_own(instance)
    return found.running


def list_own(instance: Instance) -> list[AppSummary]:
    """Return the applications that do not come along."""
    return [each for each in instance.cdap.apps.list_applications() if each.name not in SHIPPED]


def test_it_is_deployed_started_and_called(instance, namespace):
    detail = instance.cdap.apps.describe("catalogue")

    assert [table.table for table in detail.services[0].tables] == ["experiments", "deletions"]
    assert [each.name for each in detail.listeners] == ["catalogue-deletions"]
    assert create(instance, namespace, "a").status == 201
    one = f"/contexts/{namespace}/experiments/a"
    assert instance.call("PUT", f"{one}/runs").status == 200
    assert instance.call("GET", one).body["runs"] == 1
    assert instance.call("GET", "/contexts/nowhere/experiments").status == 404
    assert is_running(instance)
    assert instance.call("GET", "/pid").body != os.getpid()
    with pytest.raises(NotFoundError, match="There is no application 'x'"):
        instance.cdap.apps.call("x", AppRequest("GET", "/"))


def test_another_process_calls_it(instance, namespace):
    create(instance, namespace, "a")
    path = f"/contexts/{namespace}/experiments"
    command = [sys.executable, "-m", "localcdap.cli", "apps", "catalogue", "post", path]
    options = ["-b", '{"id": "b"}', "--json", "--home", str(instance.home.path)]

    added = subprocess.run([*command, *options], capture_output=True, text=True, check=True)

    assert json.loads(added.stdout) == {"status": 201, "body": {"id": "b", "note": "", "runs": 0}}
    assert ids(instance, namespace) == ["a", "b"]


def test_the_command(instance, namespace, capsys):
    def command(*arguments: str) -> tuple[int, str, str]:
        code = run(["apps", *arguments, "--home", str(instance.home.path)])
        return code, *capsys.readouterr()

    create(instance, namespace, "a")

    found = command("catalogue", "GET", f"/contexts/{namespace}/experiments", "-q", "limit=7")
    missing = command("catalogue", "GET", "/contexts/x/experiments")
    broken = command("catalogue", "get", "/broken")

    assert [each["id"] for each in json.loads(found[1])["experiments"]] == ["a"]
    assert missing[:2] == (1, "")
    assert "404: Namespace 'x' does not exist." in missing[2]
    assert "500: ZeroDivisionError: a bug" in broken[2]
    assert "in broken" in broken[2]
    assert "catalogue 1.0.0" in command()[1]
    assert "GET    /contexts/{context}/experiments?limit&after" in command("catalogue")[1]
    assert command("catalogue", "GET")[0] == 2
    assert command("nothing")[0] == 1


def test_killed_in_the_middle_of_a_transaction(instance, namespace, monkeypatch):
    instance.cdap.apps.stop("catalogue")
    no_end = (600.0, TransactionLimits())
    monkeypatch.setattr(TransactionService.__init__, "__defaults__", no_end)  # no lease ends
    create(instance, namespace, "a")

    with pytest.raises(PluginError, match="was ended by SIGKILL while it answered POST"):
        instance.call("POST", f"/contexts/{namespace}/half-done", ["a", "b"])

    # What it left open is rolled back at once: the same rows can be written now.
    one = f"/contexts/{namespace}/experiments/a"
    assert instance.call("PUT", f"{one}/runs").status == 200
    assert ids(instance, namespace) == ["a"]
    assert instance.call("GET", one).body == {"id": "a", "note": "", "runs": 1}


def test_a_copy_that_it_makes_of_itself_does_not_answer(instance):
    answers = {instance.call("GET", "/copied").body for _ in range(5)}

    assert answers == {False}
    assert instance.call("GET", "/pid").body != os.getpid()


def test_killed_between_two_calls(instance, namespace):
    create(instance, namespace, "a")
    os.kill(instance.call("GET", "/pid").body, signal.SIGKILL)
    wait_until(lambda: not is_running(instance))

    assert ids(instance, namespace) == ["a"]


@pytest.mark.skipif(not IS_LINUX, reason="Only Linux gives orphans to another process.")
@pytest.mark.parametrize("by_itself", [False, True])
def test_a_process_that_it_detached_ends_with_it(instance, by_itself, caplog):
    stray = psutil.Process(instance.call("GET", "/escaped").body)
    assert stray.is_running()

    if by_itself:
        os.kill(instance.call("GET", "/pid").body, signal.SIGKILL)
    else:
        instance.cdap.apps.stop("catalogue")
        assert "Application 'catalogue' left a process (sleep) behind" in caplog.text

    wait_until(lambda: not is_running(instance))
    assert not stray.is_running()


@pytest.mark.skipif(not IS_LINUX, reason="Only Linux gives orphans to another process.")
def test_a_process_that_it_detached_ends_with_a_killed_host(tmp_path):
    detached = "subprocess.Popen(['sleep', '600'], start_new_session=True)"
    inner = f"import subprocess; print({detached}.pid, flush=True)"
    below = (
        "import os, subprocess, sys, time\n"
        "from localcdap.processes.tree import fork_below_parent\n"
        "fork_below_parent(os.getppid())\n"
        f"subprocess.run([sys.executable, '-c', {inner!r}])\n"
        "time.sleep(600)"
    )
    host = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {below!r}])"
    with subprocess.Popen([sys.executable, "-c", host], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        stray = psutil.Process(int(process.stdout.readline()))
        assert stray.is_running()

        process.kill()

        wait_until(lambda: not stray.is_running())


@pytest.mark.slow
def test_killed_hosts_leave_no_more_sockets_each_time(tmp_path):
    with Instance(tmp_path / "home") as made, tempfile.TemporaryDirectory(dir="/tmp") as sockets:
        made.put("catalogue", "system")
        assert made.call("GET", "/pid").status == 200
        made.close()
        home = str(made.home.path)
        command = [sys.executable, "-m", "localcdap.cli", "apps", "catalogue", "GET", "/pid"]
        counts = []
        for _ in range(3):
            environment = os.environ | {"TMPDIR": sockets}
            subprocess.run([*command, "--home", home], env=environment, check=True)
            host = read_host_record(made.home.path)
            assert host is not None
            process = psutil.Process(host.pid)
            process.kill()
            process.wait(60)
            counts.append(len(list(Path(sockets).glob("*/*.sock"))))

    assert counts == [3, 3, 3], "that of the host, and two of the application"


def test_a_namespace_that_is_deleted_takes_its_rows_along_and_wakes_listeners(instance, namespace):
    for id in "ab":
        create(instance, namespace, id)
    rows = instance.call("GET", "/rows").body
    instance.cdap.apps.stop("catalogue")

    instance.cdap.namespaces.delete(namespace)
    wait_until(lambda: is_running(instance))
    assert instance.call("GET", f"/contexts/{namespace}/experiments").status == 404
    instance.cdap.namespaces.create(namespace)

    assert ids(instance, namespace) == []
    wait_until(lambda: instance.call("GET", "/rows").body == rows - 2)
    wait_until(lambda: instance.call("GET", "/deletions").body == {namespace: 1})
    assert instance.cdap.apps.describe("catalogue").listeners[0].error is None


def test_events_that_it_does_not_want_do_not_start_it(instance):
    instance.cdap.apps.stop("catalogue")
    instance.cdap.namespaces.create("unwanted")

    time.sleep(0.3)
    assert not is_running(instance)


def test_plugins_of_a_namespace_run_in_the_plugin_worker(instance, namespace):
    instance.put("shout", namespace)

    assert instance.call("POST", f"/contexts/{namespace}/shout", ["ada"]).body == ["ADA!"]
    assert instance.call("POST", "/contexts/default/shout", ["ada"]).status == 404
    assert instance.call("POST", "/messages/news", [1, 2]).body == [1, 2]
    assert "catalogue" in instance.call("GET", "/spaces").body[namespace]


def test_many_calls_at_once_lose_no_update(instance, namespace):
    one = f"/contexts/{namespace}/experiments/a"

    def work() -> None:
        for _ in range(10):
            assert instance.call("PUT", f"{one}/runs").status == 200

    create(instance, namespace, "a")
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert instance.call("GET", one).body["runs"] == 40


@pytest.mark.slow
def test_its_life(tmp_path):
    """Refused outside of 'system'; too slow; idle; replaced by a version that does not fit, and by one that
    does; by one that cannot be loaded.
    """
    text = (HERE / "catalogue.py").read_text()
    with Instance(tmp_path / "home") as instance:
        instance.settings("app.time_limit_s = 3\napp.idle_minutes = 0.01")
        instance.put("catalogue", "default")
        (broken,) = instance.cdap.artifacts.list_artifacts("default", errors=True)
        assert (
            "can only run in the namespace 'system', but 'catalogue' is in 'default'"
            in broken.error
        )
        assert list_own(instance) == []
        assert not instance.cdap.structured_tables.exists("experiments")

        instance.put("catalogue", "system")
        with pytest.raises(PluginError, match=r"took more than 3 s while it answered GET /asleep"):
            instance.call("GET", "/asleep")
        create(instance, "default", "a")
        wait_until(lambda: not is_running(instance))
        place = instance.home.path / "plugins" / "system" / "catalogue-1.0.0.py"

        def replace(old: str, new: str) -> str | None:
            """Put another text in its place; the error of the artifact then."""
            assert old in text
            place.write_text(text.replace(old, new))
            instance.cdap.artifacts.sync()
            errors = instance.cdap.artifacts.list_artifacts("system", errors=True)
            return errors[0].error if errors else None

        refused = replace('"note": FieldType.STRING', '"note": FieldType.LONG')
        assert "Table experiments exists" in refused
        assert "field note is LONG instead of STRING" in refused
        assert (ids(instance, "default"), instance.call("GET", "/rows").body) == (["a"], 1)

        assert replace('@get("/rows")', '@get("/all")') is None
        assert (instance.call("GET", "/rows").status, instance.call("GET", "/all").body) == (404, 1)

        assert replace("self.started = time.monotonic()", "1 / 0") is None
        with pytest.raises(PluginError, match="ZeroDivisionError"):
            ids(instance, "default")


@pytest.mark.slow
def test_a_listener_that_fails_is_tried_again_and_holds_up_nobody(tmp_path):
    text = (HERE / "catalogue.py").read_text()
    bad = text.replace('if event.entity.type == "namespace":', "1 / 0\n        if 1:")
    other = bad.replace('name="catalogue"', 'name="other"')
    with Instance(tmp_path / "home") as instance:
        instance.put("catalogue", "system")
        folder = instance.home.path / "plugins" / "system"
        (folder / "other-1.0.0.py").write_text(other)
        instance.cdap.namespaces.create("sales")
        instance.cdap.namespaces.delete("sales")

        wait_until(lambda: instance.call("GET", "/deletions").body == {"sales": 1})
        wait_until(lambda: instance.cdap.apps.describe("other").listeners[0].tries > 1)
        (listener,) = instance.cdap.apps.describe("other").listeners
        assert "Application 'other': other-1.0.0.py:" in listener.error
        assert "ZeroDivisionError" in listener.error
        (folder / "other-1.0.0.py").write_text(other.replace("1 / 0", "pass"))
        wait_until(lambda: instance.call("GET", "/deletions").body == {"sales": 2})


@pytest.mark.slow
def test_a_host_that_leaves_has_another_one_handle_the_events_left(tmp_path):
    with Instance(tmp_path / "home") as instance:
        instance.put("catalogue", "system")
        instance.cdap.namespaces.create("sales")
        instance.cdap.namespaces.delete("sales")
        instance.close()

        wait_until(lambda: read_host_record(instance.home.path) is not None)
        wait_until(lambda: read_host_record(instance.home.path) is None)
        assert instance.call("GET", "/deletions").body == {"sales": 1}
