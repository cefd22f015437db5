"""The rows of the table ``metadata``: one for each entity that has tags or properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.metadata import MetadataEntity, MetadataScope, ScopedMetadata
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
