"""Import hooks of installed libraries do not count as damage; those of an artifact do."""

from __future__ import annotations

import sys

import pytest

from localcdap.artifacts.loading import mount
from localcdap.sandbox.worker import ProcessGuard


class Hook:
    """Finds nothing."""

    def find_spec(self, name, path=None, target=None):
        return None


@pytest.fixture
def hooks(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    return sys.meta_path


@pytest.mark.parametrize("place", [0, 100])
def test_hook_of_a_library_stays(hooks, place):
    guard = ProcessGuard()
    hook = Hook()
    hooks.insert(place, hook)

    assert guard.restore() is None
    assert hook in sys.meta_path


@pytest.mark.parametrize("place", [0, 100])
def test_hook_of_an_artifact_is_removed(hooks, monkeypatch, tmp_path, place):
    guard, before = ProcessGuard(), list(hooks)
    (tmp_path / "a-1.0.py").write_text("")
    package = mount(str(tmp_path / "a-1.0.py"), "ab" * 32)
    monkeypatch.setattr(Hook, "__module__", f"{package}.a")
    hooks.insert(place, Hook())

    assert guard.restore() == "it changed sys.meta_path"
    finder, *others = sys.meta_path
    assert getattr(finder, "package", None) == package
    assert others == before
    del sys.modules[package]
