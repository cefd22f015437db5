"""The process that Spark starts for the daemon of a session's Python workers: it has the daemon forked.

``python -m localcdap.engine.local.worker_launcher WORKER_MODULE`` (``spark.python.daemon.module``). A daemon
that is forked by :mod:`localcdap.engine.worker_server` has its modules loaded already, which takes half a
second of the processor otherwise, in each run with stages in Python. It talks to Spark through the streams
of this process, which only waits for its end. Spark ends it by closing its standard input.

Where no fork server can serve the request, this process becomes the daemon itself.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from localcdap.engine.local.forks import request_daemon
from localcdap.processes.identity import can_wait_for_others, wait_for_end


def main() -> None:
    """Have the daemon forked and wait for its end, or become the daemon."""
    pid = request_daemon(Path.cwd()) if can_wait_for_others() else None
    if pid is None:
        daemon = "localcdap.engine.local.worker_daemon"
        os.execv(sys.executable, [sys.executable, "-m", daemon, *sys.argv[1:]])  # noqa: S606
    wait_for_end(pid)


if __name__ == "__main__":
    main()
