"""What a caller sees of lineage: relations and edges whose datasets and programs are all visible.

The original answers with all of it (CDAP 6 ``LineageAdmin`` and ``FieldLineageAdmin`` ask no enforcer). Here
the rule is that of its searches and lists (``DefaultMetadataAdmin``, ``AccessEnforcer.isVisible``): what a
caller may not see is left out, and nothing is followed beyond it.

What is stored of a dataset: its name, the fields that edges lead from and to, and its last write.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from localcdap.api.metadata import DATASET, MetadataEntity
from localcdap.metadata.entities import from_key
from localcdap.metadata.lineage.field_lineage import (
    DatasetFieldLineage,
    DatasetFields,
    FieldLineageDetails,
    FieldLineageSummary,
    OperationInfo,
    ProgramOperations,
)
from localcdap.metadata.lineage.field_records import ApplicationEdge
from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetEdge,
    DatasetId,
    DatasetUsage,
    FindSame,
    ProgramId,
    RelationGroup,
)
from localcdap.security.access import SwitchedAuthorizer
from localcdap.security.principals import current_principal
from localcdap.store.store import Transaction

_WRITES: Final = (AccessType.WRITE.value, AccessType.READ_WRITE.value)


class LastWrite(msgspec.Struct, frozen=True):
    """The latest run that has written a dataset."""

    namespace: str
    """Of the application."""
    application: str
    run: str
    time: int
    """Milliseconds since 1970 at which the run was asked for."""


class DatasetRecords:
    """Reads what is stored of datasets in one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def list_names(self, namespace: str) -> list[str]:
        """Return the datasets of a namespace that have metadata or lineage, in alphabetical order."""
        described = self._tx.execute(
            "SELECT entity FROM metadata WHERE namespace = ? AND type = ?", (namespace, DATASET)
        )
        used = self._tx.execute(
            "SELECT DISTINCT dataset FROM lineage_relations WHERE namespace = ? "
            "UNION SELECT source FROM lineage_column_edges WHERE source_namespace = ? "
            "UNION SELECT target FROM lineage_column_edges WHERE target_namespace = ?",
            (namespace, namespace, namespace),
        )
        return sorted({from_key(key).name for (key,) in described} | {name for (name,) in used})

    def list_edge_fields(self, dataset: DatasetId) -> set[str]:
        """Return the fields of a dataset at which an edge begins or ends."""
        key = (dataset.namespace, dataset.dataset)
        rows = self._tx.execute(
            "SELECT source_field FROM lineage_column_edges WHERE source_namespace = ? AND source = ? "
            "UNION SELECT target_field FROM lineage_column_edges "
            "WHERE target_namespace = ? AND target = ? AND target_field IS NOT NULL",
            (*key, *key),
        )
        return {name for (name,) in rows}

    def find_last_write(self, dataset: DatasetId) -> LastWrite | None:
        """Return the latest run that has written a dataset; None when none has."""
        rows = self._tx.execute(
            "SELECT program_namespace, application, run, start FROM lineage_relations "
            "WHERE namespace = ? AND dataset = ? AND access IN (SELECT unnest(?::VARCHAR[])) "
            "ORDER BY start DESC, run LIMIT 1",
            (dataset.namespace, dataset.dataset, list(_WRITES)),
        )
        return LastWrite(*rows[0]) if rows else None


_Access = TypeVar("_Access", DatasetEdge, RelationGroup)


class VisibleLineage:
    """Selects what a caller sees, for one question.

    :param is_visible: whether the caller sees an entity.
    """

    def __init__(self, is_visible: Callable[[MetadataEntity], bool]) -> None:
        self._is_visible: Final = is_visible
        self._shows: Final = cache(self._look)

    def shows_application(self, namespace: str, application: str) -> bool:
        """Return whether the caller sees an application."""
        return self._is_visible(MetadataEntity.of_application(application, namespace))

    def _look(self, id: DatasetId | ProgramId) -> bool:
        return self._is_visible(id.to_entity())

    def select_accesses(self, accesses: Iterable[_Access]) -> list[_Access]:
        """Return the accesses of which the caller sees dataset and program."""
        return [each for each in accesses if self._shows(each.data) and self._shows(each.program)]

    def select_usages(self, usages: Iterable[DatasetUsage]) -> list[DatasetUsage]:
        """Return the uses of which the caller sees dataset and program."""
        return [u for u in usages if self._shows(u.dataset) and self._shows(u.program)]

    def select_edges(self, edges: Iterable[ApplicationEdge]) -> list[ApplicationEdge]:
        """Return the edges of which the caller sees both datasets and the application."""
        return [
            each
            for each in edges
            if self._shows(each.source.dataset)
            and self._shows(each.target.dataset)
            and self.shows_application(each.namespace, each.application)
        ]

    def select_same(self, find_same: FindSame) -> FindSame:
        """Return a function that finds the datasets of another one as far as the caller sees them."""

        def find(datasets: Collection[DatasetId]) -> Mapping[DatasetId, Collection[DatasetId]]:
            return {
                dataset: [each for each in others if self._shows(each)]
                for dataset, others in find_same(datasets).items()
            }

        return find

    def select_last_write(self, last: LastWrite | None) -> LastWrite | None:
        """Return the last write; None when the caller does not see who wrote."""
        is_shown = last is not None and self.shows_application(last.namespace, last.application)
        return last if is_shown else None

    def select_summary(self, summary: FieldLineageSummary) -> FieldLineageSummary:
        """Return a summary with the datasets that the caller sees."""

        def select(datasets: list[DatasetFields] | None) -> list[DatasetFields] | None:
            return datasets and [each for each in datasets if self._shows(each.dataset)]

        return FieldLineageSummary(select(summary.incoming), select(summary.outgoing))

    def select_details(self, details: FieldLineageDetails) -> FieldLineageDetails:
        """Return the operations whose end points and programs the caller sees."""

        def select(ways: list[ProgramOperations] | None) -> list[ProgramOperations] | None:
            if ways is None:
                return None
            selected = (
                replace(way, programs=[each for each in way.programs if self._shows(each.program)])
                for way in ways
                if all(map(self._shows_operation, way.operations))
            )
            return [way for way in selected if way.programs]

        return FieldLineageDetails(select(details.incoming), select(details.outgoing))

    def select_relations(self, lineage: DatasetFieldLineage) -> DatasetFieldLineage:
        """Return the relations to the datasets that the caller sees."""
        return replace(
            lineage,
            incoming=[each for each in lineage.incoming if self._shows(each.entity_id)],
            outgoing=[each for each in lineage.outgoing if self._shows(each.entity_id)],
        )

    def _shows_operation(self, operation: OperationInfo) -> bool:
        ends = (operation.inputs.end_point, operation.outputs.end_point)
        return all(self._shows(DatasetId(each.namespace or "", each.name)) for each in ends if each)


ALL_VISIBLE: Final = VisibleLineage(lambda _: True)
"""For callers who see everything."""


def find_visible(authorizer: SwitchedAuthorizer) -> VisibleLineage:
    """Return what the caller sees."""
    who = current_principal()
    if authorizer.describe_view(who) is None:
        return ALL_VISIBLE
    return VisibleLineage(lambda entity: authorizer.is_visible(who, entity))
