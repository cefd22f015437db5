"""The service ``lineage``: which programs read and write a dataset, and what lies before and behind."""

from __future__ import annotations

from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import DATASET, MetadataEntity
from localcdap.metadata.lineage.collapse import parse_collapse_types
from localcdap.metadata.lineage.dataset_lineage import LineageRecord
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.metadata.lineage.store import LineageStore
from localcdap.metadata.lineage.time_range import parse_time_range
from localcdap.namespaces.service import NamespaceService
from localcdap.security.access import Target, requires

_OF_DATASET: Final = Target("{dataset}", lambda _, given: [given["dataset"]])


class LineageService:
    """Answers questions about lineage. Threads may share it."""

    def __init__(self, lineage: LineageStore, namespaces: NamespaceService) -> None:
        self._lineage = lineage
        self._namespaces = namespaces

    @requires(_OF_DATASET)
    def get(
        self,
        dataset: MetadataEntity,
        start: str = "0",
        end: str = "now",
        levels: int = 10,
        collapse: list[str] | None = None,
    ) -> LineageRecord:
        """Return the relations around a dataset; none when there is no such dataset.

        :param start: seconds since 1970, or words such as ``now-1d+4h``, see
            :func:`localcdap.metadata.lineage.time_range.parse_time`.
        :param levels: how far to go; one level is the programs of the dataset, and all of their datasets.
        :param collapse: what is not told apart: ``access``, ``run``, ``component``.
        :raises BadRequestError: when the entity is not a dataset, or another argument is wrong.
        :raises NotFoundError: when there is no such namespace.
        """
        if dataset.type != DATASET or dataset.namespace is None:
            raise BadRequestError(
                f"Lineage is known of datasets, not of {dataset.describe()}.",
                "Name a dataset, such as datasets/orders.",
            )
        self._namespaces.require(dataset.namespace)
        types = parse_collapse_types(collapse or ())
        times = parse_time_range(start, end)
        id = DatasetId(dataset.namespace, dataset.name)
        return self._lineage.get_lineage_record(id, times, levels, types)
