"""What processes print: their log files, and the last lines that explain how a process ended."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_LINE_LIMIT: Final = 1_000_000
"""Bytes that are kept of a line without end."""
_READ_BYTES: Final = 65536
_STACK_SIGNAL: Final = signal.SIGUSR1


def open_log(path: Path, most_bytes: int = 0) -> IO[bytes]:
    """Open the log for the output of a process, which only the user can read. Its folder is created.

    :param most_bytes: the size up to which the log is continued; a longer one begins again.
    :raises OSError: when it cannot be written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    log = os.fdopen(descriptor, "ab")
    if os.fstat(descriptor).st_size > most_bytes:
        os.truncate(descriptor, 0)
    return log


def read_end(path: Path, most_characters: int) -> str:
    """Return the last characters of a log; "" when there is none."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 4 * most_characters))
            return log.read().decode("utf-8", "replace")[-most_characters:]
    except OSError:
        return ""


def write_stack_on_request() -> None:
    """Have the stack of the main thread written to standard error at :func:`request_stack`, which works
    inside C code too, and when a signal such as SIGSEGV ends this process.
    """
    # A separate descriptor: the stack must arrive even when a plugin has closed standard error.
    errors = os.dup(2)
    faulthandler.enable(errors, all_threads=False)
    faulthandler.register(_STACK_SIGNAL, errors, all_threads=False)


def request_stack(pid: int) -> bool:
    """Ask a process for its stack, see :func:`write_stack_on_request`; return False when it has ended."""
    try:
        os.kill(pid, _STACK_SIGNAL)
    except ProcessLookupError:
        return False
    return True


class OutputTail:
    """The last lines of the output of a process, which may write a line without end.

    :param most_lines: how many lines are kept.
    """

    def __init__(self, most_lines: int) -> None:
        self._lines: deque[str] = deque(maxlen=most_lines)
        self._rest = b""

    def add(self, data: bytes) -> list[str]:
        """Add what was read from the output; return the lines that are complete now."""
        *lines, self._rest = (self._rest + data)[-_LINE_LIMIT:].split(b"\n")
        texts = [line.decode("utf-8", "replace") for line in lines]
        self._lines.extend(texts)
        return texts

    @property
    def lines(self) -> list[str]:
        """The lines, the last one even when it is not complete."""
        rest = self._rest.decode("utf-8", "replace")
        return [*self._lines, rest] if rest else list(self._lines)


class OutputPipe:
    """The end of a pipe to which a process writes. Nothing waits for data but the caller.

    :param descriptor: of the end to read, which is closed with this object.
    :param most_lines: how many of the last lines are kept.
    :param on_line: called with each line.
    """

    def __init__(self, descriptor: int, most_lines: int, on_line: Callable[[str], None]) -> None:
        from multiprocessing.connection import Connection

        self._stream: Connection[Any, Any] | None = Connection(descriptor, writable=False)
        os.set_blocking(descriptor, False)
        self._tail = OutputTail(most_lines)
        self._on_line = on_line

    def add_to(self, objects: list[Any]) -> list[Any]:
        """Return the objects to wait for, and the pipe unless it has ended."""
        return objects if self._stream is None else [*objects, self._stream]

    def read(self) -> None:
        """Read what is there."""
        if self._stream is None:
            return
        try:
            data = os.read(self._stream.fileno(), _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        for line in self._tail.add(data):
            self._on_line(line)

    def read_rest(self) -> str:
        """Read what a process that has ended has written, and return the last lines."""
        from multiprocessing.connection import wait

        while self._stream is not None and wait([self._stream], 0):
            self.read()
        self.close()
        return "\n".join(self._tail.lines)

    def close(self) -> None:
        """Close the pipe."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
