"""Dropping artifacts in, replacing and removing them."""

from __future__ import annotations

import builtins
import os
import shutil
import time
from pathlib import Path

import pytest

from localcdap.api.failures import ArtifactId
from localcdap.artifacts.directories import sync
from localcdap.artifacts.loading import load_plugin
from tests.artifacts.authoring import project, source, wheel, write

HASHER = ArtifactId("hasher", "1.0.0", "USER")


def settle(path):
    """Make a path look as if it had been written long ago."""
    old = time.time() - 100
    for each in [path, *path.rglob("*")]:
        os.utime(each, (old, old))


def names(service, namespace="default"):
    return [(p.name, p.artifact.version) for p in service.list_plugins(namespace)]


def test_dropping_in_and_removing(instance):
    service = instance.synced()
    file = write(instance.plugins / "hasher-1.0.0.py", source())

    assert service.sync().of("added") == [HASHER]
    assert names(service) == [("Hasher", "1.0.0")]
    assert service.list_artifacts("default")[0].path == str(file)

    file.unlink()

    assert service.sync().of("removed") == [HASHER]
    assert names(service) == []
    assert service.list_artifacts("default") == []


def test_folder_wheel_and_file(instance):
    files = {"pack/__init__.py": "", "pack/plug.py": source("FromWheel")}
    wheel(instance.plugins / "pack-3.0-py3-none-any.whl", "my-pack", "3.0", files)
    project(instance.plugins / "folder", "pro", "2.0", {"own.py": source("FromFolder")})
    write(instance.plugins / "single-1.0.py", source("FromFile"))
    service = instance.synced()

    found = [service.find_plugin("default", "transform", name).plugin for name, _ in names(service)]

    assert [(r.artifact.name, r.artifact.version, load_plugin(r).__name__) for r in found] == [
        ("single", "1.0", "FromFile"),
        ("pro", "2.0", "FromFolder"),
        ("my-pack", "3.0", "FromWheel"),
    ]


def test_sub_folder_is_a_namespace(instance):
    write(instance.plugins / "hasher-1.0.0.py", source("Everybodys"))
    write(instance.plugins / "sales" / "hasher-1.0.0.py", source("OfSales"))
    project(instance.system / "core", "core", "9", {"c.py": source("OfSystem")})
    service = instance.synced()

    assert names(service) == [("Everybodys", "1.0.0"), ("OfSystem", "9")]
    assert names(service, "sales") == [("OfSales", "1.0.0"), ("OfSystem", "9")]
    assert names(service, "other") == [("OfSystem", "9")]


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        (
            "hasher.py",
            source(),
            "hasher.py: the file name has no version; name it like hasher-1.0.0.py.",
        ),
        ("hasher-1.0_x.py", source(), "Could not parse '1.0_x'"),
        ("hasher-1.0.0-a_b.py", source(), "Could not parse '1.0.0-a_b' as an artifact version."),
        ("p/pyproject.toml", "[project]\nname='p'", "[project] has no text 'version'"),
        ("p/pyproject.toml", "[project", "pyproject.toml: "),
        (
            "my plugins/x-1.0.py",
            source(),
            "Folder 'my plugins' is neither an artifact nor a namespace",
        ),
        ("package/__init__.py", "", "Folder 'package' is neither an artifact nor a namespace"),
        ("x-1.0.whl", "no zip", "not a zip file"),
    ],
)
def test_what_cannot_be_an_artifact_is_listed_with_its_error(instance, path, text, problem):
    write(instance.plugins / path, text)

    (detail,) = instance.synced().list_artifacts("default", errors=True)

    assert problem in detail.error
    assert detail.plugins == []
    assert instance.inspector.inspected == []


def test_unchanged_content_is_inspected_once(instance):
    file = write(instance.plugins / "hasher-1.0.0.py", source())
    instance.synced()
    os.utime(file)
    service = instance.synced()
    service.sync()
    shutil.copy(file, file.with_name("copy.tmp"))
    file.with_name("copy.tmp").replace(file)
    service.sync()

    assert instance.inspector.inspected == ["hasher-1.0.0.py"]
    assert names(service) == [("Hasher", "1.0.0")]


def test_index_survives_without_a_sync(instance):
    write(instance.plugins / "hasher-1.0.0.py", source())
    instance.synced()

    service = instance.open()

    assert names(service) == [("Hasher", "1.0.0")]
    assert load_plugin(service.find_plugin("default", "transform", "Hasher").plugin)


def test_replaced_content_is_used_at_once_even_with_the_same_size_and_time(instance):
    file = write(instance.plugins / "hasher-1.0.0.py", source(description="One."))
    service = instance.synced()
    stat = file.stat()
    file.write_text(file.read_text().replace("One.", "Two."))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    assert service.sync().of("updated") == [HASHER]
    assert service.get_plugin("default", "transform", "Hasher").description == "Two."


def test_broken_replacement_leaves_the_last_good_content_in_use(instance):
    file = write(instance.plugins / "hasher-1.0.0.py", source())
    service = instance.synced()
    good = service.find_plugin("default", "transform", "Hasher").plugin
    file.write_text("syntax error")

    report = service.sync()

    assert [(change.change, change.path) for change in report.changes] == [("failed", str(file))]
    assert service.find_plugin("default", "transform", "Hasher").plugin == good
    assert load_plugin(good).__name__ == "Hasher"
    (detail,) = service.list_artifacts("default", errors=True)
    assert detail.error.splitlines() == [
        "hasher-1.0.0.py:1: SyntaxError: invalid syntax",
        "The last good content, version 1.0.0, stays in use.",
    ]

    again = instance.synced()  # another process, later
    assert load_plugin(again.find_plugin("default", "transform", "Hasher").plugin)

    file.write_text(source(description="Mended."))
    assert again.sync().of("updated") == [HASHER]
    assert again.list_artifacts("default", errors=True) == []


