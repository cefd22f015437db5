"""The preparation of stages before a run's first record, where plugins read and emit metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localcdap.api.errors import LocalcdapError
from localcdap.api.metadata import (
    Metadata,
    MetadataEntity,
    MetadataOperation,
    MetadataScope,
    OperationKind,
)
from localcdap.api.metadata_rules import require_valid
from localcdap.api.plugin import Plugin, has_override
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.messages.flow import Stage, create_plugin
from localcdap.engine.plan.contexts import DriverContext, RunContext
from localcdap.engine.plan.error_attribution import stage_scope


def get_plugin(run: RunContext, stage: Stage) -> Any:
    """Return the plugin of a stage for this process, prepared for the run.

    A plugin that prepares runs is one object for all calls, as long as the properties of the stage are the
    same; of others each call makes a new one.

    :raises StageError: when it cannot be created or prepared.
    """
    known = run.prepared.get(stage.name)
    if known is not None and known[0] == stage.properties:
        return known[1]
    with stage_scope(stage.name):
        plugin = create_plugin(load_plugin(stage.plugin), stage.name, stage.properties)
        if prepares_runs(type(plugin)):
            plugin.prepare_run(PreparationContext(stage, run))
            run.prepared[stage.name] = stage.properties, plugin
    return plugin


def prepares_runs(plugin: type[Plugin]) -> bool:
    """Return whether a plugin implements ``prepare_run``."""
    return has_override(plugin, "prepare_run")


class PreparationContext(DriverContext):
    """A :class:`localcdap.api.stage.PrepareContext`."""

    def get_metadata(self, scope: MetadataScope, entity: MetadataEntity) -> Metadata:
        """Return the metadata of an entity in one scope."""
        resolved = entity.resolve(self.namespace)
        try:
            return self._run.metadata.read(resolved).get(scope)
        except LocalcdapError as error:
            raise self.fail(
                f"the metadata of {resolved.describe()} cannot be read: {error.message}",
                error.corrective_action,
            ) from None

    def add_properties(self, entity: MetadataEntity, properties: Mapping[str, str]) -> None:
        """Set properties of an entity."""
        require_valid(Metadata(dict(properties)))
        self._emit(OperationKind.PUT, entity, properties=dict(properties))

    def add_tags(self, entity: MetadataEntity, *tags: str) -> None:
        """Add tags to an entity."""
        require_valid(Metadata.of(tags=tags))
        self._emit(OperationKind.PUT, entity, tags=list(tags))

    def remove_metadata(self, entity: MetadataEntity) -> None:
        """Remove all properties and tags of an entity."""
        self._emit(OperationKind.DELETE_ALL, entity)

    def remove_properties(self, entity: MetadataEntity, *names: str) -> None:
        """Remove properties of an entity; without names, all of them."""
        kind = OperationKind.DELETE if names else OperationKind.DELETE_ALL_PROPERTIES
        self._emit(kind, entity, names=list(names))

    def remove_tags(self, entity: MetadataEntity, *tags: str) -> None:
        """Remove tags of an entity; without tags, all of them."""
        kind = OperationKind.DELETE if tags else OperationKind.DELETE_ALL_TAGS
        self._emit(kind, entity, tags=list(tags))

    def _emit(self, kind: OperationKind, entity: MetadataEntity, **more: Any) -> None:
        operation = MetadataOperation(kind, entity.resolve(self.namespace), **more)
        self._run.metadata.emit(self.stage_name, operation)
