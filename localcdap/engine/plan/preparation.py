"""The preparation of stages before a run's first record, where plugins read and emit metadata."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from localcdap.api.lineage import FieldOperation
from localcdap.api.plugin import Plugin, has_override
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.messages.flow import Stage, create_plugin
from localcdap.engine.plan.contexts import DriverContext, RunContext
from localcdap.engine.plan.error_attribution import stage_scope
from localcdap.engine.plan.run_metadata import MetadataAccess
from localcdap.engine.tasks.context import EntityMetadata


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
            run.operations.pop(stage.name, None)
            context = PreparationContext(stage, run)
            plugin.prepare_run(context)
            run.prepared[stage.name] = stage.properties, plugin
            if has_override(type(plugin), "on_run_finish"):
                run.finishers[stage.name] = partial(plugin.on_run_finish, context=context)
    return plugin


def prepares_runs(plugin: type[Plugin]) -> bool:
    """Return whether a plugin implements ``prepare_run`` or its counterpart at the end of a run."""
    return has_override(plugin, "prepare_run") or has_override(plugin, "on_run_finish")


class PreparationContext(MetadataAccess, DriverContext):
    """A :class:`localcdap.api.stage.PrepareContext`."""

    def __init__(self, stage: Stage, run: RunContext) -> None:
        DriverContext.__init__(self, stage, run)
        self._run_metadata = run.metadata
        self._operations = run.operations.setdefault(stage.name, [])

    def record(self, operations: Sequence[FieldOperation]) -> None:
        """Record operations on fields for lineage."""
        self._operations.extend(operations)


def read_declared(run: RunContext, stage: Stage, plugin: Any) -> list[EntityMetadata]:
    """Return the metadata that a plugin of record or batch grain declares to read in Spark's workers.

    :raises StageError: when an entity does not exist.
    """
    entities = plugin.metadata_entities(run.arguments)
    return PreparationContext(stage, run).read_all(entities) if entities else []
