"""The datasets that runs read or wrote last: what the lineage area lists before one is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from localcdap.metadata.lineage.relations import AccessType
from localcdap.metadata.lineage.usage import DatasetUsage
from localcdap.text import sanitize_for_terminal
from localcdap.tui.labels import format_age
from localcdap.tui.lists.filtered_list import FilteredList, ListEntry

_EMPTY: Final = """No run has read or written a dataset yet.

Run a pipeline first: d runs the demo on the home screen (1), r the pipeline in the studio (2). \
Its datasets are listed here then."""
_USES: Final = {
    AccessType.READ: "read by",
    AccessType.WRITE: "written by",
    AccessType.READ_WRITE: "read and written by",
    AccessType.UNKNOWN: "used by",
}


class RecentDatasets(FilteredList):
    """The datasets that runs used last, the newest first; the key of an entry is the name."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(verb="show lineage", empty=_EMPTY, id=id)

    def fill(self, usages: Sequence[DatasetUsage]) -> None:
        self.set_entries([_build_entry(each) for each in usages])


def _build_entry(usage: DatasetUsage) -> ListEntry:
    pipeline = sanitize_for_terminal(usage.program.application, single_line=True)
    return ListEntry(
        usage.dataset.dataset,
        sanitize_for_terminal(usage.dataset.dataset, single_line=True),
        hint=f"{_USES[usage.access]} {pipeline} {format_age(usage.last_start)}",
    )
