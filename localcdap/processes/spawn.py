"""Starting processes: with which streams, session, umask and limits, and keeping one running.

What processes print: their log files, and the last lines that explain how a process ended.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Self

from localcdap.processes.limits import end_with_parent, read_user_umask
from localcdap.processes.tree import end_child

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from multiprocessing.connection import Connection


DISCARDED: Final = subprocess.DEVNULL
"""An input that is empty, or an output that nobody reads."""
PIPE: Final = subprocess.PIPE
_AGAIN_S: Final = 30.0
"""Minimum seconds between two starts of a process that cannot live."""
_LOWEST_PRIORITY: Final = 19
# The process must run the same localcdap package as this one. The package's folder is removed from the path
# again, because its other modules could hide those of the standard library. The garbage collector would look
# at what is imported again and again, for a sixth of the time of a start.
_MAIN: Final = (
    "import gc, sys; gc.disable(); "
    "sys.path.insert(0, sys.argv.pop(1)); import localcdap; del sys.path[0]; "
    "from {module} import main; gc.enable(); main(sys.argv[1:])"
)


def build_main_command(module: str, *arguments: int | str) -> list[str]:
    """Return the command of a Python process that calls ``main(arguments)`` of a module of localcdap.

    The process imports the same localcdap as this one, and nothing from its working directory.

    :param arguments: passed on as texts.
    """
    package_parent = Path(__file__).parents[2]
    main = _MAIN.format(module=module)
    return [sys.executable, "-P", "-c", main, str(package_parent), *map(str, arguments)]


def start_process(
    command: Sequence[str],
    *,
    input: int = DISCARDED,
    output: int | IO[bytes] = DISCARDED,
    errors: int | IO[bytes] | None = None,
    descriptors: Sequence[int] = (),
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
    new_session: bool = True,
    ends_with_parent: bool = False,
    low_priority: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a process with the umask of the user, also from a process that keeps its own files private.

    :param input: its standard input: :data:`DISCARDED`, :data:`PIPE` or a descriptor.
    :param output: its standard output: one of these, or an open file.
    :param errors: its standard error; None for that of ``output``.
    :param descriptors: further descriptors that it inherits, with their numbers.
    :param directory: its working directory; None for that of this process.
    :param environment: None for that of this process.
    :param new_session: whether it leads a session of its own, so that neither Ctrl-C nor the end of a
        terminal reaches it.
    :param ends_with_parent: whether the kernel kills it when this process ends (Linux only). Then, or with a
        low priority, this process must have one thread.
    :raises OSError: when it cannot be started.
    """
    parent = os.getpid()

    def prepare() -> None:
        if ends_with_parent:
            end_with_parent(parent)
        if low_priority:
            lower_priority()

    return subprocess.Popen(
        command,
        stdin=input,
        stdout=output,
        stderr=subprocess.STDOUT if errors is None else errors,
        pass_fds=descriptors,
        cwd=directory,
        env=environment,
        start_new_session=new_session,
        umask=read_user_umask(),
        preexec_fn=prepare if ends_with_parent or low_priority else None,  # noqa: PLW1509 - one thread
    )


def lower_priority() -> None:
    """Give this process the lowest priority."""
    os.nice(_LOWEST_PRIORITY)


class RestartedProcess:
    """A process that is started again when it has ended, as a fork server does whose code is outdated.

    :param start: starts the process.
    """

    def __init__(self, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self._start: Final = start
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the process; what it has started goes on."""
        if self._process is not None:
            end_child(self._process)

    def ensure_running(self) -> None:
        """Start the process unless it runs, or has been started in the last seconds."""
        now = time.monotonic()
        if self._process is not None and (
            self._process.poll() is None or now - self._started < _AGAIN_S
        ):
            return
        self._started = now
        self._process = self._start()

    @property
    def pid(self) -> int | None:
        """Its process id; None when it has not been started."""
        return None if self._process is None else self._process.pid


async def start_piped(command: Sequence[str], environment: Mapping[str, str]) -> Process:
    """Start a process in a session of its own whose standard streams are pipes, in an event loop.

    :raises OSError: when it cannot be started.
    """
    import asyncio

    return await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=environment,
        start_new_session=True,
        umask=read_user_umask(),
    )


async def end_piped(process: Process, number: signal.Signals, patience_s: float) -> None:
    """End a process of :func:`start_piped`: send it a signal, and kill it when it does not end in time."""
    import asyncio

    with suppress(ProcessLookupError):
        process.send_signal(number)
    try:
        await asyncio.wait_for(process.wait(), patience_s)
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()


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
