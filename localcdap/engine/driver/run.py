"""The process of a run: ``python -m localcdap.engine.driver.run RUN_DIR``.

It may be started before its order exists: it imports what takes long and waits until ``RUN_DIR/order.json``
appears. When its standard input ends first, it goes away without a trace.

Exit codes: 0 the run completed, or there was none; 1 it failed; 2 wrong usage; 143 it was killed; -9 plugins
left processes behind, which it ended with itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from pathlib import Path
from typing import NoReturn

from localcdap.engine.order import wait_for_order

_EXIT_CODES = {"COMPLETED": 0, "FAILED": 1, "KILLED": 143}


def warm_up() -> None:
    """Import what every run needs, without doing anything yet."""
    import pyarrow as pa
    import pyspark.sql.connect.session

    import localcdap.engine.driver.running  # noqa: F401

    # Arrow loads parts of itself at the first use.
    pa.table({"n": [1]})
    assert pyspark.sql.connect.session


def main(arguments: list[str]) -> int:
    """Wait for the order and carry it out."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m localcdap.engine.driver.run RUN_DIR\n")
        return 2
    directory = Path(arguments[0])
    warming = threading.Thread(target=warm_up, name="warm-up", daemon=True)
    warming.start()
    order = wait_for_order(directory, sys.stdin.fileno())
    if order is None:
        return 0
    # Two threads that import pandas or pyspark at the same time may wait for each other for ever.
    warming.join()
    if order.cases:
        from localcdap.engine.preview.cases import CasesRun

        return _EXIT_CODES[CasesRun(directory, order).carry_out().value]
    if order.preview is not None:
        from localcdap.engine.preview.previewing import PreviewRun

        return _EXIT_CODES[PreviewRun(directory, order).carry_out().value]
    from localcdap.engine.driver.running import Run

    return _EXIT_CODES[Run(directory, order).carry_out().value]


def leave(status: int) -> NoReturn:
    """End this process at once, with whatever plugins started in it and left behind."""
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.suppress(ChildProcessError):  # there is none
        if os.waitpid(-1, os.WNOHANG) == (0, 0) and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
    # Threads of gRPC take their time to end; there is nothing left that they could do.
    os._exit(status)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
