"""The fork server of run processes, with everything imported except plugins.

``python -m localcdap.engine.fork_server`` is started by the supervisor of the local Spark server, in the
engine's directory, and ends with it. Imports are most of the start time of a run.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from localcdap.engine.local.forks import SOCKET
from localcdap.engine.messages.orders import EXIT_FILE, REPORTED
from localcdap.processes.fork_protocol import describe_origin
from localcdap.processes.fork_server import ForkServer, FreeForks, LoadedCode, SocketEntrance
from localcdap.processes.limits import end_with_parent


def main() -> None:
    """Serve requests; in a forked process carry out a run."""
    began = time.time()
    origin = describe_origin(dict(os.environb))
    end_with_parent(os.getppid())
    from localcdap.engine import run_process

    run_process.warm_up()
    entrance, forks = SocketEntrance(SOCKET), FreeForks(write_exit_code)
    fork = ForkServer(entrance, forks, LoadedCode(began), origin).serve()
    if fork is not None:
        run_process.leave(run_process.main([os.fsdecode(fork.argument)]))


def write_exit_code(run_directory: bytes, code: int) -> None:
    """Write how a run process ended that did not say so itself."""
    if code not in REPORTED:
        with contextlib.suppress(OSError):
            Path(os.fsdecode(run_directory), EXIT_FILE).write_text(str(code))


if __name__ == "__main__":
    main()
