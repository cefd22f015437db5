"""Drives the installed program as a user does: a process, its arguments, its output, its exit code."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.errors import LocalcdapError
from localcdap.cli.main import run
from localcdap.home import Home
from localcdap.host import open_in_process

COMMAND = [sys.executable, "-m", "localcdap.cli"]
Command = Callable[..., tuple[int, str, str]]
"""A command in this process: arguments and ``input`` to exit code, output, errors."""


@dataclass(frozen=True)
class Answer:
    """What a command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)


@dataclass
class Program:
    """The program on one instance."""

    home: Path
    environment: Mapping[str, str]

    def __call__(self, *arguments: str, timeout_s: float = 240, input: str | None = None) -> Answer:
        done = subprocess.run(
            [*COMMAND, *arguments, "--home", str(self.home)],
            env=os.environ | dict(self.environment),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            input=input,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command and leave it to the test."""
        return subprocess.Popen(
            [*COMMAND, *arguments, "--home", str(self.home)],
            env=os.environ | dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def settings(self, text: str) -> None:
        """Write ``localcdap.toml``."""
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "localcdap.toml").write_text(text, encoding="utf-8")


class HostedProgram(Program):
    """The program on an instance whose host is this process, from the first command to the end of a block.

    A command and a host of their own take two seconds of the processor, which only tests of processes need.
    """

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        super().__init__(home, environment)
        self._opened = contextlib.ExitStack()
        self._is_open = False

    def __enter__(self) -> HostedProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def __call__(self, *arguments: str, timeout_s: float = 240, input: str | None = None) -> Answer:
        del timeout_s  # that of the test
        if not self._is_open:
            self._open()
        out, err = io.StringIO(), io.StringIO()
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            patch.setattr(sys, "stdin", io.StringIO(input or ""))
            code = run([*arguments, "--home", str(self.home)])
        return Answer(code, out.getvalue(), err.getvalue())

    def _open(self) -> None:
        patch = self._opened.enter_context(pytest.MonkeyPatch.context())
        for name, value in self.environment.items():
            patch.setenv(name, value)
        with contextlib.suppress(LocalcdapError):  # the command finds the same, and reports it
            self._opened.enter_context(open_in_process(Home(self.home)))
        self._is_open = True


def wait_until(condition: Callable[[], Any], what: str, timeout_s: float = 120) -> Any:
    """The first true value of a condition.

    :raises AssertionError: when there is none in time.
    """
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"not in {timeout_s} s: {what}")
