"""The structured tables of the instance, asked for at the host."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from localcdap.api.errors import HostError
from localcdap.engine.order import WorkOrder
from localcdap.engine.tables import TableFiles, TableSource
from localcdap.rpc.client import Client
from localcdap.rpc.record import read_record

_HOST_MODULE: Final = "localcdap.host"
"""Started by name: this room does not know the host's code. It leaves when it is not needed."""
_START_S: Final = 15.0
_PAUSE_S: Final = 1.0
SERVICE: Final = "table-exports"
"""Name under which the host serves :class:`TableExports`."""


class TableExports:
    """The host's side of a run's table reads, as the run process calls it."""

    def export(self, namespace: str, name: str, directory: str) -> TableFiles:
        """Write the rows of a table as Parquet files into a directory of the run.

        :raises NotFoundError: when there is no such table.
        """
        raise NotImplementedError


class HostTables:
    """Asks the host of an instance for snapshots of tables.

    :param home: the instance's folder.
    :param directory: below it each snapshot gets a directory of its own.
    """

    def __init__(self, home: Path, directory: Path) -> None:
        self._home: Final = home
        self._directory: Final = directory
        self._numbers: Final = itertools.count()

    def export(self, namespace: str, name: str) -> TableFiles:
        place = self._directory / str(next(self._numbers))
        with self._host() as client:
            return client.service(SERVICE, TableExports).export(namespace, name, str(place))

    def _host(self) -> Client:
        """The host; one without a front end is started when the last one has left.

        :raises HostError: when none can be reached.
        """
        deadline = time.monotonic() + _START_S
        while True:
            record = read_record(self._home)
            try:
                if record is not None:
                    return Client(record)
            except HostError:
                if time.monotonic() > deadline:
                    raise
            if time.monotonic() > deadline:
                raise HostError(f"No host serves the instance {self._home}.", "Run it again.")
            command = [sys.executable, "-m", _HOST_MODULE, str(self._home)]
            subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
            time.sleep(_PAUSE_S)


class NoHostTables:
    """For a run that has no host to ask."""

    def export(self, namespace: str, name: str) -> TableFiles:
        raise HostError(
            f"Table '{name}' of namespace '{namespace}' cannot be read: this run has no host.",
            "Run the pipeline through localcdap.",
        )


def table_source(order: WorkOrder, run_directory: Path) -> TableSource:
    """Where a run reads tables."""
    if order.host_directory is None:
        return NoHostTables()
    return HostTables(Path(order.host_directory), run_directory / "snapshots")
