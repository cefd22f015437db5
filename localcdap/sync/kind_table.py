"""The table of the kinds of entities that are synchronized. A new kind is a class, and a line here.

Schedules of pipelines as files.

The file has the keys of CDAP's ``ScheduleDetail``, without those that each instance determines for itself:
its namespace, version, status and times.

Connections, preferences and metadata as files.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import msgspec

from localcdap.api.app.connections import Connection, to_connection_id
from localcdap.api.entity_paths import join_path
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.metadata import NAMESPACE, PROGRAM_RUN, MetadataEntity
from localcdap.artifacts.service import ArtifactService
from localcdap.decoders import convert
from localcdap.metadata.entities import parse_entity
from localcdap.metadata.service import MetadataService, UserMetadata
from localcdap.namespaces.connections import ConnectionService, read_connection
from localcdap.namespaces.preferences import PreferenceLevel, PreferenceService
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.library.drafts import DraftService
from localcdap.schedules.model import (
    DAY_MS,
    Constraint,
    Schedule,
    ScheduleProgram,
    ScheduleRequest,
    Trigger,
)
from localcdap.schedules.rules import check_definition
from localcdap.schedules.service import ScheduleService
from localcdap.sync.kinds import (
    EntityKind,
    HeldBackError,
    PlainSecret,
    ReadEntity,
    RefusedEntityError,
)
from localcdap.sync.merge import Lists
from localcdap.sync.pipelines import DraftEntities, PipelineEntities
from localcdap.sync.secrets import SecretFinder, find_in_values

_OF_INSTANCE: Final = (
    "connectionId",
    "createdTimeMillis",
    "updatedTimeMillis",
    "preConfigured",
    "isDefault",
)
"""The keys of a connection that each instance determines for itself."""


class ConnectionEntities(EntityKind):
    """Named connections. Their secret values are secure keys, of which files have the names only."""

    name = "connections"
    noun = "connection"
    is_transactional = False

    def __init__(self, connections: ConnectionService, secrets: SecretFinder) -> None:
        self._connections = connections
        self._secrets = secrets

    def list_documents(self, namespace: str) -> dict[str, Any]:
        found = self._connections.list_connections(namespace)
        return {to_connection_id(each.name): _to_document(each) for each in found}

    def read(self, namespace: str, document: dict[str, Any], path: str) -> ReadEntity:
        del namespace, path
        connection = read_connection(document)
        if not connection.name.strip() or not connection.connection_type.strip():
            raise BadRequestError("A connection needs a name and a type.", "Add them to the file.")
        return ReadEntity(to_connection_id(connection.name), _to_document(connection))

    def write(self, namespace: str, key: str, document: Any) -> None:
        self._connections.load(namespace, document)

    def prepare_write(
        self, namespace: str, key: str, document: Any, *, fix: bool
    ) -> Callable[[], None]:
        held = self.list_documents(namespace).get(key)
        if held is not None and held["name"] != document["name"]:
            raise RefusedEntityError(
                f"the instance calls it '{held['name']}'; both names have the id '{key}'.",
                "Use the same name on both sides.",
            )
        return super().prepare_write(namespace, key, document, fix=fix)

    def delete(self, namespace: str, key: str) -> None:
        self._connections.delete(namespace, key)

    def get_path_parts(self, key: str, document: Any) -> Sequence[str]:
        return [document["name"]]

    def get_title(self, key: str, document: Any) -> str:
        return str(document["name"])

    def find_secrets(self, namespace: str, document: Any) -> list[PlainSecret]:
        plugin = document["plugin"]
        where = f"connection '{document['name']}'"
        return self._secrets.find_in_plugin(namespace, plugin, ("plugin",), where)


def _to_document(connection: Connection) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(connection)
    for key in _OF_INSTANCE:
        del document[key]
    document["plugin"] = {
        key: value for key, value in document["plugin"].items() if value is not None
    }
    return document


class _PreferencesFile(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The form of a file of preferences."""

    preferences: dict[str, str]
    application: str | None = None
    program: str | None = None


