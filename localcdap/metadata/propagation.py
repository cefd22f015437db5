"""USER metadata that goes along with the records of a run, from its sources to its sinks.

The document "Metadata From Programs and Pipelines" leaves it to the future that a pipeline does so by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from localcdap.api.errors import UnauthorizedError
from localcdap.api.lineage import EdgeType
from localcdap.api.metadata import Metadata, MetadataEntity, ScopedMetadata
from localcdap.api.security import Authorizer, Permission
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.metadata.mutations import UpdateMutation
from localcdap.metadata.store import MetadataStore
from localcdap.security.principals import current_principal
from localcdap.store.store import Transaction

DatasetPairs = Collection[tuple[DatasetId, DatasetId]]
"""Pairs of a source and a sink."""


class MetadataPropagation:
    """Adds the USER metadata of sources to sinks, and of their fields to the fields that are made of them.

    Nothing is removed, and what a target has wins. Of several sources the first in alphabetical order wins.

    A field whose original values cannot be seen any more gets nothing of them: the tag ``PII`` must not come
    back to a column that was masked because of it. The original has no such feature; there, programs emit
    what they want to carry along.

    :param authorizer: decides what the principal who acts may see and change.
    """

    def __init__(self, metadata: MetadataStore, authorizer: Authorizer) -> None:
        self._metadata = metadata
        self._authorizer = authorizer

    def propagate(
        self, tx: Transaction, pairs: DatasetPairs, edges: Iterable[ColumnEdge]
    ) -> list[str]:
        """Add metadata as part of a transaction; return what the principal may not see or change, in words.

        :param edges: of the pipeline; those between fields of a pair count that are direct and certain, and
            do not mask.
        """
        problems: list[str] = []
        sources_by_target: dict[MetadataEntity, list[MetadataEntity]] = {}
        for source, target in sorted(_list_entities(pairs, edges), key=str):
            sources_by_target.setdefault(target, []).append(source)
        for target, sources in sources_by_target.items():
            try:
                self._add(tx, target, sources)
            except UnauthorizedError as error:
                problems.append(f"Metadata does not go to {target.describe()}: {error.message}")
        return problems

    def _add(
        self, tx: Transaction, target: MetadataEntity, sources: Collection[MetadataEntity]
    ) -> None:
        """Add the metadata of sources to a target.

        :raises UnauthorizedError: when there is some, and the principal may not see or change it.
        """
        principal = current_principal()
        found = Metadata()
        for source in sources:
            user = self._metadata.read(tx, source).user
            if user.is_empty():
                continue
            self._authorizer.enforce(principal, source, [])
            found = _merge(user, found)
        held = self._metadata.read(tx, target).user
        if _merge(found, held) != held:
            self._authorizer.enforce(principal, target, [Permission.WRITE])
            added = ScopedMetadata(user=_merge(found, held))
            self._metadata.apply(tx, [UpdateMutation(target, added)])


def _merge(more: Metadata, held: Metadata) -> Metadata:
    """Return metadata with what it lacks of other metadata."""
    return Metadata.of(more.properties | held.properties, [*held.tags, *more.tags])


def _list_entities(
    pairs: DatasetPairs, edges: Iterable[ColumnEdge]
) -> Iterator[tuple[MetadataEntity, MetadataEntity]]:
    """Yield sources and targets, datasets and fields."""
    for source, target in pairs:
        yield source.to_entity(), target.to_entity()
    for edge in edges:
        influence = edge.influence
        is_direct = influence.kind.type is EdgeType.DIRECT and not influence.assumed
        is_carried = is_direct and not influence.masking
        if is_carried and (edge.source.dataset, edge.target.dataset) in pairs:
            yield _to_entity(edge.source), _to_entity(edge.target)


def _to_entity(field: DatasetField) -> MetadataEntity:
    return field.dataset.to_entity().append("field", field.field or "")
