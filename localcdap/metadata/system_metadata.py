"""The SYSTEM metadata that localcdap writes itself, in the transaction of the change (CDAP 6
``AbstractSystemMetadataWriter`` and its subclasses).

Every change of an entity publishes an event; :class:`SystemMetadataWriter` sees it before the commit and
reads what it needs from the same transaction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from localcdap.api.app.events import (
    ArtifactChange,
    ArtifactsChanged,
    EntityCreated,
    EntityDeleted,
    EntityUpdated,
)
from localcdap.api.dataset.types.external import EXTERNAL_TYPE
from localcdap.api.metadata import (
    APPLICATION,
    ARTIFACT,
    DATASET,
    NAMESPACE,
    SCHEDULE,
    VERSION,
    WORKFLOW,
    WORKFLOW_NAME,
    Metadata,
    MetadataEntity,
    MetadataScope,
    ScopedMetadata,
)
from localcdap.artifacts.index import read_good_plugins
from localcdap.artifacts.model import PluginClass
from localcdap.metadata.records import (
    CREATION_TIME,
    ENTITY_NAME,
    STANDARD_DIRECTIVES,
    CreateMutation,
    DropMutation,
    Mutation,
    RemoveMutation,
    list_inside,
)
from localcdap.metadata.store import MetadataStore
from localcdap.pipeline.library import application_records
from localcdap.pipeline.library.application_model import Application
from localcdap.store import dataset_catalog, table_catalog
from localcdap.store.store import Transaction

DESCRIPTION: Final = "description"
SCHEMA: Final = "schema"
PLUGIN: Final = "plugin"
"""The type of the custom entity of a plugin: namespace, artifact, version, type, plugin."""
EXPLORE: Final = "explore"
"""The tag of datasets that SQL can read."""
CAPABILITIES: Final = "capabilities"


DescribeSchedules: TypeAlias = Callable[[Transaction, str, str], Mapping[str, str]]
"""Returns the descriptions of the schedules of an application by name, by its namespace and name."""


class SystemMetadataWriter:
    """Writes the SYSTEM metadata of namespaces, applications, programs, schedules, tables, artifacts and
    plugins.

    :param describe_schedules: returns the descriptions of the schedules of an application, by name.
    """

    def __init__(
        self, metadata: MetadataStore, describe_schedules: DescribeSchedules = lambda *_: {}
    ) -> None:
        self._metadata = metadata
        self._describe_schedules = describe_schedules

    def observe(self, tx: Transaction, events: Sequence[object]) -> None:
        """Write what events change, in their transaction."""
        mutations = [each for event in events for each in self._list_event_mutations(tx, event)]
        if mutations:
            self._metadata.apply(tx, mutations)

    def is_filled(self, tx: Transaction) -> bool:
        """Return whether the entities of the database have their SYSTEM metadata."""
        default = self._metadata.read(tx, MetadataEntity.of_namespace("default"))
        return not default.system.is_empty()

    def fill(self, tx: Transaction) -> None:
        """Write the SYSTEM metadata of all entities of a database that was made before there was any."""
        now = time.time_ns() // 1_000_000
        mutations: list[Mutation] = []
        for (name,) in tx.execute("SELECT name FROM namespaces WHERE state = 'active'"):
            mutations += self._list_mutations(tx, MetadataEntity.of_namespace(name), now)
            for application in application_records.list_latest(tx, name):
                mutations += self._list_application_mutations(tx, application)
        names = {(each.namespace, each.name) for each in table_catalog.list_entries(tx)}
        names |= {(each.namespace, each.name) for each in dataset_catalog.list_datasets(tx)}
        for namespace, name in sorted(names):
            entity = MetadataEntity.of_dataset(name, namespace)
            mutations += self._list_mutations(tx, entity, now)
        found = tx.execute("SELECT DISTINCT name, version, scope, namespace FROM artifact")
        changes = [
            ArtifactChange("added", name, version, scope, namespace, "")
            for name, version, scope, namespace in found
        ]
        self._metadata.apply(tx, [*mutations, *_list_artifact_mutations(tx, changes, now)])

    def _list_event_mutations(self, tx: Transaction, event: object) -> Iterator[Mutation]:
        """Yield what an event writes. What happens to artifacts is written at the event about all of them."""
        if isinstance(event, ArtifactsChanged):
            yield from _list_artifact_mutations(tx, event.changes, event.time)
        elif isinstance(event, EntityCreated | EntityUpdated):
            yield from self._list_mutations(tx, event.entity, event.time)
        elif isinstance(event, EntityDeleted) and event.entity.type not in (NAMESPACE, ARTIFACT):
            yield from (DropMutation(each) for each in _list_parts(event.entity))
            if event.entity.type == SCHEDULE:
                yield from self._list_application_again(tx, event.entity)

    def _list_mutations(
        self, tx: Transaction, entity: MetadataEntity, time: int
    ) -> Iterator[Mutation]:
        """Yield what the creation or change of an entity writes."""
        namespace = entity.namespace or ""
        if entity.type == NAMESPACE:
            rows = tx.execute("SELECT description FROM namespaces WHERE name = ?", (namespace,))
            yield _create(entity, time, {DESCRIPTION: rows[0][0]} if rows else {})
        elif entity.type == APPLICATION:
            yield from self._list_application_mutations(
                tx, application_records.find(tx, namespace, entity.name)
            )
        elif entity.type == SCHEDULE:
            found = self._describe_schedules(tx, namespace, entity.details[APPLICATION])
            yield _create(entity, time, {DESCRIPTION: found.get(entity.name, "")})
            yield from self._list_application_again(tx, entity)
        elif entity.type == DATASET:
            yield _describe_new_dataset(tx, entity, time)

    def _list_application_again(
        self, tx: Transaction, schedule: MetadataEntity
    ) -> Iterator[Mutation]:
        """Yield the metadata of the application of a schedule, unless that is deleted with it."""
        namespace, name = schedule.namespace or "", schedule.details[APPLICATION]
        versions = application_records.list_versions(tx, namespace, name)
        if versions:
            yield from self._list_application_mutations(tx, versions[0])

    def _list_application_mutations(
        self, tx: Transaction, application: Application
    ) -> Iterator[Mutation]:
        """Yield the metadata of a deployed pipeline and of its workflow."""
        spec = application_records.read_spec(tx, application)
        used: Sequence[Any] = spec.stages if spec is not None else ()
        created = application.change.creation_time_millis
        general = {VERSION: application.version, DESCRIPTION: application.description or ""}
        plugins = {
            f"plugin:{each.plugin.name}:{each.plugin.type}": f"{each.plugin.name}:{each.plugin.type}"
            for each in used
        }
        workflow = {f"{WORKFLOW}:{WORKFLOW_NAME}": WORKFLOW_NAME}
        described = self._describe_schedules(tx, application.namespace, application.name)
        schedules = {f"schedule:{name}": f"{name}:{text}" for name, text in described.items()}
        connections = [f"_{name}" for name in (spec.connections_used if spec is not None else ())]
        entity, program = _list_parts(
            MetadataEntity.of_application(application.name, application.namespace)
        )
        yield _create(
            entity,
            created,
            general | workflow | plugins | schedules,
            [application.artifact.name, *connections],
        )
        actions = [each.name for each in used if each.plugin.type in ("action", "condition")]
        yield _create(program, created, general, [WORKFLOW, "Batch", "phase-1", *actions])


def _describe_new_dataset(tx: Transaction, entity: MetadataEntity, time: int) -> Mutation:
    """Return the metadata of a dataset, or of a view or a table that no dataset has."""
    namespace = entity.namespace or ""
    properties = _describe_dataset(tx, namespace, entity.name)
    is_elsewhere = properties.get("type") == EXTERNAL_TYPE and not table_catalog.find_entry(
        tx, namespace, entity.name
    )
    tags = [] if is_elsewhere or SCHEMA not in properties else ["batch", EXPLORE]
    return _create(entity, time, properties, tags)


def _describe_dataset(tx: Transaction, namespace: str, name: str) -> dict[str, str]:
    """Return the properties of a dataset, or of a view or a table that no dataset has."""
    properties = {}
    entry = table_catalog.find_entry(tx, namespace, name)
    if entry is not None:
        properties = {"type": "table" if entry.query is None else "view", SCHEMA: entry.document}
    dataset = dataset_catalog.find_dataset(tx, namespace, name)
    if dataset is not None:
        specification = dataset.specification
        properties["type"] = specification.type
        if specification.description:
            properties[DESCRIPTION] = specification.description
        schema = specification.properties.get("schema")
        if schema is not None:
            properties.setdefault(SCHEMA, schema)
    return properties


def _list_parts(entity: MetadataEntity) -> list[MetadataEntity]:
    """Return an entity and those that come and go with it."""
    if entity.type != APPLICATION:
        return [entity]
    workflow = MetadataEntity.of_program(
        WORKFLOW_NAME, WORKFLOW, entity.name, entity.namespace or ""
    )
    return [entity, workflow]


def _list_artifact_mutations(
    tx: Transaction, changes: Sequence[ArtifactChange], time: int
) -> Iterator[Mutation]:
    """Yield the metadata of artifacts and their plugins.

    When a file is removed, what users wrote stays: it may come back.
    """
    keys = [(change.namespace, change.name, change.version) for change in changes]
    plugins_of = read_good_plugins(tx, keys)
    for change, key in zip(changes, keys, strict=True):
        if not change.version or change.change == "failed":
            continue
        entity = MetadataEntity.of_artifact(change.name, change.version, change.namespace)
        if change.change != "added":
            for plugin in list_inside(tx, entity, PLUGIN):
                yield RemoveMutation(plugin, MetadataScope.SYSTEM)
        if change.change == "removed":
            yield RemoveMutation(entity, MetadataScope.SYSTEM)
            continue
        plugins = plugins_of.get(key, [])
        properties: dict[str, str] = {}
        for each in plugins:
            typed = f"{each.name}:{each.type}"
            properties[f"plugin:{typed}"] = typed
            properties[f"plugin-version:{typed}"] = f"{each.name}:{change.version}"
        yield _create(entity, time, properties)
        yield from (_create_plugin(entity, each, time) for each in plugins)


def _create_plugin(artifact: MetadataEntity, plugin: PluginClass, time: int) -> Mutation:
    """Return the metadata of a plugin: document "Capabilities", approach 2."""
    return _create(
        get_plugin_entity(artifact, plugin.type, plugin.name),
        time,
        {DESCRIPTION: plugin.description, CAPABILITIES: ",".join(plugin.capabilities)},
    )


def get_plugin_entity(artifact: MetadataEntity, type: str, name: str) -> MetadataEntity:
    """Return the custom entity of a plugin of an artifact."""
    return MetadataEntity({**artifact.details, "type": type, PLUGIN: name})


def read_untyped_plugin(
    tx: Transaction, metadata: MetadataStore, entity: MetadataEntity
) -> ScopedMetadata:
    """Return the union of the metadata of an artifact's plugins of one name, whatever their types are.

    :param entity: namespace, artifact, version and plugin.
    """
    artifact = MetadataEntity(entity.head(VERSION), ARTIFACT)
    same = [each for each in list_inside(tx, artifact, PLUGIN) if each.name == entity.name]
    found = metadata.read_all(tx, same)
    capabilities = {
        capability
        for each in found
        for capability in each.system.properties.get(CAPABILITIES, "").split(",")
        if capability
    }
    merged = {
        scope: Metadata.of(
            {key: value for each in found for key, value in each.get(scope).properties.items()},
            [tag for each in found for tag in each.get(scope).tags],
        )
        for scope in MetadataScope
    }
    if capabilities:
        merged[MetadataScope.SYSTEM].properties[CAPABILITIES] = ",".join(sorted(capabilities))
    return ScopedMetadata(merged[MetadataScope.USER], merged[MetadataScope.SYSTEM])


def is_untyped_plugin(entity: MetadataEntity) -> bool:
    """Return whether an entity is a plugin of an artifact without the type of the plugin."""
    return tuple(entity.details) == (NAMESPACE, ARTIFACT, VERSION, PLUGIN)


def _create(
    entity: MetadataEntity,
    time: int,
    properties: Mapping[str, str],
    tags: Sequence[str] = (),
) -> CreateMutation:
    """Return the mutation that replaces the SYSTEM metadata of an entity."""
    given = {name: value for name, value in properties.items() if value}
    every = {ENTITY_NAME: entity.name, CREATION_TIME: str(time)}
    metadata = ScopedMetadata(system=Metadata.of(every | given, tags))
    return CreateMutation(entity, metadata, STANDARD_DIRECTIVES)
