"""Namespaces: names, generations, protection, and deletion however it is interrupted."""

from __future__ import annotations

import signal
import string
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError, ConflictError, LocalcdapError, NotFoundError
from localcdap.messaging.topics import Topics
from localcdap.namespaces.model import Namespace, NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.store.store import Store, Transaction


def events(topics: Topics) -> list[tuple[str, str, int]]:
    found = topics.fetch("system", ["entities"], 0, 1000, 0)
    return [
        (m.payload["kind"], m.payload["entity"]["details"]["namespace"], m.payload["generation"])
        for m in found
    ]


def test_two_namespaces_are_always_there_and_one_is_listed(namespaces: NamespaceService):
    assert namespaces.list_namespaces() == [Namespace("default", "Default Namespace", {}, 0)]
    assert namespaces.describe("system").generation == 0
    assert namespaces.exists("default")
    assert not namespaces.exists("team")
    assert not namespaces.exists("DEFAULT")


def test_a_namespace_is_created_once_and_updated(namespaces: NamespaceService, topics: Topics):
    before = time.time() * 1000
    first = namespaces.create("team", "ours", {"a": "1", "b": "2"})
    again = namespaces.create("team", "theirs")

    assert (first.created, again.created) == (True, False)
    assert again.namespace == first.namespace == namespaces.describe("team")
    assert before - 1 <= first.namespace.generation <= time.time() * 1000
    changed = namespaces.update("team", config={"b": "3", "c": "4"})
    assert (changed.description, changed.config) == ("ours", {"a": "1", "b": "3", "c": "4"})
    assert namespaces.update("team", "all of us").generation == first.namespace.generation
    assert [n.name for n in namespaces.list_namespaces()] == ["default", "team"]
    assert namespaces.list_namespaces()[1].description == "all of us"
    kinds = ["entityCreated", "entityUpdated", "entityUpdated"]
    assert events(topics) == [(kind, "team", first.namespace.generation) for kind in kinds]


def test_namespaces_are_there_after_a_restart(namespaces, store: Store, topics: Topics):
    namespaces.create("team", "ours", {"a": "1"})

    assert NamespaceService(store, topics).describe("team") == namespaces.describe("team")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("a-b", BadRequestError, "Namespace id can contain only alphanumeric characters or '_'."),
        ("", BadRequestError, "Namespace id can contain only alphanumeric characters or '_'."),
        ("ä", BadRequestError, "Namespace id can contain only alphanumeric characters or '_'."),
        ("a\n", BadRequestError, "Namespace id can contain only alphanumeric characters or '_'."),
        ("x" * 201, BadRequestError, "at most 200 letters"),
        ("Default", ConflictError, "differs from 'default' in case only"),
        *(
            (name, BadRequestError, f"Cannot create the namespace '{name}'. '{name}' is a reserved")
            for name in ("default", "system", "cdap")
        ),
    ],
)
def test_names_that_cannot_be_are_refused(namespaces, name, error, message):
    with pytest.raises(error) as refused:
        namespaces.create(name)

    assert message in refused.value.message


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=st.text(max_size=5) | st.text(string.ascii_letters + "_0", min_size=1, max_size=5))
def test_any_name_is_refused_or_lives_and_dies(namespaces: NamespaceService, name: str):
    before = namespaces.list_namespaces()
    try:
        made = namespaces.create(name)
    except LocalcdapError:
        assert name not in {n.name for n in namespaces.list_namespaces()} or name == "default"
        return
    assert set(name) <= set(string.ascii_letters + string.digits + "_")
    assert namespaces.describe(name) == made.namespace
    assert namespaces.delete(name).generation == made.namespace.generation
    assert namespaces.list_namespaces() == before


def test_what_does_not_exist_is_named_with_what_does(namespaces: NamespaceService):
    namespaces.create("team")
    for asked in (namespaces.describe, namespaces.require, namespaces.delete, namespaces.update):
        with pytest.raises(NotFoundError) as missing:
            asked("tema")
        assert missing.value.message == "Namespace 'tema' does not exist; available: default, team."
        assert missing.value.corrective_action == "Create it: localcdap namespaces create tema"


@pytest.mark.parametrize("name", ["default", "system", "cdap"])
def test_some_namespaces_cannot_be_deleted(namespaces: NamespaceService, name: str):
    with pytest.raises(ConflictError, match="cannot be deleted"):
        namespaces.delete(name, force=True)


def test_generations_grow_whatever_the_clock_says(namespaces, topics, monkeypatch):
    clock = [5_000_000_000]
    monkeypatch.setattr(time, "time_ns", lambda: clock[0])
    first = namespaces.create("team").namespace.generation
    namespaces.delete("team")
    second = namespaces.create("team").namespace.generation
    namespaces.delete("team")
    clock[0] = 1_000_000
    third = namespaces.create("team").namespace.generation

    assert first == 5000 < second < third
    assert [event for event in events(topics) if event[0] == "entityDeleted"] == [
        ("entityDeleted", "team", first),
        ("entityDeleted", "team", second),
    ]


def test_the_generation_is_read_in_a_transaction(namespaces, store: Store):
    made = namespaces.create("team").namespace
    with store.transaction() as tx:
        assert namespaces.require_in_transaction(tx, "team") == made.generation
        with pytest.raises(NotFoundError):
            namespaces.require_in_transaction(tx, "nope")


