"""Removes runs that have ended, with their logs, documents and files. Nothing is removed by default."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.runs.model import get_now

if TYPE_CHECKING:
    from localcdap.runs.records import RunRecords
    from localcdap.store.store import Store

_LOG: Final = logging.getLogger(__name__)
_DAY_MS: Final = 86_400_000

_FIND: Final = """
SELECT run FROM (
    SELECT run, starting, ended,
        row_number() OVER (PARTITION BY pipeline ORDER BY starting DESC, run DESC) AS place
    FROM runs WHERE namespace = ? AND (? IS NULL OR pipeline = ?)
) WHERE ended AND place > ? AND starting < ? ORDER BY starting
"""


class RunRetention(msgspec.Struct, frozen=True, rename="camel"):
    """The runs that are kept. With both limits a run is kept when either of them keeps it."""

    days: float = 0
    """A run is kept for this number of days after its start; 0: the days keep no run."""
    newest: int = 0
    """The newest runs of each pipeline, active ones among them, that are kept; 0: the number keeps no run."""

    @property
    def keeps_all(self) -> bool:
        """Whether there is no limit, so that nothing is removed."""
        return not self.days and not self.newest


class RunPruner:
    """Removes runs. Threads may share it.

    :param directory: of the sub-directories of runs.
    :param retention: the settings: what is kept when nothing else is asked for.
    :param is_watched: whether a run is active, or has ended and its files are still in use.
    """

    def __init__(
        self,
        store: Store,
        records: RunRecords,
        directory: Path,
        retention: RunRetention,
        is_watched: Callable[[str], object],
    ) -> None:
        self._store = store
        self._records = records
        self._directory = directory
        self._retention = retention
        self._is_watched = is_watched

    def prune(
        self, namespace: str, retention: RunRetention, pipeline: str | None, *, only_list: bool
    ) -> list[str]:
        """Remove the ended runs of a namespace that are not kept, and return their ids, oldest first.

        :param retention: what is kept; without a limit, what the settings keep.
        :param pipeline: the name of a pipeline; None for the runs of all.
        :param only_list: remove nothing.
        :raises BadRequestError: when there is no limit in the settings either, or a negative one.
        """
        if retention.keeps_all:
            retention = self._retention
        if retention.keeps_all or retention.days < 0 or retention.newest < 0:
            raise BadRequestError(
                "Nothing says which runs to remove.",
                "Give the days or the number of runs to keep, above 0, or set runs.keep_days or "
                "runs.keep_newest in localcdap.toml.",
            )
        before = get_now() - int(retention.days * _DAY_MS)
        with self._store.transaction() as tx:
            rows = tx.execute(_FIND, (namespace, pipeline, pipeline, retention.newest, before))
            found = [run for (run,) in rows if not self._is_watched(run)]
            if only_list:
                return found
            self._records.remove(tx, namespace, found)
        for run in found:
            shutil.rmtree(self._directory / run, ignore_errors=True)
        return found

    def apply_settings(self, namespace: str) -> None:
        """Remove the runs that the settings do not keep."""
        if self._retention.keeps_all:
            return
        found = self.prune(namespace, self._retention, None, only_list=False)
        if found:
            _LOG.info("removed %s runs of namespace '%s'", f"{len(found):,}", namespace)
