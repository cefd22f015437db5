"""Starting processes: with which streams, session, umask and limits, and keeping one running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

from localcdap.processes.limits import end_with_parent, read_user_umask
from localcdap.processes.tree import end_child

if TYPE_CHECKING:
    from asyncio.subprocess import Process

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
