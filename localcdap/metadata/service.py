"""The service ``metadata``: what users read, change and search of entities' tags and properties.

Whether an entity of a CDAP type exists is asked where entities of its type are kept. For version control, the
tags and properties that users gave to the entities of a namespace are written to a file.

>>> from localcdap.api.metadata import MetadataEntity
>>> text = write_user_metadata([UserMetadata(MetadataEntity.of_dataset("d", "n"), tags=["pii"])], "n")
>>> print(text, end="")
{
  "entities": [
    {
      "entity": "datasets/d",
      "tags": [
        "pii"
      ]
    }
  ]
}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from localcdap.api import metadata as rules
from localcdap.api.app.events import MetadataEmitted
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.metadata import (
    APPLICATION,
    ARTIFACT,
    DATASET,
    NAMESPACE,
    PROGRAM,
    PROGRAM_RUN,
    SCHEDULE,
    VERSION,
    Metadata,
    MetadataEntity,
    MetadataKind,
    MetadataName,
    MetadataScope,
    ScopedMetadata,
)
from localcdap.api.security import Permission, Principal
from localcdap.artifacts.service import ArtifactService
from localcdap.decoders import decode_json
from localcdap.metadata.entities import format_entity, parse_entity
from localcdap.metadata.postings import Visibility
from localcdap.metadata.records import (
    MetadataChange,
    Mutation,
    RemoveMutation,
    UpdateMutation,
    select,
)
from localcdap.metadata.search import SearchRequest, SearchResponse
from localcdap.metadata.store import MetadataStore
from localcdap.metadata.system_metadata import is_untyped_plugin, read_untyped_plugin
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.library import application_records
from localcdap.security.access import (
    OF_INSTANCE,
    SwitchedAuthorizer,
    Target,
    of_namespace,
    open_to_all,
    requires,
)
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.security.principals import current_principal
from localcdap.store import table_catalog
from localcdap.store.store import Store, Transaction
from localcdap.text import format_available

EntityCheck: TypeAlias = Callable[[Transaction, MetadataEntity], object]
"""Raises NotFoundError, with the nearest names, when there is no such entity."""


def create_checks(artifacts: ArtifactService) -> Mapping[str, EntityCheck]:
    """Return how an entity is found, by type. Entities of other types need not exist."""

    def require_artifact(tx: Transaction, entity: MetadataEntity) -> None:
        del tx
        wanted = f"{entity.name} {entity.details[VERSION]}"
        known = {f"{each.name} {each.version}" for each in artifacts.list_artifacts(_get(entity))}
        if wanted not in known:
            raise NotFoundError(
                f"There is no artifact '{wanted}' in namespace '{entity.namespace}'; available: "
                f"{format_available(wanted, sorted(known))}."
            )

    return {ARTIFACT: require_artifact, DATASET: _require_table} | dict.fromkeys(
        _IN_APPLICATIONS, _require_application
    )


def _require_table(tx: Transaction, entity: MetadataEntity) -> None:
    table_catalog.read_schema_and_key(tx, _get(entity), entity.name)


def _require_application(tx: Transaction, entity: MetadataEntity) -> None:
    application_records.find(tx, _get(entity), entity.details[APPLICATION])


def _get(entity: MetadataEntity) -> str:
    return entity.namespace or ""


_IN_APPLICATIONS: Final = (APPLICATION, PROGRAM, SCHEDULE, PROGRAM_RUN)


_OF_ENTITY: Final = Target("{entity}", lambda _, given: [given["entity"]])
_OF_ENTITIES: Final = Target(
    "the entities of {metadata}", lambda _, given: [each.entity for each in given["metadata"]]
)


class MetadataService:
    """The metadata of entities. Threads may share it.

    :param authorizer: decides what searches show, and what runs may emit.
    :param checks: how an entity of a CDAP type is found, by type. Custom entities need not exist.
    :param max_chars: the greatest length of a key, a value or a tag.
    """

    def __init__(
        self,
        store: Store,
        metadata: MetadataStore,
        namespaces: NamespaceService,
        checks: Mapping[str, EntityCheck],
        authorizer: SwitchedAuthorizer = ALLOW_ALL,
        max_chars: int = rules.MAX_CHARS,
    ) -> None:
        self._store = store
        self._metadata = metadata
        self._namespaces = namespaces
        self._checks = checks
        self._authorizer = authorizer
        self._max_chars = max_chars
        namespaces.register_resource(
            NamespaceResource("metadata", remove=metadata.remove_namespace)
        )

    @requires(_OF_ENTITY)
    def get(
        self,
        entity: MetadataEntity,
        scope: MetadataScope | None = None,
        kind: MetadataKind | None = None,
    ) -> ScopedMetadata:
        """Return the metadata of an entity; empty when it has none.

        :param entity: a plugin without its type has the metadata of the plugins of all types.
        :param scope: only this scope.
        :param kind: only tags, or only properties.
        :raises NotFoundError: when there is no such entity.
        """
        with self._store.snapshot() as tx:
            if is_untyped_plugin(entity):
                found = read_untyped_plugin(tx, self._metadata, entity)
            else:
                found = self._metadata.read(tx, entity)
            if found.is_empty():
                self._require(tx, entity)
        return select(found, scope, kind)

    @requires(_OF_ENTITY, Permission.WRITE)
    def add(
        self,
        entity: MetadataEntity,
        properties: dict[str, str] | None = None,
        tags: list[str] | None = None,
    ) -> MetadataChange:
        """Set properties of an entity and add tags, in the scope USER.

        :raises NotFoundError: when there is no such entity.
        :raises BadRequestError: when keys, values or tags are illegal; with all problems.
        """
        added = Metadata.of(properties, tags or ())
        rules.require_valid(added, self._max_chars)
        return self._apply(UpdateMutation(entity, ScopedMetadata(user=added)))

    @requires(_OF_ENTITY, Permission.WRITE)
    def remove(
        self,
        entity: MetadataEntity,
        properties: list[str] | None = None,
        tags: list[str] | None = None,
    ) -> MetadataChange:
        """Remove properties and tags of an entity in the scope USER; what is absent makes no difference.

        :raises NotFoundError: when there is no such entity.
        """
        names = [
            *(_to_name(MetadataKind.PROPERTY, each) for each in properties or ()),
            *(_to_name(MetadataKind.TAG, each) for each in tags or ()),
        ]
        return self._apply(RemoveMutation(entity, names=names))

    @requires(_OF_ENTITY, Permission.WRITE)
    def remove_all(
        self, entity: MetadataEntity, kind: MetadataKind | None = None
    ) -> MetadataChange:
        """Remove all properties and tags of an entity in the scope USER, or all of one kind.

        :raises NotFoundError: when there is no such entity.
        """
        return self._apply(RemoveMutation(entity, MetadataScope.USER, kind))

    @open_to_all("it shows what is visible to the caller")
    def search(self, request: SearchRequest) -> SearchResponse:
        """Return a page of the entities whose metadata matches a query, and which the caller sees.

        :raises BadRequestError: when the request is wrong.
        """
        who = current_principal()
        view = self._authorizer.describe_view(who)
        if view is None:
            return self._metadata.search(request)
        visibility = Visibility(view, lambda entity: self._authorizer.is_visible(who, entity))
        return self._metadata.search(request, visibility)

    @requires(of_namespace(), Permission.READ)
    def export(self, namespace: str) -> list[UserMetadata]:
        """Return the USER metadata of all entities of a namespace, for a file.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            found = self._metadata.read_namespace(tx, namespace)
        return [
            UserMetadata(entity, metadata.user.properties, metadata.user.tags)
            for entity, metadata in found
            if not metadata.user.is_empty()
        ]

    @requires(_OF_ENTITIES, Permission.WRITE)
    def import_all(self, metadata: list[UserMetadata], replace: bool = False) -> int:
        """Add the USER metadata of a file in one transaction; return how many entities changed.

        :param replace: remove what these entities have besides.
        :raises NotFoundError: when an entity does not exist; nothing was changed.
        :raises BadRequestError: when metadata is illegal; nothing was changed.
        """
        mutations: list[Mutation] = []
        for each in metadata:
            added = Metadata.of(each.properties, each.tags)
            rules.require_valid(added, self._max_chars)
            if replace:
                mutations.append(RemoveMutation(each.entity, MetadataScope.USER))
            mutations.append(UpdateMutation(each.entity, ScopedMetadata(user=added)))
        with self._store.transaction() as tx:
            for each in metadata:
                self._require(tx, each.entity)
            changes = self._metadata.apply(tx, mutations)
        before = {change.entity: change.before for change in reversed(changes)}
        after = {change.entity: change.after for change in changes}
        return sum(before[entity] != after[entity] for entity in after)

    def check_emitted(
        self, tx: Transaction, mutation: Mutation, user: str, namespaces: set[str]
    ) -> None:
        """Check what a run of a user emitted.

        The entity need not exist (yet): a table may be written by the same run.

        :param user: empty for localcdap itself.
        :param namespaces: those that exist for this transaction, as far as it has looked; more are added.
        :raises NotFoundError: when its namespace does not exist (any more).
        :raises UnauthorizedError: when the user may not write the metadata of the entity (any more).
        :raises BadRequestError: when metadata is illegal.
        """
        if user:
            self._authorizer.enforce(Principal(user), mutation.entity, [Permission.WRITE])
        if isinstance(mutation, UpdateMutation):
            rules.require_valid(mutation.metadata.user, self._max_chars)
        namespace = mutation.entity.namespace
        if namespace is not None and namespace not in namespaces:
            self._namespaces.require_in_transaction(tx, namespace)
            namespaces.add(namespace)

    def apply_emitted(self, tx: Transaction, mutations: Sequence[Mutation]) -> None:
        """Apply what a run emitted and :meth:`check_emitted` has accepted, as part of the transaction."""
        self._metadata.apply(tx, mutations)

    @requires(OF_INSTANCE, Permission.READ)
    def list_set_aside(self) -> list[SetAsideMetadata]:
        """Return emitted metadata that could not be stored, the oldest first."""
        rows = self._store.read("SELECT event, error FROM metadata_set_aside ORDER BY message")
        found = ((decode_json(event, MetadataEmitted), error) for event, error in rows)
        return [
            SetAsideMetadata(event.run, event.stage, event.operation.entity, error)
            for event, error in found
        ]

    def _apply(self, mutation: Mutation) -> MetadataChange:
        with self._store.transaction() as tx:
            self._require(tx, mutation.entity)
            return self._metadata.apply(tx, [mutation])[0]

    def _require(self, tx: Transaction, entity: MetadataEntity) -> None:
        """Check that an entity exists; one with metadata does, such as a source that a run has read."""
        if entity.namespace is not None:
            self._namespaces.require_in_transaction(tx, entity.namespace)
        check = self._checks.get(entity.type)
        if check is None or entity.type == NAMESPACE:
            return
        try:
            check(tx, entity)
        except NotFoundError:
            if self._metadata.read(tx, entity).is_empty():
                raise


