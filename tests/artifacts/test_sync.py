"""When everything is inspected again: the code that plugins derive from is another."""

from __future__ import annotations

from localcdap.artifacts.directories import sync


def test_the_rooms_that_plugins_derive_from_are_there():
    assert [
        room for room in sync._ROOMS if not (sync._PACKAGE / room / "__init__.py").exists()
    ] == []


def test_a_change_in_one_of_them_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(sync, "_PACKAGE", tmp_path)
    module = tmp_path / "api" / "app" / "fields.py"
    module.parent.mkdir(parents=True)
    seen = []
    for text in ("", "a = 1", "a = 12"):
        module.write_text(text)
        seen.append(sync._rooms.__wrapped__())
    assert len(set(seen)) == 3
    (tmp_path / "api" / "notes.txt").write_text("nothing that runs")
    assert sync._rooms.__wrapped__() == seen[-1]
