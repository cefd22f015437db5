"""Drives the installed program as a user does: a process, its arguments, its output, its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
