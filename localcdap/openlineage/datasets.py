"""The inputs and outputs of events: datasets with their schema, columns, other names, tags and counts."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.engine.messages.dataset_names import DatasetName
from localcdap.engine.messages.spool import DatasetAccess
from localcdap.metadata.lineage.column_edges import ColumnEdge
from localcdap.metadata.lineage.field_records import EdgeRecords
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.metadata.records import list_inside
from localcdap.metadata.store import MetadataStore
from localcdap.openlineage.model import (
    Facets,
    LineageDataset,
    create_column_lineage_facet,
    create_facet,
    create_schema_facet,
    list_tags,
)
from localcdap.runs.model import StageCounts
from localcdap.store.store import Transaction

_LOG: Final = logging.getLogger(__name__)
_FIELD: Final = "field"
_MOST_EDGES: Final = 20_000
"""The most edges in an event. One with more would have many megabytes, which receivers refuse."""


class UsedDataset(msgspec.Struct, frozen=True):
    """A dataset with all stages that read it, or all that write it."""

    ids: tuple[DatasetId, ...]
    """The reference names or tables by which the stages know it."""
    names: tuple[DatasetName, ...]
    """The names, the first of which is that of the event."""
    accesses: tuple[DatasetAccess, ...]

    @property
    def place(self) -> tuple[str, str]:
        """The namespace and the name in the event."""
        return self.names[0].namespace, self.names[0].name


class DatasetDescriber:
    """Describes what a pipeline reads and writes.

    :param instance: the name of the instance.
    :param database: the file with the tables.
    """

    def __init__(self, metadata: MetadataStore, instance: str, database: Path) -> None:
        self._metadata = metadata
        self._instance = instance
        self._database = database

    def describe(
        self,
        tx: Transaction,
        namespace: str,
        pipeline: str,
        accesses: Iterable[DatasetAccess],
        counts: Mapping[str, StageCounts] | None = None,
    ) -> tuple[list[LineageDataset], list[LineageDataset]]:
        """Return the inputs and the outputs.

        :param counts: the records of the stages of a run that has ended.
        """
        read, written = self._group(namespace, accesses)
        edges = self._list_edges(tx, namespace, pipeline)
        inputs = []
        for each in read:
            dataset = LineageDataset(*each.place, facets=self._create_facets(tx, each))
            rows = _sum_counts(each, counts, is_write=False)
            if rows is not None:
                facet = create_facet("InputStatisticsInputDatasetFacet", rowCount=rows)
                dataset.input_facets = {"inputStatistics": facet}
            inputs.append(dataset)
        outputs = []
        for each in written:
            facets = self._create_facets(tx, each)
            own = [edge for edge in edges if edge.target.dataset in each.ids]
            lineage = create_column_lineage_facet(own, self._map_names(read, own))
            if lineage is not None:
                facets["columnLineage"] = lineage
            dataset = LineageDataset(*each.place, facets=facets)
            rows = _sum_counts(each, counts, is_write=True)
            if rows is not None:
                facet = create_facet("OutputStatisticsOutputDatasetFacet", rowCount=rows)
                dataset.output_facets = {"outputStatistics": facet}
            outputs.append(dataset)
        return inputs, outputs

    def name_job_namespace(self, namespace: str) -> str:
        """Return the namespace of the jobs of a namespace."""
        return f"localcdap://{self._instance}/{namespace}"

    def _group(
        self, namespace: str, accesses: Iterable[DatasetAccess]
    ) -> tuple[list[UsedDataset], list[UsedDataset]]:
        """Return the datasets that are read, and those that are written, each once by its place."""
        found: dict[tuple[bool, DatasetName], UsedDataset] = {}
        for access in accesses:
            names = self._list_names(namespace, access)
            key = (access.is_write, names[0])
            known = found.get(key, UsedDataset((), (), ()))
            found[key] = UsedDataset(
                tuple(dict.fromkeys((*known.ids, DatasetId(namespace, access.dataset)))),
                tuple(dict.fromkeys((*known.names, *names))),
                (*known.accesses, access),
            )
        read = [each for (is_write, _), each in found.items() if not is_write]
        return read, [each for (is_write, _), each in found.items() if is_write]

    def _list_names(self, namespace: str, access: DatasetAccess) -> tuple[DatasetName, ...]:
        """Return where the data lies, and last the name by which the instance knows it."""
        place = f"duckdb://{self._database}"
        tables = [DatasetName(place, f"{namespace}.{table}") for table in access.tables]
        own = [DatasetName(self.name_job_namespace(namespace), access.dataset)]
        if len(tables) > 1 and not access.names:  # none of them is the dataset
            tables, own = own, tables
        return tuple(dict.fromkeys((*access.names, *tables, *own)))

    def _list_edges(self, tx: Transaction, namespace: str, pipeline: str) -> Sequence[ColumnEdge]:
        edges = EdgeRecords(tx).list_edges(namespace, pipeline, _MOST_EDGES + 1)
        if len(edges) <= _MOST_EDGES:
            return edges
        _LOG.warning(
            "The OpenLineage event of pipeline '%s' has no column lineage: it has more than %d edges.",
            pipeline,
            _MOST_EDGES,
        )
        return ()

    def _map_names(
        self, read: Iterable[UsedDataset], edges: Iterable[ColumnEdge]
    ) -> dict[DatasetId, list[tuple[str, str]]]:
        """Return the places of the datasets at which edges begin, those that this run has not read too."""
        places: dict[DatasetId, list[tuple[str, str]]] = {}
        for each in read:
            for id in each.ids:
                places.setdefault(id, []).append(each.place)
        for edge in edges:
            id = edge.source.dataset
            places.setdefault(id, [(self.name_job_namespace(id.namespace), id.dataset)])
        return places

    def _create_facets(self, tx: Transaction, used: UsedDataset) -> Facets:
        facets: Facets = {}
        documents = (access.document for access in used.accesses if access.is_whole)
        schema = create_schema_facet(next(filter(None, documents), None))
        if schema is not None:
            facets["schema"] = schema
        identifiers = [
            {"namespace": each.namespace, "name": each.name, "type": self._name_type(each)}
            for each in used.names[1:]
        ]
        if identifiers:
            facets["symlinks"] = create_facet("SymlinksDatasetFacet", identifiers=identifiers)
        tags = [tag for id in used.ids for tag in self._list_tags(tx, id)]
        if tags:
            facets["tags"] = create_facet("TagsDatasetFacet", tags=tags)
        return facets

    def _name_type(self, name: DatasetName) -> str:
        """Return the type of a symbolic link: ``TABLE``, ``LOCATION``, or ``DATASET`` of the instance."""
        if name.namespace.startswith("duckdb://"):
            return "TABLE"
        return "DATASET" if name.namespace.startswith("localcdap://") else "LOCATION"

    def _list_tags(self, tx: Transaction, id: DatasetId) -> list[dict[str, str]]:
        """Return the tags of a dataset, then those of its fields."""
        entity = id.to_entity()
        fields = list_inside(tx, entity, _FIELD)
        whole, *of_fields = self._metadata.read_all(tx, [entity, *fields])
        tags = list_tags(whole)
        for field, known in zip(fields, of_fields, strict=True):
            tags += list_tags(known, field.name)
        return tags


def _sum_counts(
    used: UsedDataset, counts: Mapping[str, StageCounts] | None, *, is_write: bool
) -> int | None:
    """Return the number of records that stages read or wrote; None when it is not known of each of them."""
    found: list[int | None] = []
    for stage, is_whole in dict.fromkeys((each.stage, each.is_whole) for each in used.accesses):
        of_stage = (counts or {}).get(stage)
        if of_stage is None or not is_whole:
            return None
        found.append(of_stage.records_in if is_write else of_stage.records_out)
    known = [each for each in found if each is not None]
    return sum(known) if len(known) == len(found) else None
