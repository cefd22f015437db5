"""New artifacts are inspected together, and all again when the code that plugins build on has changed."""

from __future__ import annotations

import threading

from localcdap.artifacts.directories import sync
from tests.artifacts.authoring import source, write


def test_the_packages_that_plugins_build_on_are_there():
    assert [
        name for name in sync._BASE_PACKAGES if not (sync._PACKAGE / name / "__init__.py").exists()
    ] == []


def test_a_change_in_one_of_them_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(sync, "_PACKAGE", tmp_path)
    module = tmp_path / "api" / "app" / "fields.py"
    module.parent.mkdir(parents=True)
    seen = []
    for text in ("", "a = 1", "a = 12"):
        module.write_text(text)
        seen.append(sync._hash_base_packages.__wrapped__())
    assert len(set(seen)) == 3
    (tmp_path / "api" / "notes.txt").write_text("nothing that runs")
    assert sync._hash_base_packages.__wrapped__() == seen[-1]


def test_new_artifacts_are_inspected_at_the_same_time_and_each_content_once(instance, monkeypatch):
    monkeypatch.setattr(sync, "_INSPECTIONS", 2)
    both = threading.Barrier(2, timeout=60)
    inspect = instance.inspector.inspect

    def meet(path, digest):
        both.wait()
        return inspect(path, digest)

    monkeypatch.setattr(instance.inspector, "inspect", meet)
    write(instance.plugins / "one-1.0.0.py", source("One"))
    write(instance.system / "one-1.0.0.py", source("One"))
    write(instance.plugins / "two-1.0.0.py", source("Two"))
    found = instance.synced().list_artifacts("default")
    assert sorted(each.name for each in found) == ["one", "one", "two"]
    assert sorted(instance.inspector.inspected) == ["one-1.0.0.py", "two-1.0.0.py"]
