"""The process of a run: ``python -m localcdap.engine.run_process RUN_DIR``.

It may be started before its order exists: it imports what takes long and waits until ``RUN_DIR/order.json``
appears. When its standard input ends first, it exits and leaves nothing.

Exit codes: 0 the run completed, or there was none; 1 it failed; 2 wrong usage; 143 it was killed. The process
ends what plugins have started and left behind.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from localcdap.api.security import SYSTEM_PRINCIPAL, Principal
from localcdap.engine.messages.orders import wait_for_order
from localcdap.processes.single_instance import background_pids
from localcdap.processes.tree import end_group, list_own_strays
from localcdap.security.principals import set_process_principal

_FORK_SUPPORT = "GRPC_ENABLE_FORK_SUPPORT"
_EXIT_CODES = {"COMPLETED": 0, "FAILED": 1, "KILLED": 143}


def warm_up() -> None:
    """Import what every run needs.

    Without a setting of the user, gRPC gets none of its handlers of forks. They make a plugin that forks wait
    for up to a minute until the threads of gRPC are at rest, and sometimes end the new process. No process
    that a plugin forks uses the connection to Spark.
    """
    with _set_default(_FORK_SUPPORT, "false"):  # gRPC reads it when it is imported
        import pyarrow as pa
        import pyspark.sql.connect.session

        import localcdap.engine.driver.run_driver  # noqa: F401

    # Arrow loads parts of itself at the first use.
    pa.table({"n": [1]})
    assert pyspark.sql.connect.session


def _prepare() -> None:
    """Do what takes long before the order is there.

    gRPC starts its threads with the first channel, which takes 8 ms, also in a process that was forked from
    one that had them.
    """
    warm_up()
    import grpc

    grpc.insecure_channel("localhost:0").close()  # nothing is connected before the first call


@contextlib.contextmanager
def _set_default(name: str, value: str) -> Iterator[None]:
    """Set an environment variable for a block unless it is set; processes of plugins do not see it."""
    is_set = name in os.environ
    os.environ.setdefault(name, value)
    try:
        yield
    finally:
        if not is_set:
            del os.environ[name]


def main(arguments: list[str]) -> int:
    """Wait for the order, carry it out and return the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m localcdap.engine.run_process RUN_DIR\n")
        return 2
    directory = Path(arguments[0])
    warming = threading.Thread(target=_prepare, name="warm-up", daemon=True)
    warming.start()
    order = wait_for_order(directory, sys.stdin.fileno())
    if order is None:
        return 0
    set_process_principal(Principal(order.user) if order.user else SYSTEM_PRINCIPAL)
    # Two threads that import pandas or pyspark at the same time may deadlock.
    warming.join()
    if order.cases:
        from localcdap.engine.preview.preview_run import PipelineTestDriver

        return _EXIT_CODES[PipelineTestDriver(directory, order).run().value]
    if order.job is not None:
        from localcdap.engine.jobs.job_driver import JobDriver

        return _EXIT_CODES[JobDriver(directory, order, order.job).run().value]
    if order.preview is not None:
        from localcdap.engine.preview.preview_run import PreviewDriver

        return _EXIT_CODES[PreviewDriver(directory, order).run().value]
    from localcdap.engine.driver.run_driver import RunDriver

    return _EXIT_CODES[RunDriver(directory, order).run().value]


def leave(status: int) -> NoReturn:
    """Exit at once, and kill the processes that plugins started and left behind."""
    sys.stdout.flush()
    sys.stderr.flush()
    for pid in list_own_strays(background_pids):
        end_group(pid)
    # Threads of gRPC take their time to end; there is nothing left that they could do.
    os._exit(status)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