class PreferenceEntities(EntityKind):
    """The preferences of a namespace, and those of its applications and programs."""

    name = "preferences"
    noun = "preferences of"

    def __init__(self, preferences: PreferenceService) -> None:
        self._preferences = preferences

    def list_documents(self, namespace: str) -> dict[str, Any]:
        found = {}
        for each in self._preferences.list_levels(namespace):
            level = each.level
            file = _PreferencesFile(each.preferences, level.application, level.program)
            found[_to_level_key(file)] = msgspec.to_builtins(file)
        return found

    def read(self, namespace: str, document: dict[str, Any], path: str) -> ReadEntity:
        file = _convert(document, _PreferencesFile)
        if file.program is not None and file.application is None:
            raise BadRequestError("A program needs an application.", "Add 'application'.")
        if file.program is not None and "/" not in file.program:
            raise BadRequestError(
                f"'{file.program}' is not a program.",
                "Write TYPE/NAME, such as workflows/DataPipelineWorkflow.",
            )
        if "" in file.preferences:
            raise BadRequestError("A preference needs a name.", "Remove the one without a name.")
        return ReadEntity(_to_level_key(file), msgspec.to_builtins(file))

    def write(self, namespace: str, key: str, document: Any) -> None:
        self._preferences.replace(_to_level(namespace, document), document["preferences"])

    def delete(self, namespace: str, key: str) -> None:
        _, application, program = (*key.split("/", 2), None, None)[:3]
        document = {"application": application, "program": program}
        self._preferences.delete(_to_level(namespace, document))

    def get_path_parts(self, key: str, document: Any) -> Sequence[str]:
        return key.split("/")

    def find_secrets(self, namespace: str, document: Any) -> list[PlainSecret]:
        return find_in_values(document["preferences"], ("preferences",), "preference")


def _to_level(namespace: str, document: dict[str, Any]) -> PreferenceLevel:
    return PreferenceLevel(namespace, document.get("application"), document.get("program"))


def _to_level_key(file: _PreferencesFile) -> str:
    """Return ``namespace``, ``apps/orders`` or ``apps/orders/workflows/DataPipelineWorkflow``."""
    if file.application is None:
        return "namespace"
    return "/".join(filter(None, ["apps", file.application, file.program]))


