"""A monitor that notices at once when the local Spark server ends while a run uses it.

Spark's client would try for minutes to reach a server whose process is gone.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api.errors import EngineError
from localcdap.engine.local.server import LOG, read_server_record
from localcdap.engine.spark_internals import close_channel
from localcdap.processes.identity import wait_for_end

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ServerMonitor:
    """Watches the process of a local server, and ends the calls of a session when the process is gone.

    :param directory: of the server; None for a cluster, which is not watched.
    :param url: of the session's server, which may not be the newest one of the directory.
    """

    def __init__(self, directory: Path | None, url: str) -> None:
        self._directory: Final = directory
        self._url: Final = url
        self._gone: Final = threading.Event()
        self._server: int | None = None

    def watch(self, spark: SparkSession) -> None:
        """Make the calls of a session fail as soon as the server is gone."""
        record = read_server_record(self._directory) if self._directory is not None else None
        if record is not None and record.url == self._url:
            self._server = record.server
            threading.Thread(
                target=self._wait, args=(spark,), name="server-monitor", daemon=True
            ).start()

    def get_error(self) -> EngineError | None:
        """Return the error of a run that failed because the server is gone or being stopped; otherwise
        None.
        """
        if self._server is None or not (self._gone.is_set() or self._is_replaced()):
            return None
        assert self._directory is not None
        return EngineError(
            f"The local Spark server (process {self._server}) ended while the run used it.",
            "Run it again, which starts a new server. If nobody stopped it, see "
            f"{self._directory / LOG}, and whether the machine ran out of memory.",
        )

    def _is_replaced(self) -> bool:
        """Whether the server has lost its record, which is removed before the server is stopped."""
        assert self._directory is not None
        record = read_server_record(self._directory)
        return record is None or record.url != self._url

    def _wait(self, spark: SparkSession) -> None:
        assert self._server is not None
        wait_for_end(self._server)
        self._gone.set()
        with contextlib.suppress(Exception):
            close_channel(spark)
