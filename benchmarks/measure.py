"""Timing whole commands in turn, so that a machine that drifts slows both sides alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Command:
    """A command line; ``clean`` puts its outputs away before each run."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    clean: Callable[[], None]

    def seconds(self) -> float:
        """Wall seconds of one run, from process start to exit.

        :raises RuntimeError: with what it printed, when it fails.
        """
        self.clean()
        start = time.perf_counter()
        done = subprocess.run(
            list(self.argv),
            env=os.environ | dict(self.environment),
            capture_output=True,
            text=True,
            check=False,
        )
        elapsed = time.perf_counter() - start
        if done.returncode:
            raise RuntimeError(
                f"{self.name} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return elapsed


@dataclass(frozen=True)
class Call:
    """A call in this process, such as what the open studio asks of its host."""

    run: Callable[[], None]
    clean: Callable[[], None]

    def seconds(self) -> float:
        """Wall seconds of one call."""
        self.clean()
        start = time.perf_counter()
        self.run()
        return time.perf_counter() - start


@dataclass(frozen=True)
class Row:
    """One line of the table: ours against the reference, and what was promised."""

    name: str
    ours_s: float
    reference: str
    reference_s: float
    target: str
    met: bool
    unit: str = "s"
    """Seconds; for ``MB`` the two amounts are megabytes."""

    @property
    def ratio(self) -> float:
        """Our time as a multiple of the reference's."""
        return self.ours_s / self.reference_s


def alternate(commands: Sequence[Command | Call], rounds: int, warm_ups: int = 1) -> list[float]:
    """Median seconds of each command over ``rounds`` turns, after uncounted warm-ups."""
    for command in commands:
        for _ in range(warm_ups):
            command.seconds()
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(rounds):
        for place, command in enumerate(commands):
            times[place].append(command.seconds())
    return [statistics.median(each) for each in times]


def at_most(name: str, ours: float, reference: str, theirs: float, factor: float) -> Row:
    """A row whose promise is "at most ``factor`` times the reference"."""
    return Row(name, ours, reference, theirs, f"<= {factor:g} x", ours <= factor * theirs)


def times_faster(name: str, ours: float, reference: str, theirs: float, factor: float) -> Row:
    """A row whose promise is "at least ``factor`` times faster than the reference"."""
    return Row(name, ours, reference, theirs, f">= {factor:g} x faster", theirs >= factor * ours)


def within(
    name: str,
    ours: float,
    limit_s: float,
    reference: str = "the limit",
    theirs: float | None = None,
) -> Row:
    """A row whose promise is "at most ``limit_s`` seconds", with or without something beside it."""
    shown = limit_s if theirs is None else theirs
    return Row(name, ours, reference, shown, f"<= {limit_s:g} s", ours <= limit_s)


def remove(*paths: Path) -> Callable[[], None]:
    """A clean-up that removes files and folders."""
    import shutil

    def clean() -> None:
        for path in paths:
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)

    return clean
