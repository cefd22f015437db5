"""The process that Spark starts for the daemon of a session's Python workers: it has the daemon forked.

``python -m localcdap.engine.local.worker_launcher WORKER_MODULE`` (``spark.python.daemon.module``). A daemon
that is forked by :mod:`localcdap.engine.worker_server` has its modules loaded already, which takes half a
second of the processor otherwise, in each run with stages in Python. It talks to Spark through the streams
of this process, which only waits for its end. Spark ends it by closing its standard input.

Where no fork server can serve the request, this process becomes the daemon itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from pathlib import Path

from localcdap.engine.local.fork_protocol import request_daemon


def main() -> None:
    """Have the daemon forked and wait for its end, or become the daemon."""
    pid = request_daemon(Path.cwd()) if _can_wait() else None
    if pid is None:
        daemon = "localcdap.engine.local.worker_daemon"
        os.execv(sys.executable, [sys.executable, "-m", daemon, *sys.argv[1:]])  # noqa: S606
    _wait_for_end(pid)


def _can_wait() -> bool:
    """Whether the kernel tells the end of a process that is not a child: Linux, unless that is forbidden."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def _wait_for_end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        select.select([os.pidfd_open(pid)], [], [])


if __name__ == "__main__":
    main()
