"""Nothing that a plugin folder can contain keeps an instance from starting."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.artifacts.directories.artifact_paths import find_user_artifacts
from localcdap.artifacts.directories.contents import MOST_BYTES
from tests.artifacts.authoring import project, source, write


@pytest.fixture
def good(instance):
    """A good artifact, which must be found whatever lies beside it."""
    write(instance.plugins / "good-1.0.0.py", source("Good"))

    def names_and_errors():
        service = instance.synced()
        found = [p.name for p in service.list_plugins("default")]
        assert found[:1] == ["Good"]
        return found, {
            Path(a.path).name: a.error for a in service.list_artifacts("default", errors=True)
        }

    return names_and_errors


def test_what_is_no_file(instance, good):
    os.mkfifo(instance.plugins / "pipe-1.0.0.py")
    os.mkfifo(instance.plugins / "pipe-1.0.0.whl")
    os.mkfifo(instance.plugins / "pipe")
    (instance.plugins / "zero-1.0.0.py").symlink_to("/dev/zero")
    folder = project(instance.plugins / "p", "p", "1.0.0", {"p.py": source("P")})
    os.mkfifo(folder / "pipe.py")
    (folder / "zero.py").symlink_to("/dev/zero")
    (instance.plugins / "project").mkdir()
    os.mkfifo(instance.plugins / "project" / "pyproject.toml")
    # The path of a socket must be short.
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{short}/s")
        shutil.move(f"{short}/s", instance.plugins / "socket-1.0.0.py")

        found, errors = good()

    assert found == ["Good", "P"]
    assert set(errors) == {"pipe-1.0.0.py", "pipe-1.0.0.whl", "zero-1.0.0.py", "socket-1.0.0.py"}
    assert all("is neither a file nor a folder" in error for error in errors.values())


def test_links_in_circles(instance, good):
    (instance.plugins / "self-1.0.0.py").symlink_to("self-1.0.0.py")
    (instance.plugins / "gone-1.0.0.py").symlink_to("nowhere")
    (instance.plugins / "up").symlink_to("..")
    (instance.plugins / "here").symlink_to(".")
    folder = project(instance.plugins / "p", "p", "1.0.0", {"p.py": source("P")})
    (folder / "self").symlink_to("self")
    (folder / "circle").symlink_to(folder)

    found, errors = good()

    assert found == ["Good", "P"]
    assert "cannot be read" in errors["self-1.0.0.py"]
    assert "cannot be read" in errors["gone-1.0.0.py"]


def test_empty_and_huge_files(instance, good):
    (instance.plugins / "empty-1.0.0.py").touch()
    (instance.plugins / "empty-1.0.0.whl").touch()
    project(instance.plugins / "empty", "empty", "1.0.0", {})
    with (instance.plugins / "huge-1.0.0.py").open("wb") as huge:
        huge.truncate(MOST_BYTES + 1)
    project(instance.plugins / "big", "big", "1.0.0", {})
    with (instance.plugins / "big" / "pyproject.toml").open("ab") as big:
        big.truncate(2 * 1024 * 1024)

    _, errors = good()

    assert "defines no plugin" in errors["empty-1.0.0.py"]
    assert "not a zip file" in errors["empty-1.0.0.whl"]
    assert "defines no plugin" in errors["empty"]
    assert "is larger than 1024 MiB" in errors["huge-1.0.0.py"]
    assert "is larger than 1 MiB" in errors["big"]


def test_deep_and_wide_trees(instance, good, monkeypatch):
    monkeypatch.setattr("localcdap.artifacts.directories.contents.MOST_FILES", 300)
    deep = project(instance.plugins / "deep", "deep", "1.0.0", {"p.py": source("P")})
    wide = project(instance.plugins / "wide", "wide", "1.0.0", {"p.py": source("P")})
    for number in range(301):
        (wide / f"f{number}").touch()
    with contextlib.chdir(deep):
        for _ in range(2000):
            Path("d").mkdir()
            os.chdir("d")
    os.chdir(instance.plugins)

    _, errors = good()

    assert "more than 50 folders inside each other" in errors["deep"]
    assert "more than 300 files" in errors["wide"]
    subprocess.run(["rm", "-rf", str(deep)], check=True)


@pytest.mark.parametrize(
    "document",
    [
        "[" * 100_000,
        "a = " + "[" * 5_000,
        '[project]\nname = 5\nversion = "1"',
        "project = 3\ntool = 4",
        '[project]\nname="x"\nversion="1"\n[tool]\nlocalcdap = 7',
        '[project]\nname="x"\nversion="1"\n[tool.localcdap]\nparents = ['
        + '"x[1,2)",' * 10_000
        + "]",
        '[project]\nname="../../x"\nversion="1"',
    ],
)
def test_project_files(instance, good, document):
    folder = instance.plugins / "p"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(document)
    (folder / "x.py").write_text(source("P"))

    _, errors = good()

    assert list(errors) == ["p"]


NAMES = st.one_of(
    st.binary(min_size=1, max_size=250),
    st.text(min_size=1, max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")),
).map(lambda name: name.replace(b"/", b"").replace(b"\0", b"")[:250])
KINDS = st.sampled_from([b"", b"-1.0.0.py", b"-1.0.whl", b".json", b".jar", b"-1.0_x.py", b".toml"])
CONTENTS = st.one_of(
    st.binary(max_size=300),
    st.sampled_from(
        [b"", b"1/0", b"\xff\xfe", b"PK\x03\x04", source("P").encode(), b"# /// script\n# [\n# ///"]
    ),
)
ENTRIES = st.lists(st.tuples(NAMES, KINDS, st.sampled_from("fdp"), CONTENTS), max_size=4)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(ENTRIES)
def test_any_names_and_bytes(instance, good, entries):
    with tempfile.TemporaryDirectory() as beside:
        instance.plugins = Path(beside)
        write(instance.plugins / "good-1.0.0.py", source("Good"))
        for name, kind, what, data in entries:
            with contextlib.suppress(OSError):
                drop(os.fsencode(beside) + b"/" + name + kind, what, data)

        good()


def drop(path: bytes, what: str, data: bytes) -> None:
    if what == "p":
        os.mkfifo(path)
        return
    if what == "d":
        os.mkdir(path)  # noqa: PTH102 - these paths are bytes
        path += b"/pyproject.toml"
    with open(path, "xb") as file:  # noqa: PTH123
        file.write(data)


_AS_NOBODY = """
import os, sys
from pathlib import Path
from localcdap.artifacts.directories.contents import compute_signature
from localcdap.artifacts.directories.artifact_paths import find_user_artifacts
# Only now: the interpreter may lie where others must not look.
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for place in find_user_artifacts(Path(sys.argv[1])):
    try:
        print(place.path.name, place.problem or compute_signature(place.path)[:4])
    except OSError as error:
        print(place.path.name, error.strerror)
"""


@pytest.fixture
def for_others() -> Iterator[Path]:
    """A folder that other users can read."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_what_must_not_be_read_is_reported(for_others):
    plugins = for_others / "plugins"
    plugins.mkdir()
    old = write(plugins / "a-1.0.0.py", source())
    os.utime(old, (1, 1))
    for folder in (plugins / "sales", project(plugins / "p", "p", "1", {"in/x.py": ""}) / "in"):
        folder.mkdir(exist_ok=True)
        folder.chmod(0)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    def reported(path: Path) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, str(path)],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    first, second, third = reported(plugins)
    assert first.startswith("a-1.0.0.py ")
    assert second == "p Permission denied"
    assert third == "sales Folder 'sales' cannot be read: Permission denied."
    plugins.chmod(0)
    assert reported(plugins) == ["plugins Folder 'plugins' cannot be read: Permission denied."]


def test_a_plugin_directory_that_is_a_file(tmp_path):
    (place,) = find_user_artifacts(write(tmp_path / "plugins", "x"))

    assert place.problem == "Folder 'plugins' cannot be read: Not a directory."