class Things:
    """Contents that are busy or stubborn when asked to be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.busy: list[str] = []
        self.broken: Exception | None = None

    @property
    def contents(self) -> NamespaceResource:
        return NamespaceResource(
            "things", self.blockers, self.release, self.remove_files, self.remove
        )

    def blockers(self, tx: Transaction, namespace: str) -> Sequence[str]:
        return self.busy

    def release(self, namespace: str) -> None:
        self.busy = []

    def remove_files(self, namespace: str, generation: int) -> Sequence[str]:
        if self.broken is not None:
            raise self.broken
        (self.folder / namespace).unlink(missing_ok=True)
        return [f"kept-{generation}"]

    def remove(self, tx: Transaction, namespace: str) -> None:
        tx.execute("DELETE FROM things WHERE namespace = ?", (namespace,))


@pytest.fixture
def things(store: Store, namespaces: NamespaceService, tmp_path: Path) -> Things:
    with store.transaction() as tx:
        tx.execute("CREATE TABLE things (namespace VARCHAR)")
        tx.execute("INSERT INTO things VALUES ('team'), ('other')")
    (tmp_path / "team").touch()
    (tmp_path / "other").touch()
    made = Things(tmp_path)
    namespaces.register_resource(made.contents)
    namespaces.create("team")
    return made


def rows(store: Store) -> list[str]:
    return [row[0] for row in store.read("SELECT namespace FROM things ORDER BY 1")]


def test_a_deletion_takes_the_contents_along(namespaces, store, things: Things, tmp_path: Path):
    generation = namespaces.describe("team").generation
    deletion = namespaces.delete("team")

    assert (deletion.generation, deletion.kept) == (generation, [f"kept-{generation}"])
    assert rows(store) == ["other"]
    assert not (tmp_path / "team").exists()
    assert (tmp_path / "other").exists()
    assert not namespaces.exists("team")


def test_a_busy_namespace_stays_unless_forced(namespaces, store, things: Things):
    things.busy = ["run 1 of 'p'"]
    with pytest.raises(ConflictError, match="in use: run 1 of 'p'") as refused:
        namespaces.delete("team")

    assert "--force" in refused.value.corrective_action
    assert namespaces.exists("team")
    assert rows(store) == ["other", "team"]
    namespaces.delete("team", force=True)
    assert rows(store) == ["other"]


@pytest.mark.parametrize(
    ("error", "arguments"), [(OSError, (30, "Read-only file system")), (ConflictError, ("locked",))]
)
def test_a_namespace_whose_files_cannot_go_stays(
    namespaces, store, things: Things, error, arguments
):
    # An error that outlives the test would keep its frames, and with them the database, to the end.
    things.broken = error(*arguments)
    with pytest.raises(ConflictError, match="not deleted, because its things cannot be removed"):
        namespaces.delete("team")

    assert namespaces.exists("team")
    assert rows(store) == ["other", "team"]
    things.broken = None
    namespaces.delete("team")
    assert rows(store) == ["other"]


def test_nobody_can_come_in_while_a_namespace_goes(namespaces, store, things: Things):
    seen: list[object] = []

    def remove_files(namespace: str, generation: int) -> Sequence[str]:
        seen.append(namespaces.exists("team"))
        with store.transaction() as tx, pytest.raises(NotFoundError):
            namespaces.require_in_transaction(tx, "team")
        return ()

    namespaces.register_resource(NamespaceResource("watchers", remove_files=remove_files))
    namespaces.delete("team")
    assert seen == [False]


def test_creating_waits_for_the_deletion_of_the_name(namespaces, store, things: Things):
    started = threading.Event()

    def slow(namespace: str, generation: int) -> Sequence[str]:
        started.set()
        time.sleep(0.1)
        return ()

    namespaces.register_resource(NamespaceResource("slow things", remove_files=slow))
    deleting = threading.Thread(target=namespaces.delete, args=("team",))
    before = namespaces.describe("team").generation
    deleting.start()
    assert started.wait(60)
    made = namespaces.create("team")
    deleting.join()

    assert made.created
    assert made.namespace.generation > before
    assert namespaces.exists("team")


DELETION = """
import os, sys
from pathlib import Path
from localcdap.messaging.topics import Topics
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.store.store import Store
from tests.namespaces.test_service import Things
folder, where = Path(sys.argv[1]), sys.argv[2]
store = Store(folder / "x.duckdb")
namespaces = NamespaceService(store, Topics(store))
def die(*_):
    os.kill(os.getpid(), 9)
if where == "before":
    namespaces.register_resource(NamespaceResource("deaths", blockers=die))
if where == "marked":
    namespaces.register_resource(NamespaceResource("deaths", remove_files=die))
namespaces.register_resource(Things(folder).contents)
if where == "files":
    namespaces.register_resource(NamespaceResource("deaths", remove_files=die))
if where == "rows":
    namespaces.register_resource(NamespaceResource("deaths", remove=die))
namespaces.delete("team")
die()
"""


@pytest.mark.soak
@pytest.mark.parametrize("where", ["before", "marked", "files", "rows", "after"])
def test_a_deletion_that_is_killed_is_taken_to_its_end(
    namespaces, store, things: Things, tmp_path: Path, where: str
):
    generation = namespaces.describe("team").generation
    store.close()
    command = [sys.executable, "-c", DELETION, str(tmp_path), where]
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr

    with Store(tmp_path / "x.duckdb") as again:
        topics = Topics(again)
        later = NamespaceService(again, topics)
        later.register_resource(Things(tmp_path).contents)
        assert later.exists("team") == (where == "before")
        later.resume()
        if where == "before":
            assert rows(again) == ["other", "team"]
            return
        assert rows(again) == ["other"]
        assert not (tmp_path / "team").exists()
        assert later.create("team").namespace.generation > generation
        assert [kind for kind, *_ in events(topics)] == [
            "entityCreated",
            "entityDeleted",
            "entityCreated",
        ]
