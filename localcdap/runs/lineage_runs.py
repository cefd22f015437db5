"""What lineage asks about runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set

from localcdap.api.metadata import WORKFLOW
from localcdap.metadata.lineage.relations import ProgramRunId
from localcdap.metadata.lineage.time_range import TimeRange
from localcdap.store.store import Store


class StoredRuns:
    """The stored runs as a :class:`localcdap.metadata.lineage.dataset_lineage.LineageRuns`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find_running(self, times: TimeRange) -> Set[str]:
        """Return the ids of the runs that were running at any time of a range.

        System applications have no stored runs: what each process of one did counts from its start.
        """
        rows = self._store.read(
            "SELECT run FROM runs WHERE starting <= ? AND "
            "coalesce(CAST(json_extract(record, '$.end') AS BIGINT), ?) >= ? "
            "UNION SELECT DISTINCT run FROM lineage_relations WHERE program_type <> ? AND start <= ?",
            (times.end, times.end, times.start, WORKFLOW, times.end),
        )
        return {run for (run,) in rows}

    def find_workflows(self, runs: Collection[ProgramRunId]) -> Mapping[ProgramRunId, ProgramRunId]:
        """Return no workflows: a pipeline's run is that of its workflow itself."""
        del runs
        return {}

    def list_inner_runs(self, workflow: ProgramRunId) -> Collection[ProgramRunId]:
        """Return no runs: a pipeline's run has no inner ones."""
        del workflow
        return ()
