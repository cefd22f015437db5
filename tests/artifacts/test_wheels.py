"""Wheels as they are built, and wheels as they should not be."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path

import pytest

from localcdap.api.failures import ArtifactId
from localcdap.artifacts.loading import load_plugin
from tests.artifacts.authoring import project, source, wheel, write

READS_DATA = """
from importlib.resources import files
from pathlib import Path

import helpers.words
from helpers import words as same

WORDS = (files(__package__) / "data" / "words.txt").read_text()
BESIDE = Path(__file__).with_name("data").joinpath("words.txt").read_text()
OWN = (helpers.words.WORD, same.WORD)
"""
CONFIG = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "Word.Plugins"
version = "1.4.0"

[tool.hatch.build.targets.wheel]
packages = ["src/words_plugins", "src/helpers"]
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    files = {
        "src/words_plugins/__init__.py": "",
        "src/words_plugins/words.py": source("Words") + READS_DATA,
        "src/words_plugins/data/words.txt": "one two",
        "src/helpers/__init__.py": "",
        "src/helpers/words.py": "WORD = 'three'\n",
    }
    project(folder, "x", "0", files)
    write(folder / "pyproject.toml", CONFIG)
    return folder


BUILDERS = {
    "hatch": [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"],
    "pip": [
        *[sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"],
        *["--no-build-isolation", "--no-deps", "--no-index", ".", "-w"],
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("builder", list(BUILDERS))
def test_a_built_wheel(instance, sources, builder):
    subprocess.run([*BUILDERS[builder], str(instance.plugins)], cwd=sources, check=True)
    service = instance.synced()

    assert service.list_artifacts("default", errors=True) == []
    (plugin,) = service.list_plugins("default")
    assert plugin.artifact == ArtifactId("Word.Plugins", "1.4.0", "USER")
    assert plugin.class_name == "words_plugins.words.Words"
    module = sys.modules[load_plugin(found(service, "Words")).__module__]
    assert (module.WORDS, module.BESIDE) == ("one two", "one two")
    assert module.OWN == ("three", "three")
    assert "helpers" not in sys.modules


def found(service, name):
    return service.find_plugin("default", "transform", name).plugin


def test_modules_in_the_data_folder_of_a_wheel_are_where_an_installer_puts_them(instance):
    files = {
        "pack-1.0.data/purelib/pack/__init__.py": "",
        "pack-1.0.data/purelib/pack/plug.py": source("Pure"),
        "pack-1.0.data/scripts/tool.py": "1/0",
    }
    wheel(instance.plugins / "pack-1.0-py3-none-any.whl", "pack", "1.0", files)

    assert load_plugin(found(instance.synced(), "Pure")).__name__ == "Pure"


def test_two_versions_of_one_wheel(instance):
    for version in ("1.0.0", "2.0.0"):
        files = {"pack/__init__.py": "", "pack/plug.py": source("P", f"Version {version}.")}
        wheel(instance.plugins / f"pack-{version}-py3-none-any.whl", "pack", version, files)
    found = instance.synced().list_plugins("default", all_versions=True)

    assert [p.description for p in found] == ["Version 1.0.0.", "Version 2.0.0."]


def test_a_wheel_reads_its_own_metadata_and_nobody_elses(instance):
    reads = """
from importlib.metadata import PackageNotFoundError, version

OWN = (version("pack"), version(__name__.removesuffix(".plug")))
try:
    version("other")
except PackageNotFoundError as error:
    OTHER = error.name
