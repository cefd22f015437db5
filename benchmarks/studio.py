"""The terminal studio in a real terminal: first paint, keystroke to repaint, memory; beside an empty app."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks import pipelines
from benchmarks.editing import STAGES, wide_pipeline
from benchmarks.measure import Row, within

_EMPTY: Final = [sys.executable, str(Path(__file__).parent / "references" / "empty_app.py")]
_PAINTED: Final = b"Namespaces"
_KEYS: Final = (b"\x1b[C", b"\x1b[D")
"""Right and left: another stage is selected with each."""
_PRESSES: Final = 120
_QUIET_S: Final = 1.0
_MB: Final = 1_000_000


def studio(folder: Path, rounds: int) -> Iterator[Row]:
    """What its user feels."""
    home = folder / "studio-home"
    shutil.rmtree(home, ignore_errors=True)
    document, _ = wide_pipeline(folder / "unused")
    file = pipelines.write(document, folder / "wide.json")
    ours = [sys.executable, "-m", "localcdap.cli", "studio", "--home", str(home)]
    theirs = ("an empty Textual app",)

    _first_paint(ours)  # the index of plugins is made
    paints = [(_first_paint(ours), _first_paint(_EMPTY)) for _ in range(rounds)]
    opened, empty = (statistics.median(each) for each in zip(*paints, strict=True))
    yield within("studio, first paint", opened, 1.0, *theirs, empty)

    repaints = _repaints([*ours, str(file)], b"Script 0")
    empty_repaints = _repaints(_EMPTY, _PAINTED, (b"\x1b[B", b"\x1b[A"))
    for part, name in ((0.5, "p50"), (0.99, "p99")):
        yield within(
            f"key to repaint, {STAGES} stages, {name}",
            _at(repaints, part),
            0.05,
            *theirs,
            _at(empty_repaints, part),
        )
    memory, empty_memory = _memory(ours, b"plugins", home), _memory(_EMPTY, _PAINTED)
    yield Row(
        "studio and host, idle memory",
        memory,
        theirs[0],
        empty_memory,
        "<= 200 MB",
        memory <= 200,
        unit="MB",
    )


def _first_paint(command: Sequence[str]) -> float:
    """Seconds from the start of the process until its first screen."""
    with _Terminal(command) as terminal:
        return terminal.until(_PAINTED)


def _repaints(
    command: Sequence[str], drawn: bytes, keys: tuple[bytes, bytes] = _KEYS
) -> list[float]:
    """Seconds from each key until the terminal has got the first of what it changes, in rising order."""
    with _Terminal(command) as terminal:
        terminal.until(drawn)
        terminal.quiet(_QUIET_S)
        times = []
        for number in range(_PRESSES):
            times.append(terminal.answer(keys[number // 8 % 2]))
            terminal.quiet(0.05)
    return sorted(times)


def _memory(command: Sequence[str], drawn: bytes, home: Path | None = None) -> float:
    """Resident memory of the process in MB once it has nothing to do.

    :param home: of an instance, whose host is counted too; the processes of plugins are not.
    """
    import psutil

    from localcdap.rpc.host_record import read_host_record

    with _Terminal(command) as terminal:
        terminal.until(drawn)
        terminal.quiet(3 * _QUIET_S)
        host = read_host_record(home) if home is not None else None
        counted = [terminal.pid, *([host.pid] if host is not None else [])]
        return sum(psutil.Process(pid).memory_info().rss for pid in counted) / _MB


def _at(times: list[float], part: float) -> float:
    return times[min(len(times) - 1, int(part * len(times)))]


class _Terminal:
    """A command in a pseudo terminal of 160 columns and 48 lines."""

    def __init__(self, command: Sequence[str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 48, 160, 0, 0))
        self._output = b""
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=os.environ
            | {
                "TERM": "xterm-256color",
                "COLORTERM": "truecolor",
                "LOCALCDAP_ENGINE_WARM_UP": "false",  # its start would take the processor
            },
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> _Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        while self._process.poll() is None:
            self._read(0.05)
        os.close(self._master)

    @property
    def pid(self) -> int:
        return self._process.pid

    def until(self, text: bytes) -> float:
        """Seconds from the start until a text was written.

        :raises RuntimeError: when it never is.
        """
        while text not in self._output:
            passed = time.perf_counter() - self._started
            if passed > 60 or self._process.poll() is not None:
                raise RuntimeError(f"{text!r} is not shown: {self._output[-2000:]!r}")
            self._read(0.01)
        return time.perf_counter() - self._started

    def quiet(self, seconds: float) -> None:
        """Read until nothing was written for some time, half a minute at most."""
        deadline = time.perf_counter() + 30
        while self._read(seconds) and time.perf_counter() < deadline:
            pass

    def answer(self, key: bytes) -> float:
        """Seconds from a key until something is written."""
        start = time.perf_counter()
        os.write(self._master, key)
        self._read(1.0)
        return time.perf_counter() - start

    def _read(self, wait_s: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], wait_s)
        if not ready:
            return False
        try:
            self._output = (self._output + os.read(self._master, 1 << 20))[-1_000_000:]
        except OSError:  # the other end has gone
            return False
        return True