class UserMetadata(msgspec.Struct, omit_defaults=True):
    """The USER metadata of an entity, as files have it."""

    entity: MetadataEntity
    properties: dict[str, str] = {}
    tags: list[str] = []


class SetAsideMetadata(msgspec.Struct):
    """Metadata that a run emitted and that could not be stored."""

    run: MetadataEntity
    stage: str
    entity: MetadataEntity
    error: str


def _to_name(kind: MetadataKind, name: str) -> MetadataName:
    return MetadataName(MetadataScope.USER, kind, name)


class _FileEntry(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """An entity in a file."""

    entity: str
    """Its path, without the namespace of the file."""
    type: str | None = None
    """The key that is its type, when that is not what the path says."""
    properties: dict[str, str] = {}
    tags: list[str] = []


class _MetadataFile(msgspec.Struct, forbid_unknown_fields=True):
    entities: list[_FileEntry]


def write_user_metadata(metadata: Sequence[UserMetadata], namespace: str) -> str:
    """Return the text of a file, sorted by entities, keys and tags."""
    entries = []
    for each in metadata:
        path = format_entity(each.entity, relative_to=namespace)
        is_plain = parse_entity(path, namespace) == each.entity
        entries.append(
            _FileEntry(
                path,
                None if is_plain else each.entity.type,
                dict(sorted(each.properties.items())),
                sorted(each.tags),
            )
        )
    entries.sort(key=lambda entry: (entry.entity, entry.type or ""))
    text = msgspec.json.format(msgspec.json.encode(_MetadataFile(entries)), indent=2)
    return f"{text.decode()}\n"


def read_user_metadata(text: str, namespace: str) -> list[UserMetadata]:
    """Return the metadata of a file.

    :raises BadRequestError: when the text is not such a file; the message says where.
    """
    try:
        entries = decode_json(text, _MetadataFile).entities
    except msgspec.MsgspecError as error:
        raise BadRequestError(
            f"The text is not a file of metadata: {error}.",
            "Write one with: localcdap metadata export FILE",
        ) from None
    return [
        UserMetadata(parse_entity(each.entity, namespace, each.type), each.properties, each.tags)
        for each in entries
    ]
