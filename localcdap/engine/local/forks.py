"""The forks that a local engine's fork servers make: run processes, and daemons of Spark's Python workers.

:mod:`localcdap.engine.fork_server` forks run processes, and :mod:`localcdap.engine.worker_server` daemons.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from localcdap.processes.fork_protocol import ForkRequest, describe_caller, fork_at

SOCKET: Final = "template.sock"
"""In the engine's directory: the socket of the server that forks run processes."""
WORKER_SOCKET: Final = "workers.sock"
"""The socket of the server that forks daemons of workers."""
SET_BY_SPARK: Final = ("PYTHONPATH", "PYTHON_")
"""Prefixes of the variables that Spark sets for the daemon of a session; the forked process gets them."""
_OWN_STREAMS: Final = (0, 1, 2)


def request_fork(engine: Path, run_directory: Path, input: int, output: int) -> int | None:
    """Have a run process forked that equals a new ``python -m localcdap.engine.run_process RUN_DIR``.

    :param engine: the directory of the local engine.
    :param input: file descriptor of its standard input.
    :param output: file descriptor of its standard output and standard error.
    :returns: its process id; None when there is no fork server that can serve the request.
    """
    directory = os.fsencode(run_directory.absolute())
    request = ForkRequest(directory, new_session=True, state=describe_caller())
    return fork_at(engine, SOCKET, request, (input, output, output))


def request_daemon(engine: Path) -> int | None:
    """Have a daemon of workers forked that has the standard streams and the environment of this process.

    :returns: its process id; None when there is no fork server that can serve the request.
    """
    request = ForkRequest(b"", new_session=False, state=describe_caller(SET_BY_SPARK))
    return fork_at(engine, WORKER_SOCKET, request, _OWN_STREAMS)
