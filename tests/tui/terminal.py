"""A real terminal around the program: a pseudo terminal, its settings, what was written to it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence

import psutil

PROGRAM = [sys.executable, "-m", "localcdap.cli"]


class Terminal:
    """A program that runs in a pseudo terminal of its own.

    :param gets_signal: whether the system tells it when the terminal goes.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str] = {},  # noqa: B006
        size: tuple[int, int] = (80, 24),
        gets_signal: bool = True,
    ) -> None:
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.settings_before = termios.tcgetattr(self._slave)
        self.output = b""
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            arguments,
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env={
                **os.environ,
                "TERM": "xterm-256color",
                "LOCALCDAP_ENGINE_WARM_UP": "false",  # no Spark that nobody needs
                **environment,
            },
            start_new_session=True,
            preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if gets_signal else None,
        )

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def until(self, text: str, timeout_s: float = 60) -> float:
        """Read until a text was written. Returns the seconds since the start."""
        deadline = time.monotonic() + timeout_s
        while text.encode() not in self.output:
            assert time.monotonic() < deadline, self.output[-2000:].decode("utf-8", "replace")
            self._read(0.05)
        return time.monotonic() - self.started

    def suspend(self, timeout_s: float = 60) -> None:
        """As ctrl+z does; a shell goes on when the program has stopped."""
        os.kill(self.process.pid, signal.SIGTSTP)
        deadline = time.monotonic() + timeout_s
        while psutil.Process(self.process.pid).status() != psutil.STATUS_STOPPED:
            assert time.monotonic() < deadline, "it did not stop"
            self._read(0.05)
        while self._read(0.05):
            pass

    def resume(self) -> None:
        """As ``fg`` does."""
        self.output = b""
        os.kill(self.process.pid, signal.SIGCONT)

    def end(self, timeout_s: float = 60) -> int:
        """Read until the program has ended. Returns its code, that of a signal negative."""
        deadline = time.monotonic() + timeout_s
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it did not end"
            self._read(0.05)
        while self._read(0.05):
            pass
        return self.process.returncode

    @property
    def is_restored(self) -> bool:
        """Whether the terminal is as the program found it: its settings, screen, cursor, mouse, paste."""
        last = {
            mode: max((self.output.rfind(f"\x1b[?{mode}{end}".encode()), end) for end in "hl")[1]
            for mode in (1049, 25, 1000, 1003, 1006, 2004)
        }
        wanted = {1049: "l", 25: "h", 1000: "l", 1003: "l", 1006: "l", 2004: "l"}
        return last == wanted and termios.tcgetattr(self._slave) == self.settings_before

    @property
    def after(self) -> str:
        """What was written once the screen was given back."""
        return self.output.rpartition(b"\x1b[?1049l")[2].decode("utf-8", "replace")

    def hang_up(self) -> None:
        """What a lost connection does: the terminal is gone, and the program gets a signal."""
        os.close(self._slave)
        os.close(self._master)
        self._master = self._slave = -1

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)
        for end in (self._master, self._slave):
            if end >= 0:
                os.close(end)

    def _read(self, wait_s: float) -> bool:
        if self._master < 0:
            time.sleep(wait_s)
            return False
        ready, _, _ = select.select([self._master], [], [], wait_s)
        if ready:
            self.output += os.read(self._master, 65536)
        return bool(ready)
