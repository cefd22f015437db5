"""The service ``lineage``: which programs read and write a dataset, and what lies before and behind.

Two kinds of answers exist. Those that CDAP has too (:meth:`LineageService.get`, the summaries and the
operations of fields) are about the runs of a time. The traces go over any number of pipelines, by the
accesses of all runs and by the exact edges between columns.
"""

from __future__ import annotations

from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.metadata import DATASET, MetadataEntity
from localcdap.metadata.lineage.column_edges import DatasetField
from localcdap.metadata.lineage.dataset_lineage import LineageRecord, parse_collapse_types
from localcdap.metadata.lineage.field_lineage import (
    DatasetFieldLineage,
    Direction,
    FieldLineageDetails,
    FieldLineageSummary,
    LineageField,
)
from localcdap.metadata.lineage.relations import DatasetId, DatasetUsage
from localcdap.metadata.lineage.store import LineageStore
from localcdap.metadata.lineage.time_range import parse_time_range
from localcdap.metadata.lineage.traversal import (
    MOST_EDGES,
    DatasetGraph,
    FieldGraph,
    LastWrite,
    VisibleLineage,
    find_visible,
)
from localcdap.namespaces.service import NamespaceService
from localcdap.security.access import (
    SwitchedAuthorizer,
    Target,
    of_namespace,
    requires,
    shows_visible,
)
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.text import format_available

_OF_DATASET: Final = Target("{dataset}", lambda _, given: [given["dataset"]])


class DatasetTrace(msgspec.Struct, frozen=True, omit_defaults=True):
    """The datasets and programs around a dataset; a direction that was not asked for is absent."""

    incoming: DatasetGraph | None = None
    outgoing: DatasetGraph | None = None


