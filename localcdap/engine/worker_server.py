"""The fork server of daemons: the process from which the daemons of Spark's Python workers are forked.

``python -m localcdap.engine.worker_server`` is started by the supervisor of the local Spark server, in the
engine's directory, and ends with it. What a daemon needs is loaded here once, not in each session.
"""

from __future__ import annotations

import os
import sys
import time

from localcdap.engine.local import worker_daemon
from localcdap.engine.local.forks import SET_BY_SPARK, WORKER_SOCKET
from localcdap.processes.fork_protocol import describe_origin
from localcdap.processes.fork_server import ForkServer, FreeForks, LoadedCode, SocketEntrance
from localcdap.processes.limits import end_with_parent


def main() -> None:
    """Serve requests; in a forked process be the daemon of a session."""
    began = time.time()
    origin = describe_origin(dict(os.environb), SET_BY_SPARK)
    end_with_parent(os.getppid())
    worker_daemon.preload()
    worker_daemon.reduce_collections()
    entrance = SocketEntrance(WORKER_SOCKET)
    if ForkServer(entrance, FreeForks(), LoadedCode(began), origin).serve() is not None:
        _extend_path(os.environ.get("PYTHONPATH", ""))
        sys.argv[1:] = [worker_daemon.WORKER_MODULE]
        worker_daemon.serve()


def _extend_path(path: str) -> None:
    """Let modules be found in the folders that Spark names, as in a new process."""
    sys.path[1:1] = [each for each in path.split(os.pathsep) if each and each not in sys.path]


if __name__ == "__main__":
    main()