def test_broken_new_version_in_a_folder_keeps_the_old_version(instance):
    folder = project(instance.plugins / "h", "hasher", "1.0.0", {"h.py": source()})
    service = instance.synced()
    project(folder, "hasher", "1.1.0", {"h.py": "1/0"})
    service.sync()

    assert names(service) == [("Hasher", "1.0.0")]

    project(folder, "hasher", "1.1.0", {"h.py": source()})
    report = service.sync()

    assert report.of("added") == [ArtifactId("hasher", "1.1.0", "USER")]
    assert report.of("removed") == [HASHER]


def test_unreadable_project_file_keeps_the_last_good_content(instance):
    folder = project(instance.plugins / "h", "hasher", "1.0.0", {"h.py": source()})
    service = instance.synced()
    (folder / "pyproject.toml").write_text("[project")
    service.sync()

    assert names(service) == [("Hasher", "1.0.0")]
    assert "stays in use" in service.list_artifacts("default")[0].error


def test_same_name_and_version_twice_uses_the_first_and_reports_the_second(instance):
    first = project(instance.plugins / "a", "hasher", "1.0.0", {"h.py": source("First")})
    second = project(instance.plugins / "b", "hasher", "1.0.0", {"h.py": source("Second")})
    service = instance.synced()

    assert names(service) == [("First", "1.0.0")]
    (detail,) = service.list_artifacts("default", errors=True)
    assert detail.path == str(second)
    assert f"hasher 1.0.0 is already provided by {first}" in detail.error

    shutil.rmtree(first)
    service.sync()

    assert names(service) == [("Second", "1.0.0")]


def test_errors_are_looked_at_again_on_request(instance):
    write(instance.plugins / "hasher-1.0.0.py", "1/0")
    service = instance.synced()
    service.sync()
    assert len(instance.inspector.inspected) == 1

    service.sync(retry_errors=True)

    assert len(instance.inspector.inspected) == 2


def test_errors_are_looked_at_again_when_packages_were_installed(instance, tmp_path, monkeypatch):
    write(instance.plugins / "hasher-1.0.0.py", "1/0")
    packages = tmp_path / "site-packages"
    packages.mkdir()
    monkeypatch.syspath_prepend(str(packages))
    service = instance.synced()
    (packages / "new_package.py").touch()
    os.utime(packages, (1, 1))

    service.sync()

    assert len(instance.inspector.inspected) == 2


def test_everything_is_inspected_again_with_another_version_of_what_plugins_derive_from(
    instance, tmp_path, monkeypatch
):
    module = tmp_path / "localcdap" / "plugin_lib" / "deeper" / "source.py"
    module.parent.mkdir(parents=True)
    monkeypatch.setattr(sync, "_PACKAGE", tmp_path / "localcdap")
    write(instance.plugins / "hasher-1.0.0.py", source())
    for text, times in (("a = 1", 1), ("a = 1", 1), ("a = 10", 2), ("a = 10", 2)):
        if not module.exists() or module.read_text() != text:
            module.write_text(text)
        sync._hash_base_packages.cache_clear()
        instance.synced()
        assert instance.inspector.inspected == ["hasher-1.0.0.py"] * times
    sync._hash_base_packages.cache_clear()


def test_lost_copy_is_made_again(instance):
    write(instance.plugins / "hasher-1.0.0.py", source())
    instance.synced()
    shutil.rmtree(instance.cache)
    service = instance.synced()

    assert load_plugin(service.find_plugin("default", "transform", "Hasher").plugin)


def test_copies_nobody_needs_are_removed_after_a_week(instance):
    write(instance.plugins / "other-1.0.0.py", source("Other"))
    file = write(instance.plugins / "hasher-1.0.0.py", source())
    service = instance.synced()
    digest = service.find_plugin("default", "transform", "Hasher").plugin.digest
    file.unlink()
    service.sync()
    assert (instance.cache / digest).is_dir()

    long_ago = time.time() - 8 * 24 * 3600
    for copy in instance.cache.iterdir():
        os.utime(copy, (long_ago, long_ago))
    write(instance.plugins / "third-1.0.0.py", source("Third"))
    service.sync()

    assert not (instance.cache / digest).exists()
    assert load_plugin(service.find_plugin("default", "transform", "Other").plugin)


def test_wheel_that_writes_elsewhere_is_refused(instance):
    wheel(instance.plugins / "evil-1.0.whl", "evil", "1.0", {"../../evil.py": "x = 1"})

    (detail,) = instance.synced().list_artifacts("default", errors=True)

    assert "unsafe path '../../evil.py' inside" in detail.error
    assert not list(instance.cache.parent.rglob("evil.py"))


def test_sync_of_an_unchanged_home_reads_no_file(instance, monkeypatch):
    for name in ("one", "two"):
        files = {f"{name}/__init__.py": ""}
        files |= {f"{name}/m{i}.py": source(f"{name.title()}{i}") for i in range(20)}
        settle(project(instance.plugins / name, name, "1.0.0", files))
    instance.synced()
    service = instance.open()
    service.sync()
    monkeypatch.setattr(Path, "open", None)
    monkeypatch.setattr(builtins, "open", None)
    service.sync()
    monkeypatch.undo()

    assert len(names(service)) == 40
