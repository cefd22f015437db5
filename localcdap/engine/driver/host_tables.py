"""The structured tables of the instance, asked for at the host."""

from __future__ import annotations

import itertools
from functools import lru_cache
from pathlib import Path
from typing import Final

from localcdap.api.errors import HostError
from localcdap.api.stage import FindTable
from localcdap.api.tables import TableShape
from localcdap.engine.driver.hosts import reach_host
from localcdap.engine.driver.tables import TableFiles, TableSource
from localcdap.engine.order import WorkOrder

SERVICE: Final = "table-exports"
"""Name under which the host serves :class:`TableExports`."""


class TableExports:
    """The host's side of a run's table reads, as the run process calls it."""

    def export(self, namespace: str, name: str, directory: str) -> TableFiles:
        """Write the rows of a table as Parquet files into a directory of the run.

        :raises NotFoundError: when there is no such table.
        """
        raise NotImplementedError

    def shapes(self, namespace: str) -> dict[str, TableShape]:
        """The columns and keys of the tables of a namespace, by name."""
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
        with reach_host(self._home) as client:
            return client.service(SERVICE, TableExports).export(namespace, name, str(place))

    def find(self, namespace: str, name: str) -> TableShape | None:
        with reach_host(self._home) as client:
            return client.service(SERVICE, TableExports).shapes(namespace).get(name)


class NoHostTables:
    """For a run that has no host to ask."""

    def export(self, namespace: str, name: str) -> TableFiles:
        raise HostError(
            f"Table '{name}' of namespace '{namespace}' cannot be read: this run has no host.",
            "Run the pipeline through localcdap.",
        )

    def find(self, namespace: str, name: str) -> TableShape | None:
        return None


def table_finder(order: WorkOrder) -> FindTable:
    """What finds the columns of the tables of a run's namespace; the host is asked once, when it must be."""

    @lru_cache(maxsize=1)
    def shapes() -> dict[str, TableShape]:
        if order.host_directory is None:
            return {}
        with reach_host(Path(order.host_directory)) as client:
            return client.service(SERVICE, TableExports).shapes(order.namespace)

    return lambda name: shapes().get(name)


def table_source(order: WorkOrder, run_directory: Path) -> TableSource:
    """Where a run reads tables."""
    if order.host_directory is None:
        return NoHostTables()
    return HostTables(Path(order.host_directory), run_directory / "snapshots")