class FieldTrace(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields around a field, or around all fields of a dataset; a direction that was not asked for is
    absent.
    """

    incoming: FieldGraph | None = None
    outgoing: FieldGraph | None = None


class DatasetDescription(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a dataset."""

    dataset: DatasetId
    fields: list[LineageField]
    """Those of its current schema, and those of which lineage is known, by name."""
    last_write: LastWrite | None = None


class LineageService:
    """Answers questions about lineage. Threads may share it."""

    def __init__(
        self,
        lineage: LineageStore,
        namespaces: NamespaceService,
        authorizer: SwitchedAuthorizer = ALLOW_ALL,
    ) -> None:
        """Create it.

        :param authorizer: decides which neighbours of a dataset the caller sees.
        """
        self._lineage = lineage
        self._namespaces = namespaces
        self._authorizer = authorizer

    @requires(_OF_DATASET)
    def get(
        self,
        dataset: MetadataEntity,
        start: str = "0",
        end: str = "now",
        levels: int = 10,
        collapse: list[str] | None = None,
        direction: Direction = Direction.BOTH,
    ) -> LineageRecord:
        """Return the relations around a dataset; none when there is no such dataset.

        :param start: seconds since 1970, or words such as ``now-1d+4h``, see
            :func:`localcdap.metadata.lineage.time_range.parse_time`.
        :param levels: how far to go; one level is the programs of the dataset, and all of their datasets.
        :param collapse: what is not told apart: ``access``, ``run``, ``component``.
        :param direction: only what leads to the dataset (``incoming``) or comes from it (``outgoing``). The
            original has no such parameter here.
        :raises BadRequestError: when the entity is not a dataset, or another argument is wrong.
        :raises NotFoundError: when there is no such namespace.
        """
        id = self._resolve(dataset)
        types = parse_collapse_types(collapse or ())
        times = parse_time_range(start, end)
        found = self._lineage.get_lineage(
            id, times, levels, direction=direction, visible=self._get_visible()
        )
        return found.to_record(times, types)

    @requires(of_namespace())
    @shows_visible(DatasetId.to_entity)
    def list_datasets(self, namespace: str) -> list[DatasetId]:
        """Return the datasets of a namespace that have metadata or lineage, by name.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        return [DatasetId(namespace, each) for each in self._lineage.list_datasets(namespace)]

    @requires(of_namespace())
    @shows_visible(lambda usage: usage.dataset.to_entity())
    def list_recent(self, namespace: str, limit: int = 20) -> list[DatasetUsage]:
        """Return the last use of each of the datasets that runs read or wrote last, the newest first.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        newest: dict[DatasetId, DatasetUsage] = {}
        for each in self._get_visible().select_usages(self._lineage.list_usage(namespace)):
            newest.setdefault(each.dataset, each)
        return list(newest.values())[:limit]

    @requires(_OF_DATASET)
    def describe(self, dataset: MetadataEntity) -> DatasetDescription:
        """Return the fields of a dataset, and the run that has written it last.

        :raises BadRequestError: when the entity is not a dataset.
        :raises NotFoundError: when there is no such namespace or dataset; names those that are similar.
        """
        id = self._require(dataset)
        return DatasetDescription(
            id,
            self._lineage.list_all_fields(id),
            self._get_visible().select_last_write(self._lineage.find_last_write(id)),
        )

    @requires(_OF_DATASET)
    def trace_datasets(
        self,
        dataset: MetadataEntity,
        direction: Direction = Direction.BOTH,
        hops: int = 10,
        limit: int = MOST_EDGES,
    ) -> DatasetTrace:
        """Return the datasets before and behind a dataset, and the programs between them, of all runs.

        :param hops: the most programs one after the other.
        :param limit: the most accesses in each direction; what is left out is noted.
        :raises BadRequestError: when the entity is not a dataset, or another argument is wrong.
        :raises NotFoundError: when there is no such namespace or dataset; names those that are similar.
        """
        id, visible = self._require(dataset), self._get_visible()

        def trace(upstream: bool, is_wanted: bool) -> DatasetGraph | None:
            if not is_wanted:
                return None
            return self._lineage.trace_datasets(
                id, upstream=upstream, hops=hops, limit=limit, visible=visible
            )

        return DatasetTrace(trace(True, direction.is_incoming), trace(False, direction.is_outgoing))

    @requires(_OF_DATASET)
    def trace_fields(
        self,
        dataset: MetadataEntity,
        field: str | None = None,
        direction: Direction = Direction.BOTH,
        hops: int = 10,
        limit: int = MOST_EDGES,
        indirect: bool = True,
    ) -> FieldTrace:
        """Return the fields that a field comes from and those that come from it, over all pipelines.

        :param field: None: all fields of the dataset.
        :param hops: the most edges one after the other.
        :param limit: the most edges in each direction; what is left out is noted.
        :param indirect: whether edges are followed that only influence a field, such as those of filters.
        :raises BadRequestError: when the entity is not a dataset, or another argument is wrong.
        :raises NotFoundError: when there is no such namespace, dataset or field; names similar ones.
        """
        id, visible = self._require(dataset, field), self._get_visible()

        def trace(upstream: bool, is_wanted: bool) -> FieldGraph | None:
            if not is_wanted:
                return None
            return self._lineage.trace_fields(
                DatasetField(id, field),
                upstream=upstream,
                hops=hops,
                limit=limit,
                indirect=indirect,
                visible=visible,
            )

        return FieldTrace(trace(True, direction.is_incoming), trace(False, direction.is_outgoing))

    @requires(_OF_DATASET)
    def list_fields(
        self,
        dataset: MetadataEntity,
        start: str = "0",
        end: str = "now",
        prefix: str | None = None,
        include_current: bool = False,
    ) -> list[LineageField]:
        """Return the fields of a dataset that operations of the runs of a time have written.

        :param prefix: only fields that begin so, in any case.
        :param include_current: whether fields come along that only the current schema has.
        :raises BadRequestError: when the entity is not a dataset, or a time is wrong.
        :raises NotFoundError: when there is no such namespace.
        """
        times = parse_time_range(start, end)
        return self._lineage.list_fields(
            self._resolve(dataset), times, prefix, include_current=include_current
        )

    @requires(_OF_DATASET)
    def get_field_lineage(
        self,
        dataset: MetadataEntity,
        field: str,
        direction: Direction = Direction.BOTH,
        start: str = "0",
        end: str = "now",
    ) -> FieldLineageSummary:
        """Return the fields of other datasets that a field comes from, and those that come from it.

        :raises BadRequestError: when the entity is not a dataset, or a time is wrong.
        :raises NotFoundError: when there is no such namespace.
        """
        times = parse_time_range(start, end)
        found = self._lineage.get_field_lineage(self._resolve(dataset), field, direction, times)
        return self._get_visible().select_summary(found)

    @requires(_OF_DATASET)
    def get_field_operations(
        self,
        dataset: MetadataEntity,
        field: str,
        direction: Direction = Direction.BOTH,
        start: str = "0",
        end: str = "now",
    ) -> FieldLineageDetails:
        """Return the operations that compute a field, and those that use it, with the plugins' words.

        :raises BadRequestError: when the entity is not a dataset, or a time is wrong.
        :raises NotFoundError: when there is no such namespace.
        """
        times = parse_time_range(start, end)
        found = self._lineage.get_field_operations(self._resolve(dataset), field, direction, times)
        return self._get_visible().select_details(found)

    @requires(_OF_DATASET)
    def get_dataset_field_lineage(
        self,
        dataset: MetadataEntity,
        direction: Direction = Direction.BOTH,
        start: str = "0",
        end: str = "now",
    ) -> DatasetFieldLineage:
        """Return the summaries of all fields of a dataset.

        :raises BadRequestError: when the entity is not a dataset, or a time is wrong.
        :raises NotFoundError: when there is no such namespace.
        """
        times = parse_time_range(start, end)
        found = self._lineage.get_dataset_field_lineage(self._resolve(dataset), direction, times)
        return self._get_visible().select_relations(found)

    def _get_visible(self) -> VisibleLineage:
        """Return what the caller sees."""
        return find_visible(self._authorizer)

    def _resolve(self, dataset: MetadataEntity) -> DatasetId:
        """Return the id of a dataset, whose namespace must exist."""
        if dataset.type != DATASET or dataset.namespace is None:
            raise BadRequestError(
                f"Lineage is known of datasets, not of {dataset.describe()}.",
                "Name a dataset, such as datasets/orders.",
            )
        self._namespaces.require(dataset.namespace)
        return DatasetId(dataset.namespace, dataset.name)

    def _require(self, dataset: MetadataEntity, field: str | None = None) -> DatasetId:
        """Return the id of a dataset, which must exist, and have a field."""
        id = self._resolve(dataset)
        names = self._lineage.list_datasets(id.namespace)
        if id.dataset not in names:
            raise NotFoundError(
                f"There is no dataset '{id.dataset}' in namespace '{id.namespace}'.",
                f"Datasets there: {format_available(id.dataset, names)}.",
            )
        if field is not None:
            fields = [each.name for each in self._lineage.list_all_fields(id)]
            if field not in fields:
                raise NotFoundError(
                    f"No field '{field}' of dataset '{id.dataset}' is known.",
                    f"Known fields: {format_available(field, fields)}.",
                )
        return id
