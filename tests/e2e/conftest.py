"""A fresh instance for each test, on the one warm Spark server."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcdap.cli.main import run
from localcdap.home import Home
from localcdap.host import open_in_process
from tests.e2e.program import Command, HostedProgram, Program


@pytest.fixture
def hosted() -> None:
    """Has :func:`program` run commands in this process, for modules that test no process."""


@pytest.fixture
def program(
    tmp_path: Path,
    engine_directory: Path,
    fresh_home: Callable[[Path], Path],
    request: pytest.FixtureRequest,
) -> Iterator[Program]:
    """The program on an instance of its own."""
    home = fresh_home(tmp_path / "home")
    environment = {"LOCALCDAP_ENGINE_DIRECTORY": str(engine_directory)}
    if "hosted" not in request.fixturenames:
        yield Program(home, environment)
        return
    with HostedProgram(home, environment) as program:
        yield program


@pytest.fixture
def command(program: Program, capsys, monkeypatch) -> Iterator[Command]:
    """Runs a command in this process, which is the host meanwhile: (exit code, output, errors)."""
    for name, value in program.environment.items():
        monkeypatch.setenv(name, value)

    def call(*arguments: str, input: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(input))
        code = run([*arguments, "--home", str(program.home)])
        reported = capsys.readouterr()
        return code, reported.out, reported.err

    with open_in_process(Home(program.home)):
        yield call
