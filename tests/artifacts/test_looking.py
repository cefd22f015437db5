"""What an author sees of artifacts beyond the list: what is hidden, traces, documentation; removal."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError

from .authoring import capable, project, source, write
from .conftest import Instance


def names(service) -> list[str]:
    return [plugin.name for plugin in service.list_plugins("default")]


def test_hidden_plugins_are_reported_with_what_they_lack(instance: Instance):
    write(instance.plugins / "here-1.0.py", capable("Here", '@capability("pii", "gpu")'))
    write(instance.plugins / "gone-1.0.py", capable("Gone", '@capability("pii")'))
    service = instance.synced("gpu", "pii")

    assert names(service) == ["Here"]
    assert [(each.name, each.lacking) for each in service.list_hidden("default")] == [
        ("Gone", ["gpu"])
    ]
    assert service.list_required_capabilities() == ["gpu", "pii"]
    assert instance.synced().list_hidden("default") == []


def test_a_broken_artifact_is_traced_to_its_own_code(instance: Instance):
    file = write(
        instance.plugins / "broken-1.0.py",
        """
        def helper():
            return 1 / 0

        helper()
        """,
    )
    good = write(instance.plugins / "good-1.0.py", source())
    service = instance.synced()

    trace = service.trace(str(file))
    assert trace[0].startswith("broken-1.0.py:5 in <module>: helper()")
    assert trace[1].startswith("broken-1.0.py:3 in helper: return 1 / 0")
    assert trace[-1] == "ZeroDivisionError: division by zero"
    assert service.trace(str(good)) == []
    with pytest.raises(NotFoundError):
        service.trace("/nowhere")


def test_documentation_is_read_from_the_artifact(instance: Instance):
    project(
        instance.plugins / "kit",
        "kit",
        "1.0",
        {
            "kit/__init__.py": "",
            "kit/a.py": source("Told") + source("Silent"),
            "docs/Told-transform.md": "# Told\n",
        },
    )
    service = instance.synced()
    assert service.read_documentation("default", "transform", "Told") == "# Told\n"
    assert service.read_documentation("default", "transform", "Silent") is None
    with pytest.raises(NotFoundError):
        service.read_documentation("default", "transform", "Nobody")


def test_an_artifact_is_taken_out_and_put_back(instance: Instance):
    file = write(instance.plugins / "hasher-1.0.py", source())
    service = instance.synced()

    kept = service.remove(str(file))
    assert not file.exists()
    assert names(service) == []
    assert Path(kept).read_text() == source()

    service.put_back(kept, str(file))
    assert names(service) == ["Hasher"]
    with pytest.raises(NotFoundError):
        service.put_back(kept, str(file))


def test_what_is_put_back_replaces_nothing(instance: Instance):
    file = write(instance.plugins / "hasher-1.0.py", source())
    service = instance.synced()
    kept = service.remove(str(file))
    write(file, source("Other"))

    with pytest.raises(ConflictError):
        service.put_back(kept, str(file))
    assert Path(kept).exists()
    service.sync()
    assert service.remove(str(file)) != kept


def test_only_artifacts_of_plugin_folders_are_moved(instance: Instance, tmp_path: Path):
    shipped = write(instance.system / "shipped-1.0.py", source())
    outside = write(tmp_path / "outside-1.0.py", source())
    service = instance.synced()

    with pytest.raises(ConflictError):
        service.remove(str(shipped))
    with pytest.raises(NotFoundError):
        service.remove(str(outside))
    with pytest.raises(BadRequestError):
        service.put_back(str(outside), str(instance.plugins / "in-1.0.py"))
    with pytest.raises(BadRequestError):
        service.put_back(str(instance.trash / "x"), str(instance.plugins / ".." / "x.py"))
    assert shipped.exists()
    assert outside.exists()


def test_new_artifacts_belong_into_the_folder_of_their_namespace(instance: Instance):
    service = instance.synced()
    assert service.get_plugin_folder("default") == str(instance.plugins)
    assert service.get_plugin_folder("team") == str(instance.plugins / "team")
