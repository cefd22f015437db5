"""What happens in a plugin folder while an instance is open."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator

import pytest

from localcdap.artifacts.directories.watcher import FolderWatcher, Watches, WatchesRefusedError
from localcdap.artifacts.service import ArtifactService
from localcdap.sandbox.pool import PluginWorker
from tests.artifacts.authoring import project, source, write
from tests.artifacts.conftest import CountingInspector

SOON_S = 60.0
"""When it will not come any more; how long it really takes is measured by the benchmark."""


class Watched:
    """A service whose folder is watched, and what it reported."""

    def __init__(self, service: ArtifactService, watcher: FolderWatcher, reports: list) -> None:
        self.service = service
        self.watcher = watcher
        self.reports = reports

    def plugins(self, namespace: str = "default") -> list[str]:
        found = self.service.list_plugins(namespace, all_versions=True)
        return [f"{p.name} {p.artifact.version}: {p.description}" for p in found]

    def errors(self, namespace: str = "default") -> list[str]:
        return [a.error for a in self.service.list_artifacts(namespace, errors=True)]

    def kinds(self) -> list[str]:
        return [change.change for report in self.reports for change in report.changes]


def soon(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.01)


@contextlib.contextmanager
def watching(instance, interrupt: Callable[[], object] = lambda: None) -> Iterator[Watched]:
    reports: list = []
    service = instance.open(on_change=lambda tx, report: reports.append(report))
    service.sync()
    reports.clear()
    watcher = FolderWatcher([instance.plugins], service, interrupt, delay_s=0)
    watcher.start()
    try:
        assert watcher.wait_until_watching(SOON_S)
        yield Watched(service, watcher, reports)
    finally:
        watcher.close()


@pytest.fixture
def watched(instance) -> Iterator[Watched]:
    with watching(instance) as watched:
        assert not watched.watcher.is_polling
        yield watched


ONE, TWO = (source(description=text) for text in ("One.", "Two."))


def test_dropped_replaced_removed(instance, watched):
    file = write(instance.plugins / "hasher-1.0.0.py", ONE)
    soon(lambda: watched.plugins() == ["Hasher 1.0.0: One."])

    file.write_text(TWO)
    soon(lambda: watched.plugins() == ["Hasher 1.0.0: Two."])

    file.unlink()
    soon(lambda: watched.plugins() == [])
    assert watched.kinds() == ["added", "updated", "removed"]


def test_moved_in_and_out(instance, watched, tmp_path):
    file = write(tmp_path / "hasher-1.0.0.py", ONE)
    place = instance.plugins / file.name

    file.rename(place)
    soon(lambda: watched.plugins() == ["Hasher 1.0.0: One."])
    place.rename(file)
    soon(lambda: watched.plugins() == [])


def test_nothing_is_done_without_a_change(instance, watched):
    write(instance.plugins / "hasher-1.0.0.py", ONE)
    soon(watched.plugins)
    watched.service.sync()  # reads all files

    time.sleep(0.3)

    assert watched.kinds() == ["added"]
    assert instance.inspector.inspected == ["hasher-1.0.0.py"]


def test_a_file_that_grows_slowly_is_taken_when_it_is_closed(instance, watched):
    file = write(instance.plugins / "hasher-1.0.0.py", ONE)
    soon(watched.plugins)
    text = TWO + source("Another")

    with file.open("w") as stream:
        for part in (text[: len(TWO)], text[len(TWO) :]):
            stream.write(part)
            stream.flush()
            time.sleep(0.2)  # what is there so far is a good artifact
            assert watched.plugins() == ["Hasher 1.0.0: One."]

    soon(lambda: len(watched.plugins()) == 2)
    assert watched.kinds() == ["added", "updated"]


def test_a_new_file_that_grows_slowly_is_not_there_before_it_is_closed(instance, watched):
    with (instance.plugins / "hasher-1.0.0.py").open("w") as stream:
        stream.write(ONE)
        stream.flush()
        time.sleep(0.3)
        assert watched.service.list_artifacts("default") == []

    soon(watched.plugins)
    assert watched.kinds() == ["added"]


def test_a_folder_copied_file_by_file(instance, watched, tmp_path):
    files = {"pack/__init__.py": "", **{f"pack/p{i}.py": source(f"P{i}") for i in range(20)}}
    folder = project(tmp_path / "pack", "pack", "1.0.0", files)

    shutil.copytree(folder, instance.plugins / "pack")
    soon(lambda: len(watched.plugins()) == 20)

    (instance.plugins / "pack/pack/p3.py").write_text(source("P3", "Changed."))
    soon(lambda: "P3 1.0.0: Changed." in watched.plugins())
    shutil.rmtree(instance.plugins / "pack")
    soon(lambda: watched.plugins() == [])


def test_an_editor_saves_by_renaming(instance, watched):
    file = write(instance.plugins / "hasher-1.0.0.py", ONE)
    soon(watched.plugins)
    swap = write(instance.plugins / ".hasher-1.0.0.py.swp", "b0VIM")
    write(instance.plugins / "4913", "")

    file.rename(f"{file}~")  # vim with a backup
    file.write_text(TWO)
    (instance.plugins / "4913").unlink()
    soon(lambda: watched.plugins() == ["Hasher 1.0.0: Two."])

    temporary = write(instance.plugins / "hasher-1.0.0.py.tmp", ONE)  # most others
    temporary.replace(file)
    soon(lambda: watched.plugins() == ["Hasher 1.0.0: One."])
    swap.unlink()
    assert watched.kinds() == ["added", "updated", "updated"]
    assert watched.errors() == []


def test_what_breaks_is_reported_and_the_last_good_version_stays(instance, watched):
    file = write(instance.plugins / "hasher-1.0.0.py", ONE)
    soon(watched.plugins)

    file.write_text("def f(:")
    soon(watched.errors)
    assert "hasher-1.0.0.py:1: SyntaxError" in watched.errors()[0]
    assert "stays in use" in watched.errors()[0]
    file.write_text("import nowhere_to_be_found")
    soon(lambda: "pip install nowhere_to_be_found" in watched.errors()[0])

    assert watched.plugins() == ["Hasher 1.0.0: One."]
    assert watched.kinds() == ["added", "failed", "failed"]


def test_two_artifacts_with_one_name_and_version(instance, watched):
    first = project(instance.plugins / "a", "hasher", "1.0.0", {"h.py": ONE})
    soon(watched.plugins)
    project(instance.plugins / "b", "hasher", "1.0.0", {"h.py": TWO})
    soon(watched.errors)
    assert "is already provided by" in watched.errors()[0]
    assert watched.plugins() == ["Hasher 1.0.0: One."]

    shutil.rmtree(first)

    soon(lambda: watched.plugins() == ["Hasher 1.0.0: Two."])
    assert watched.errors() == []


def test_a_namespace_appears(instance, watched):
    write(instance.plugins / "sales" / "hasher-1.0.0.py", ONE)
    soon(lambda: watched.plugins("sales") == ["Hasher 1.0.0: One."])
    (instance.plugins / "sales" / "hasher-1.0.0.py").rename(
        instance.plugins / "sales" / "hasher-2.0.0.py"
    )
    soon(lambda: watched.plugins("sales") == ["Hasher 2.0.0: One."])

    shutil.rmtree(instance.plugins / "sales")

    soon(lambda: watched.plugins("sales") == [])


def test_the_directory_is_removed_and_made_again(instance, watched):
    write(instance.plugins / "hasher-1.0.0.py", ONE)
    soon(watched.plugins)

    shutil.rmtree(instance.plugins)
    soon(lambda: watched.plugins() == [])
    instance.plugins.mkdir()
    file = write(instance.plugins / "hasher-1.0.0.py", ONE)
    soon(lambda: watched.plugins() == ["Hasher 1.0.0: One."])
    time.sleep(0.3)
    file.write_text(TWO)

    soon(lambda: watched.plugins() == ["Hasher 1.0.0: Two."])


def test_the_directory_is_made_later(instance):
    instance.plugins.rmdir()
    with watching(instance) as watched:
        write(instance.plugins / "hasher-1.0.0.py", ONE)
        soon(lambda: watched.plugins() == ["Hasher 1.0.0: One."])


def test_links_are_followed(instance, watched, tmp_path):
    file = write(tmp_path / "elsewhere" / "h.py", ONE)
    folder = project(tmp_path / "dev", "pack", "1.0.0", {"p.py": source("Pack")})
    (instance.plugins / "hasher-1.0.0.py").symlink_to(file)
    (instance.plugins / "pack").symlink_to(folder)
    soon(lambda: len(watched.plugins()) == 2)
    time.sleep(0.3)

    file.write_text(TWO)
    soon(lambda: "Hasher 1.0.0: Two." in watched.plugins())
    write(folder / "p.py", source("Pack", "Changed."))
    soon(lambda: "Pack 1.0.0: Changed." in watched.plugins())
    folder.rename(tmp_path / "gone")
    os.utime(instance.plugins)
    soon(lambda: watched.plugins() == ["Hasher 1.0.0: Two."])
    file.unlink()

    soon(lambda: "cannot be read: No such file" in " ".join(watched.errors()))
    assert watched.plugins() == ["Hasher 1.0.0: Two."]


def test_without_watches_the_folder_is_polled(instance, tmp_path, monkeypatch):
    def refuse(*_):
        raise WatchesRefusedError("inotify watch limit reached")

    file = instance.plugins / "hasher-1.0.0.py"
    look = FolderWatcher._fingerprints
    lines: list[str] = []

    def look_at_a_file_that_grows(watcher: FolderWatcher) -> dict[str, str]:
        if lines:
            written = "" if lines == TWO.splitlines(keepends=True) else file.read_text()
            file.write_text(written + lines.pop(0))
        return look(watcher)

    monkeypatch.setattr(Watches, "renew", refuse)
    monkeypatch.setattr("localcdap.artifacts.directories.watcher._POLL_S", 0.02)
    monkeypatch.setattr(FolderWatcher, "_fingerprints", look_at_a_file_that_grows)
    with watching(instance) as watched:
        assert watched.watcher.is_polling
        write(tmp_path / file.name, ONE).rename(file)
        soon(lambda: watched.plugins() == ["Hasher 1.0.0: One."])
        lines += TWO.splitlines(keepends=True)
        soon(lambda: watched.plugins() == ["Hasher 1.0.0: Two."])
        file.unlink()
        soon(lambda: watched.plugins() == [])
        assert watched.kinds() == ["added", "updated", "removed"]


def test_closing_does_not_wait_for_a_plugin_that_hangs(instance):
    worker = PluginWorker(time_limit_s=600)
    instance.inspector = CountingInspector(worker)
    with watching(instance, worker.close) as watched:
        write(instance.plugins / "good-1.0.0.py", source("Good"))
        soon(watched.plugins)
        write(instance.plugins / "hangs-1.0.0.py", "while True: pass")
        soon(lambda: "hangs-1.0.0.py" in instance.inspector.inspected)
        watched.watcher.close()

        # That it was not looked at to the end is not an error of it.
        assert watched.kinds() == ["added"]
        assert watched.errors() == []
