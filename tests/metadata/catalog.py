"""What the tests of metadata write, read and find."""

from __future__ import annotations

from typing import Any

from localcdap.api.metadata import (
    Metadata,
    MetadataEntity,
    MetadataKind,
    MetadataName,
    MetadataScope,
    ScopedMetadata,
)
from localcdap.metadata.records import (
    DropMutation,
    MetadataChange,
    MetadataDirective,
    Mutation,
    NamedDirective,
    UpdateMutation,
)
from localcdap.metadata.search import ALL, SearchRequest, SearchResponse
from localcdap.metadata.store import MetadataStore
from localcdap.store.store import Store

USER, SYSTEM = MetadataScope.USER, MetadataScope.SYSTEM
TAG, PROPERTY = MetadataKind.TAG, MetadataKind.PROPERTY
EMPTY = ScopedMetadata()


class Catalog:
    """A store of metadata with a transaction for each call."""

    def __init__(self, store: Store) -> None:
        self.database = store
        self.metadata = MetadataStore(store)

    def apply(self, *mutations: Mutation) -> list[MetadataChange]:
        with self.database.transaction() as tx:
            return self.metadata.apply(tx, mutations)

    def read(self, entity: MetadataEntity) -> ScopedMetadata:
        with self.database.snapshot() as tx:
            return self.metadata.read(tx, entity)

    def search(self, query: str | None, **request: Any) -> SearchResponse:
        return self.metadata.search(SearchRequest(query, **request))

    def find(self, query: str, **request: Any) -> list[MetadataEntity]:
        """The entities that a search finds, in its order."""
        found = self.search(query, **{"limit": ALL} | request)
        return [each.entity for each in found.results]

    def clear(self) -> None:
        found = self.search("*", show_hidden=True, limit=ALL)
        self.apply(*(DropMutation(each.entity) for each in found.results))


def system(*tags: str, **properties: str) -> ScopedMetadata:
    return ScopedMetadata(system=Metadata.of(to_names(properties), tags))


def user(*tags: str, **properties: str) -> ScopedMetadata:
    return ScopedMetadata(user=Metadata.of(to_names(properties), tags))


def both(one: ScopedMetadata, other: ScopedMetadata) -> ScopedMetadata:
    """The SYSTEM metadata of one, and the USER metadata of the other."""
    return ScopedMetadata(other.user, one.system)


def to_names(properties: dict[str, str]) -> dict[str, str]:
    """Property names with hyphens, which keyword arguments cannot have."""
    return {key.replace("_", "-"): value for key, value in properties.items()}


def name(scope: MetadataScope, kind: MetadataKind, text: str) -> MetadataName:
    return MetadataName(scope, kind, text)


def keep(scope: MetadataScope, kind: MetadataKind, text: str) -> NamedDirective:
    return NamedDirective(MetadataName(scope, kind, text), MetadataDirective.KEEP)


def preserve(scope: MetadataScope, kind: MetadataKind, text: str) -> NamedDirective:
    return NamedDirective(MetadataName(scope, kind, text), MetadataDirective.PRESERVE)


def dataset(namespace: str, text: str) -> MetadataEntity:
    return MetadataEntity.of_dataset(text, namespace)


def app(namespace: str, text: str, version: str = "-SNAPSHOT") -> MetadataEntity:
    details = {"namespace": namespace, "application": text, "version": version}
    return MetadataEntity(details, "application")


def program(of: MetadataEntity, type: str, text: str) -> MetadataEntity:
    return MetadataEntity({**of.details, "type": type, "program": text})


def update(entity: MetadataEntity, metadata: ScopedMetadata) -> UpdateMutation:
    return UpdateMutation(entity, metadata)
