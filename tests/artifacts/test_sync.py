"""Artifacts are inspected again when the code that plugins build on has changed."""

from __future__ import annotations

from localcdap.artifacts.directories import sync


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
