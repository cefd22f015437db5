"""Mutations of metadata and their effect (CDAP 6 ``MetadataMutation`` and ``DatasetMetadataStorage``).

Everything here is pure: a mutation applied to the metadata of an entity gives its new metadata.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from localcdap.api.metadata import (
    Metadata,
    MetadataEntity,
    MetadataKind,
    MetadataName,
    MetadataScope,
    ScopedMetadata,
)


class MetadataDirective(enum.StrEnum):
    """What a :class:`CreateMutation` does with metadata that the entity has already."""

    KEEP = "KEEP"
    """It stays, unless the mutation brings a new value."""
    PRESERVE = "PRESERVE"
    """It stays, even against a new value."""


class NamedDirective(msgspec.Struct, frozen=True):
    """The directive for one tag or property."""

    name: MetadataName
    directive: MetadataDirective


class CreateMutation(msgspec.Struct, tag="CREATE", tag_field="type", frozen=True):
    """Replaces the metadata of each scope that the new metadata has; other scopes stay."""

    entity: MetadataEntity
    metadata: ScopedMetadata
    directives: list[NamedDirective] = []


class UpdateMutation(msgspec.Struct, tag="UPDATE", tag_field="type", frozen=True):
    """Adds tags, and sets properties; nothing is removed."""

    entity: MetadataEntity
    metadata: ScopedMetadata


class RemoveMutation(msgspec.Struct, tag="REMOVE", tag_field="type", frozen=True):
    """Removes the metadata of a scope, of a kind or with given names; what is absent makes no difference."""

    entity: MetadataEntity
    scope: MetadataScope | None = None
    """Only this scope; None: both."""
    kind: MetadataKind | None = None
    """Only this kind; None: both."""
    names: list[MetadataName] | None = None
    """Only these names; None: all."""


class DropMutation(msgspec.Struct, tag="DROP", tag_field="type", frozen=True):
    """Removes all metadata of an entity."""

    entity: MetadataEntity


Mutation: TypeAlias = CreateMutation | UpdateMutation | RemoveMutation | DropMutation


class MetadataChange(msgspec.Struct, frozen=True):
    """The effect of a mutation: the metadata of the entity before and after it, which may be equal."""

    entity: MetadataEntity
    before: ScopedMetadata
    after: ScopedMetadata


STANDARD_DIRECTIVES = [
    NamedDirective(
        MetadataName(MetadataScope.SYSTEM, MetadataKind.PROPERTY, "creation-time"),
        MetadataDirective.PRESERVE,
    ),
    NamedDirective(
        MetadataName(MetadataScope.SYSTEM, MetadataKind.PROPERTY, "description"),
        MetadataDirective.KEEP,
    ),
]
"""The directives with which the platform creates the SYSTEM metadata of its entities."""


def apply_mutation(mutation: Mutation, before: ScopedMetadata) -> ScopedMetadata:
    """Return the metadata of an entity after a mutation."""
    if isinstance(mutation, DropMutation):
        return ScopedMetadata()
    if isinstance(mutation, UpdateMutation):
        return _map_scopes(lambda scope: _merge(before.get(scope), mutation.metadata.get(scope)))
    if isinstance(mutation, RemoveMutation):
        return _map_scopes(lambda scope: _remove(mutation, scope, before.get(scope)))
    return _map_scopes(lambda scope: _create(mutation, scope, before.get(scope)))


def select(
    metadata: ScopedMetadata,
    scope: MetadataScope | None = None,
    kind: MetadataKind | None = None,
    names: Iterable[MetadataName] | None = None,
) -> ScopedMetadata:
    """Return the metadata of a scope, of a kind or with given names (CDAP 6 ``Read``)."""
    wanted = None if names is None else set(names)

    def keep(which: MetadataScope) -> Metadata:
        if scope not in (None, which):
            return Metadata()
        return _filter(
            metadata.get(which),
            lambda of, name: (
                kind in (None, of) and (wanted is None or MetadataName(which, of, name) in wanted)
            ),
        )

    return _map_scopes(keep)


def _create(mutation: CreateMutation, scope: MetadataScope, old: Metadata) -> Metadata:
    new = mutation.metadata.get(scope)
    if new.is_empty():
        return old
    directives = {
        (each.name.kind, each.name.name): each.directive
        for each in mutation.directives
        if each.name.scope is scope
    }
    kept = _filter(old, lambda kind, name: (kind, name) in directives)
    preserved = _filter(
        old, lambda kind, name: directives.get((kind, name)) is MetadataDirective.PRESERVE
    )
    return _merge(_merge(kept, new), preserved)


def _remove(mutation: RemoveMutation, scope: MetadataScope, old: Metadata) -> Metadata:
    if mutation.scope not in (None, scope):
        return old
    names = None if mutation.names is None else set(mutation.names)
    return _filter(
        old,
        lambda kind, name: (
            mutation.kind not in (None, kind)
            or not (names is None or MetadataName(scope, kind, name) in names)
        ),
    )


def _merge(old: Metadata, new: Metadata) -> Metadata:
    return Metadata.of(old.properties | new.properties, [*old.tags, *new.tags])


def _filter(metadata: Metadata, keeps: Callable[[MetadataKind, str], bool]) -> Metadata:
    return Metadata(
        {
            name: value
            for name, value in metadata.properties.items()
            if keeps(MetadataKind.PROPERTY, name)
        },
        [tag for tag in metadata.tags if keeps(MetadataKind.TAG, tag)],
    )


def _map_scopes(change: Callable[[MetadataScope], Metadata]) -> ScopedMetadata:
    return ScopedMetadata(change(MetadataScope.USER), change(MetadataScope.SYSTEM))
