"""The store of metadata: mutations in the caller's transaction, reads and searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from localcdap.api.errors import SchemaError
from localcdap.api.metadata import MetadataEntity, ScopedMetadata
from localcdap.api.schema import Schema
from localcdap.metadata.entities import to_key, to_stored
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.metadata.postings import Visibility
from localcdap.metadata.records import (
    MetadataChange,
    Mutation,
    apply_mutation,
    delete_metadata,
    get_next_revision,
    read_metadata,
    read_namespace,
    write_metadata,
)
from localcdap.metadata.search import SearchRequest, SearchResponse, search_metadata
from localcdap.metadata.search_index import SearchIndex
from localcdap.metadata.terms import SCHEMA
from localcdap.store.store import Store, Transaction

ChangeListener = Callable[[Transaction, Sequence[MetadataChange]], None]


class MetadataStore:
    """The metadata of all entities (CDAP 6 ``MetadataStorage``). Threads may share it.

    :param on_change: called in the transaction with what changed, for the audit.
    """

    def __init__(self, store: Store, on_change: ChangeListener | None = None) -> None:
        self._store = store
        self._index: Final = SearchIndex(store)
        self._on_change = on_change

    def apply(self, tx: Transaction, mutations: Sequence[Mutation]) -> list[MetadataChange]:
        """Apply mutations in their order, as part of a transaction; return the effect of each.

        An entity may occur several times; each mutation sees the effect of those before.
        """
        before = read_metadata(tx, {to_key(each.entity) for each in mutations})
        known = {key: metadata for key, (_, metadata) in before.items()}
        entities: dict[str, MetadataEntity] = {}
        changes: list[MetadataChange] = []
        for mutation in mutations:
            key = to_key(mutation.entity)
            old = known.get(key, ScopedMetadata())
            known[key] = apply_mutation(mutation, old)
            entities[key] = to_stored(mutation.entity)
            changes.append(MetadataChange(mutation.entity, old, known[key]))
        self._write(tx, before, {key: (entities[key], known[key]) for key in entities})
        if self._on_change is not None:
            self._on_change(tx, [each for each in changes if each.before != each.after])
        return changes

    def read(self, tx: Transaction, entity: MetadataEntity) -> ScopedMetadata:
        """Return the metadata of an entity; empty when it has none."""
        key = to_key(entity)
        _, metadata = read_metadata(tx, [key]).get(key, (0, ScopedMetadata()))
        return metadata

    def read_all(self, tx: Transaction, entities: Sequence[MetadataEntity]) -> list[ScopedMetadata]:
        """Return the metadata of several entities."""
        keys = [to_key(entity) for entity in entities]
        found = read_metadata(tx, set(keys))
        return [found[key][1] if key in found else ScopedMetadata() for key in keys]

    def read_namespace(
        self, tx: Transaction, namespace: str
    ) -> list[tuple[MetadataEntity, ScopedMetadata]]:
        """Return the entities of a namespace that have metadata, by type and name."""
        return read_namespace(tx, namespace)

    def list_fields(self, dataset: DatasetId) -> Sequence[str]:
        """Return the fields of a dataset, from its SYSTEM property ``schema``; none when it has none."""
        with self._store.snapshot() as tx:
            found = self.read(tx, dataset.to_entity())
        try:
            return Schema.parse_record(found.system.properties.get(SCHEMA, "")).field_names
        except SchemaError:
            return ()

    def search(
        self, request: SearchRequest, visibility: Visibility | None = None
    ) -> SearchResponse:
        """Return a page of what a search finds. The first search reads all terms.

        :param visibility: what the caller sees; None: everything.
        :raises BadRequestError: when the request is wrong.
        """
        with self._store.snapshot() as tx:
            return search_metadata(tx, self._index, request, visibility)

    def remove_namespace(self, tx: Transaction, namespace: str) -> None:
        """Remove the metadata of a namespace and of all entities in it."""
        ids = [
            id for (id,) in tx.execute("SELECT id FROM metadata WHERE namespace = ?", (namespace,))
        ]
        if ids:
            tx.execute("DELETE FROM metadata WHERE namespace = ?", (namespace,))
            revision = get_next_revision(tx)
            tx.on_commit(lambda: self._index.note([], ids, revision))

    def _write(
        self,
        tx: Transaction,
        before: dict[str, tuple[int, ScopedMetadata]],
        after: dict[str, tuple[MetadataEntity, ScopedMetadata]],
    ) -> None:
        """Write what differs."""
        empty = ScopedMetadata()
        changed = {
            key: (before.get(key, (None, empty))[0], entity, metadata)
            for key, (entity, metadata) in after.items()
            if metadata != before.get(key, (None, empty))[1] and not metadata.is_empty()
        }
        gone = [key for key in before if key in after and after[key][1].is_empty()]
        rows = write_metadata(tx, changed)
        removed = [before[key][0] for key in gone]
        revision = delete_metadata(tx, gone) if gone else 0
        if rows or removed:
            tx.on_commit(lambda: self._index.note(rows, removed, revision))
