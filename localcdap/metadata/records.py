"""The rows of the table ``metadata``, one for each entity that has tags or properties, and their mutations.

The effect of a mutation is that of CDAP 6 ``MetadataMutation`` and ``DatasetMetadataStorage``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from localcdap.api.metadata import (
    Metadata,
    MetadataEntity,
    MetadataKind,
    MetadataName,
    MetadataScope,
    ScopedMetadata,
)
from localcdap.decoders import decode_json
from localcdap.metadata.entities import from_key, to_key
from localcdap.metadata.terms import Term, list_terms
from localcdap.store.store import Transaction

CREATION_TIME: Final = "creation-time"
ENTITY_NAME: Final = "entity-name"


class MetadataRow(msgspec.Struct, frozen=True):
    """What is stored of an entity with metadata, and what a search looks at."""

    key: str
    id: int
    revision: int
    entity: MetadataEntity
    metadata: ScopedMetadata
    terms: frozenset[Term]

    @property
    def sort_name(self) -> str:
        """The name by which searches sort: the SYSTEM property ``entity-name``, else that of the entity."""
        return self.metadata.system.properties.get(ENTITY_NAME, self.entity.name).lower()

    @property
    def hidden(self) -> bool:
        """Whether searches leave the entity out unless they are asked for hidden ones."""
        return self.entity.name.startswith("_")

    @property
    def created(self) -> int | None:
        """Milliseconds since 1970; None when it is not known."""
        text = self.metadata.system.properties.get(CREATION_TIME, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def read_metadata(tx: Transaction, keys: Iterable[str]) -> dict[str, tuple[int, ScopedMetadata]]:
    """Return the id and metadata of entities by their keys; entities without metadata are missing."""
    wanted = list(keys)
    if not wanted:
        return {}
    # The index of the table serves single keys only.
    condition = "entity = ?" if len(wanted) == 1 else "list_contains(?::VARCHAR[], entity)"
    rows = tx.execute(
        f"SELECT entity, id, metadata FROM metadata WHERE {condition}",  # noqa: S608
        (wanted[0] if len(wanted) == 1 else wanted,),
    )
    return {key: (id, decode_json(text, ScopedMetadata)) for key, id, text in rows}


def read_entities(
    tx: Transaction, ids: Sequence[int]
) -> Mapping[int, tuple[MetadataEntity, ScopedMetadata]]:
    """Return entities and their metadata by the ids of their rows; removed ones are missing."""
    rows = tx.execute(
        "SELECT id, entity, metadata FROM metadata WHERE list_contains(?::BIGINT[], id)",
        (list(ids),),
    )
    return {id: (from_key(key), decode_json(text, ScopedMetadata)) for id, key, text in rows}


def read_namespace(tx: Transaction, namespace: str) -> list[tuple[MetadataEntity, ScopedMetadata]]:
    """Return the entities of a namespace and their metadata, by type and name."""
    rows = tx.execute(
        "SELECT entity, metadata FROM metadata WHERE namespace = ? ORDER BY entity", (namespace,)
    )
    return [(from_key(key), decode_json(text, ScopedMetadata)) for key, text in rows]


def list_inside(tx: Transaction, entity: MetadataEntity, type: str) -> list[MetadataEntity]:
    """Return the entities with metadata of a custom type whose pairs begin with those of another entity."""
    prefix = to_key(MetadataEntity({**entity.details, type: ""}, type)).rpartition(f"\x1f{type}")[0]
    rows = tx.execute(
        "SELECT entity FROM metadata WHERE entity > ? AND entity < ? ORDER BY entity",
        (f"{prefix}\x1f", f"{prefix}\x20"),
    )
    return [from_key(key) for (key,) in rows]


def write_metadata(
    tx: Transaction,
    changed: Mapping[str, tuple[int | None, MetadataEntity, ScopedMetadata]],
) -> list[MetadataRow]:
    """Write the metadata of entities by their keys and return the rows; an entity with a row has its id."""
    if not changed:
        return []
    count = len(changed)
    revisions = [row[0] for row in tx.execute(_NEXT_REVISIONS, (count,))]
    new = iter(
        [row[0] for row in tx.execute(_NEXT_IDS, (sum(not each[0] for each in changed.values()),))]
    )
    rows = [
        MetadataRow(
            key,
            id or next(new),
            revision,
            entity,
            metadata,
            frozenset(list_terms(entity, metadata)),
        )
        for revision, (key, (id, entity, metadata)) in zip(
            sorted(revisions), changed.items(), strict=True
        )
    ]
    columns = zip(*(to_values(row) for row in rows), strict=True)
    tx.execute(_UPSERT, [list(column) for column in columns])
    return rows


def delete_metadata(tx: Transaction, keys: Sequence[str]) -> int:
    """Delete the rows of entities; return the revision of the deletion."""
    tx.execute("DELETE FROM metadata WHERE list_contains(?::VARCHAR[], entity)", (list(keys),))
    return get_next_revision(tx)


def get_next_revision(tx: Transaction) -> int:
    """Return a number that is larger than the revisions of all rows."""
    return int(tx.execute(_NEXT_REVISIONS, (1,))[0][0])


def encode_terms(terms: Iterable[Term]) -> str:
    """Return terms as the text of the column ``terms``."""
    return "\n".join(
        sorted(
            f"{'S' if scope is MetadataScope.SYSTEM else 'U'}{' '.join(key.split())}\t{token}"
            for scope, key, token in terms
        )
    )


def to_values(row: MetadataRow) -> Sequence[Any]:
    """Return the values of the columns of a row."""
    return (
        row.key,
        row.id,
        row.revision,
        row.entity.namespace,
        row.entity.type,
        row.sort_name,
        row.hidden,
        row.created,
        msgspec.json.encode(row.metadata).decode(),
        encode_terms(row.terms),
    )


_NEXT_REVISIONS: Final = "SELECT nextval('metadata_revisions') FROM range(?)"
_NEXT_IDS: Final = "SELECT nextval('metadata_ids') FROM range(?)"
_UPSERT: Final = (
    "INSERT INTO metadata SELECT unnest(?::VARCHAR[]), unnest(?::BIGINT[]), unnest(?::BIGINT[]), "
    "unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::BOOLEAN[]), "
    "unnest(?::BIGINT[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]) "
    "ON CONFLICT (entity) DO UPDATE SET revision = excluded.revision, sort_name = excluded.sort_name, "
    "created = excluded.created, metadata = excluded.metadata, terms = excluded.terms"
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
