"""Ends what Spark still does for a run whose process is gone, and tidies the file system of a cluster.

Without this, Spark would go on for minutes, hold the cores, and write into directories that are cleared
away. The id of a run's session follows from that of the run, so that it can be found and released.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from localcdap.api.errors import EngineError
from localcdap.engine.cluster.folders import ClusterFolders
from localcdap.engine.driver.commit import recover
from localcdap.engine.driver.listening import CHANNEL
from localcdap.engine.local.server import Endpoint
from localcdap.engine.order import ORDER, SETTLED, read_order
from localcdap.engine.session import connect, session

_LIMIT_S: Final = 30.0
_ENDING_S: Final = 10.0
_PAUSE_S: Final = 0.2


def end_work(run_directory: Path) -> None:
    """Release the session of a run, in a process of its own, and wait for that.

    Does nothing for a run without an order, or whose engine is gone too.
    """
    if not (run_directory / ORDER).exists():
        return
    command = [sys.executable, "-m", __name__, str(run_directory)]
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=_LIMIT_S, check=False)


def release(run_directory: Path) -> None:
    """Release the session of a run; on a cluster, finish or clear away what its sinks wrote.

    :raises EngineError: when the engine cannot be reached.
    """
    order = read_order(run_directory)
    endpoint = Endpoint(order.engine_url, order.engine_token)
    # Spark may miss that a job is cancelled; its tasks in Python end without this.
    shutil.rmtree(run_directory / CHANNEL, ignore_errors=True)
    try:
        _end_session(endpoint, order.session_id)
    finally:
        if order.remote:
            # In another session: that of the run may be closed for good.
            with session(endpoint) as spark:
                recover(run_directory, ClusterFolders(spark))
            (run_directory / SETTLED).touch()


def _end_session(endpoint: Endpoint, session_id: str) -> None:
    spark = connect(endpoint, session_id)
    deadline = time.monotonic() + _ENDING_S
    # An operation is listed until it has ended; only then does it write no more.
    while spark.interruptAll() and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)
    spark.stop()


if __name__ == "__main__":
    with contextlib.suppress(EngineError):
        release(Path(sys.argv[1]))