class _MetadataFile(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The form of a file of metadata."""

    entity: str
    """Its path in the namespace, such as ``datasets/orders/field/email``; empty for the namespace."""
    type: str | None = None
    """The type of a custom entity where it is not the last key."""
    properties: dict[str, str] = {}
    tags: list[str] = []


def _get_tag(element: Any) -> str | None:
    return element if isinstance(element, str) else None


class MetadataEntities(EntityKind):
    """The tags and properties that users gave to entities (scope USER); those of runs are left out."""

    name = "metadata"
    noun = "metadata of"
    lists: ClassVar[Lists] = {("tags",): _get_tag}

    def __init__(self, metadata: MetadataService) -> None:
        self._metadata = metadata

    def list_documents(self, namespace: str) -> dict[str, Any]:
        found = {}
        for each in self._metadata.export(namespace):
            if each.entity.type != PROGRAM_RUN:
                file = _to_metadata_file(each)
                found[_to_entity_key(file)] = msgspec.to_builtins(file)
        return found

    def read(self, namespace: str, document: dict[str, Any], path: str) -> ReadEntity:
        given = _convert(document, _MetadataFile)
        entity = _to_entity(namespace, given)
        if entity.namespace != namespace:
            raise BadRequestError(
                f"The entity is in namespace '{entity.namespace}', not in '{namespace}'.",
                "Remove the namespace from 'entity', or synchronize that namespace with another folder.",
            )
        kept = UserMetadata(entity, given.properties, sorted(set(given.tags)))
        file = _to_metadata_file(kept)
        return ReadEntity(_to_entity_key(file), msgspec.to_builtins(file))

    def write(self, namespace: str, key: str, document: Any) -> None:
        file = convert(document, _MetadataFile)
        entity = _to_entity(namespace, file)
        try:
            self._metadata.get(entity)
        except NotFoundError as error:
            raise HeldBackError(error.message) from None
        self._metadata.import_all([UserMetadata(entity, file.properties, file.tags)], replace=True)

    def delete(self, namespace: str, key: str) -> None:
        path, _, type = key.partition("#")
        entity = _to_entity(
            namespace, _MetadataFile("" if path == NAMESPACE else path, type or None)
        )
        self._metadata.remove_all(entity)

    def get_path_parts(self, key: str, document: Any) -> Sequence[str]:
        path, _, type = key.partition("#")
        parts = [urllib.parse.unquote(part) for part in path.split("/")]
        return [*parts[:-1], f"{parts[-1]}#{type}" if type else parts[-1]]


def _to_metadata_file(metadata: UserMetadata) -> _MetadataFile:
    """Return the file of an entity; its path has no namespace, and no ``/`` inside a name."""
    entity = metadata.entity
    pairs = {
        key: urllib.parse.quote(value, safe=" !$&'()*+,;=:@-._~")
        for key, value in entity.details.items()
        if key != NAMESPACE
    }
    path = join_path(pairs)
    is_plain = not path or parse_entity(path, entity.namespace).type == entity.type
    return _MetadataFile(
        path, None if is_plain else entity.type, metadata.properties, metadata.tags
    )


def _to_entity_key(file: _MetadataFile) -> str:
    return (file.entity or NAMESPACE) + (f"#{file.type}" if file.type else "")


def _to_entity(namespace: str, file: _MetadataFile) -> MetadataEntity:
    if not file.entity:
        return MetadataEntity.of_namespace(namespace)
    found = parse_entity(file.entity, namespace, file.type)
    details = {key: urllib.parse.unquote(value) for key, value in found.details.items()}
    return MetadataEntity(details, found.type)


def _convert(document: Any, form: type[Any]) -> Any:
    try:
        return convert(document, form)
    except msgspec.ValidationError as error:
        known = ", ".join(form.__struct_fields__)
        raise BadRequestError(f"{error}.", f"The file has the keys {known}.") from None


class _ScheduleFile(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The form of a file of a schedule."""

    application: str
    name: str
    trigger: Trigger
    description: str = ""
    program: ScheduleProgram = ScheduleProgram()
    properties: dict[str, str] = {}
    constraints: list[Constraint] = []
    timeout_millis: int = DAY_MS


class ScheduleEntities(EntityKind):
    """The schedules of pipelines. Whether one is enabled is up to each instance; a new one is suspended."""

    name = "schedules"
    noun = "schedule"

    def __init__(self, schedules: ScheduleService) -> None:
        self._schedules = schedules

    def list_documents(self, namespace: str) -> dict[str, Any]:
        names = _ScheduleFile.__struct_fields__
        files = [
            _ScheduleFile(**{name: getattr(each.schedule, name) for name in names})
            for each in self._schedules.list_schedules(namespace)
        ]
        return {_to_key(file): msgspec.to_builtins(file) for file in files}

    def read(self, namespace: str, document: dict[str, Any], path: str) -> ReadEntity:
        try:
            file = convert(document, _ScheduleFile)
        except msgspec.ValidationError as error:
            known = ", ".join(_ScheduleFile.__struct_encode_fields__)
            raise BadRequestError(f"{error}.", f"The file has the keys {known}.") from None
        if "" in (file.application.strip(), file.name.strip()):
            raise BadRequestError(
                "A schedule needs a name and an application.", "Add them to the file."
            )
        check_definition(
            Schedule(
                namespace,
                file.application,
                file.name,
                file.trigger,
                properties=file.properties,
                constraints=file.constraints,
                timeout_millis=file.timeout_millis,
            )
        )
        return ReadEntity(_to_key(file), msgspec.to_builtins(file))

    def write(self, namespace: str, key: str, document: Any) -> None:
        file = convert(document, _ScheduleFile)
        names = ScheduleRequest.__struct_fields__
        request = ScheduleRequest(**{name: getattr(file, name) for name in names})
        try:
            held = self._schedules.list_schedules(namespace, file.application)
        except NotFoundError as error:
            raise HeldBackError(error.message) from None
        known = any(each.schedule.name == file.name for each in held)
        write = self._schedules.update if known else self._schedules.add
        write(namespace, file.application, file.name, request)

    def delete(self, namespace: str, key: str) -> None:
        application, name = key.split("/", 1)
        self._schedules.delete(namespace, application, name)

    def get_path_parts(self, key: str, document: Any) -> Sequence[str]:
        return [document["application"], document["name"]]

    def find_secrets(self, namespace: str, document: Any) -> list[PlainSecret]:
        return find_in_values(document.get("properties", {}), ("properties",), "property")


def _to_key(file: _ScheduleFile) -> str:
    return f"{file.application}/{file.name}"


def create_kinds(
    applications: ApplicationService,
    drafts: DraftService,
    connections: ConnectionService,
    preferences: PreferenceService,
    schedules: ScheduleService,
    metadata: MetadataService,
    artifacts: ArtifactService,
) -> Sequence[EntityKind]:
    """Return all kinds, in the order in which their entities are written."""
    secrets = SecretFinder(artifacts)
    return [
        ConnectionEntities(connections, secrets),
        PreferenceEntities(preferences),
        PipelineEntities(applications, secrets),
        ScheduleEntities(schedules),
        DraftEntities(drafts, secrets),
        MetadataEntities(metadata),
    ]