"""
    for name, number in (("pack", "1.0"), ("other", "3.0")):
        text = source(name.title()) + (reads if name == "pack" else "")
        files = {f"{name}/__init__.py": "", f"{name}/plug.py": text}
        wheel(instance.plugins / f"{name}-{number}-py3-none-any.whl", name, number, files)
    service = instance.synced()

    assert service.list_artifacts("default", errors=True) == []
    load_plugin(found(service, "Other"))
    module = sys.modules[load_plugin(found(service, "Pack")).__module__]
    assert (module.OWN, module.OTHER) == (("1.0", "1.0"), "other")
    with pytest.raises(PackageNotFoundError):
        installed_version("pack")


def test_a_version_with_a_local_part_is_above_its_release(instance):
    for number in ("1.0.0", "1.0.0+local.1"):
        files = {"pack/__init__.py": "", "pack/plug.py": source("P")}
        wheel(instance.plugins / f"pack-{number}-py3-none-any.whl", "pack", number, files)

    assert found(instance.synced(), "P").artifact == ArtifactId("pack", "1.0.0-local.1", "USER")


def test_an_own_package_that_only_imports_can_find(instance):
    text = source("P") + "from importlib.resources import files\nfiles('pack')\n"
    files = {"pack/__init__.py": "", "pack/plug.py": text}
    wheel(instance.plugins / "pack-1.0-py3-none-any.whl", "pack", "1.0", files)

    error = the_error(instance)
    assert "No module named 'pack'" in error
    assert "files(__package__)" in error
    assert "pip install" not in error


def the_error(instance) -> str:
    (detail,) = instance.synced().list_artifacts("default")
    assert detail.plugins == []
    return detail.error


def members(path: Path, *entries: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    """A wheel with these entries behind its metadata."""
    wheel(path, "evil", "1.0", {})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return path


def test_no_plugin_inside(instance):
    members(instance.plugins / "evil-1.0-py3-none-any.whl", ("pack/__init__.py", b""))

    assert "defines no plugin" in the_error(instance)


@pytest.mark.parametrize(
    "name", ["../../evil.py", "/tmp/evil.py", "a/../../evil.py", "..\\..\\evil.py"]
)
def test_a_name_that_leads_elsewhere(instance, name):
    members(instance.plugins / "evil-1.0-py3-none-any.whl", (name, b"x = 1"))

    assert "unsafe path" in the_error(instance)
    assert not list(instance.cache.parent.rglob("evil.py"))


def test_a_zip_bomb_is_not_unpacked(instance):
    zeros = bytes(100 * 1024 * 1024)
    members(instance.plugins / "evil-1.0-py3-none-any.whl", ("pack/zeros", zeros))

    assert "100 MiB unpacked, more than 100 times its size" in the_error(instance)
    assert sum(file.stat().st_size for file in instance.cache.rglob("*")) < 1024 * 1024


def test_a_bomb_in_the_metadata_is_not_read(instance):
    path = instance.plugins / "evil-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("evil-1.0.dist-info/METADATA", bytes(10 * 1024 * 1024))

    assert "METADATA is larger than 1 MiB" in the_error(instance)


def test_a_size_that_is_a_lie(instance):
    path = members(instance.plugins / "evil-1.0-py3-none-any.whl", ("pack/zeros", bytes(100_000)))
    data = path.read_bytes()
    path.write_bytes(data.replace((100_000).to_bytes(4, "little"), (5).to_bytes(4, "little")))

    assert "cannot be unpacked" in the_error(instance)


def test_a_corrupted_member(instance):
    path = members(instance.plugins / "evil-1.0-py3-none-any.whl", ("pack/p.py", b"x = 1" * 100))
    data = bytearray(path.read_bytes())
    place = data.index(b"pack/p.py") + len("pack/p.py")
    data[place : place + 8] = b"\xff" * 8
    path.write_bytes(data)

    assert "cannot be unpacked" in the_error(instance)


def test_half_a_wheel(instance):
    path = members(instance.plugins / "evil-1.0-py3-none-any.whl", ("p.py", b"x" * 10_000))
    path.write_bytes(path.read_bytes()[:300])

    assert "not a zip file" in the_error(instance)


def test_a_file_where_a_folder_should_be(instance):
    members(instance.plugins / "evil-1.0-py3-none-any.whl", ("a", b"x"), ("a/b.py", b"x"))

    assert "cannot be unpacked" in the_error(instance)


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ("Name: x\n", "its METADATA has no Version"),
        ("Version: 1.0\n", "its METADATA has no Name"),
        ("Name: x\nVersion: 1!1.0\n", "Could not parse '1!1.0' as an artifact version."),
        ("Name: x y\nVersion: 1.0\n", "'x y' is not a valid name of an artifact"),
    ],
)
def test_metadata_that_does_not_say_enough(instance, metadata, problem):
    with zipfile.ZipFile(instance.plugins / "x-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("x-1.0.dist-info/METADATA", metadata)

    assert problem in the_error(instance)


def test_parents_beside_a_wheel(instance):
    files = {"pack/__init__.py": "", "pack/plug.py": source("P")}
    wheel(instance.plugins / "pack-1.0-py3-none-any.whl", "pack", "1.0", files)
    beside = write(
        instance.plugins / "pack-1.0-py3-none-any.json",
        '{"parents": ["system:cdap-data-pipeline[7.0.0,8.0.0)"], "properties": {}}',
    )
    service = instance.synced()
    assert "None of its parents exists" in service.list_artifacts("default")[0].error

    beside.write_text('{"parents": ["system:cdap-data-pipeline[6.0.0, 7.0.0-SNAPSHOT)"]}')
    service.sync()

    (detail,) = service.list_artifacts("default")
    assert (detail.error, detail.parents) == (
        None,
        ["system:cdap-data-pipeline[6.0.0,7.0.0-SNAPSHOT)"],
    )
    beside.write_text("{")
    service.sync()
    assert "pack-1.0-py3-none-any.json: Expecting" in service.list_artifacts("default")[0].error
