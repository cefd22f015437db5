"""The preparation of stages before a run's first record, where plugins read and emit metadata.

Schemas that only a source's system tells, such as those of the tables that it reads, are found then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from localcdap.api.lineage import FieldOperation
from localcdap.api.plugin import BatchSource, Plugin, has_override
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.messages.flow import DATA_TYPES, SINKS, SOURCE, Stage, create_plugin
from localcdap.engine.plan.contexts import DriverContext, RunContext
from localcdap.engine.plan.error_attribution import stage_scope
from localcdap.engine.plan.run_metadata import MetadataAccess
from localcdap.engine.tasks.context import EntityMetadata

_LOG: Final = logging.getLogger("localcdap.engine")
_KEPT: Final = ("prepare_run", "find_schema", "on_run_finish")


def get_plugin(run: RunContext, stage: Stage) -> Any:
    """Return the plugin of a stage for this process, prepared for the run.

    A plugin that prepares or finishes runs, or finds a schema, is one object for all calls, as long as the
    properties of the stage are the same; of others each call makes a new one.

    :raises StageError: when it cannot be created or prepared.
    """
    known = run.prepared.get(stage.name)
    if known is not None and known[0].properties == stage.properties:
        return known[1]
    with stage_scope(stage.name):
        plugin = create_plugin(load_plugin(stage.plugin), stage.name, stage.properties)
        if is_kept(type(plugin)):
            run.operations.pop(stage.name, None)
            plugin.prepare_run(PreparationContext(stage, run))
            run.prepared[stage.name] = stage, plugin
    return plugin


def is_kept(plugin: type[Plugin]) -> bool:
    """Return whether a plugin has methods that a run calls on the object that handles the data."""
    return any(has_override(plugin, each) for each in _KEPT)


def list_finishing(run: RunContext) -> list[tuple[Stage, Any]]:
    """Return the prepared data stages that implement ``on_run_finish``, with their plugins."""
    return [
        (stage, plugin)
        for stage, plugin in run.prepared.values()
        if stage.type in (*DATA_TYPES, *SINKS) and has_override(type(plugin), "on_run_finish")
    ]


def finish_stages(run: RunContext, *, succeeded: bool) -> None:
    """Have the plugins of data stages finish the run, each once; an error is logged and changes nothing.

    As in CDAP (``CompositeFinisher``), an error of one stage does not keep the next one from finishing.
    """
    for stage, plugin in list_finishing(run):
        del run.prepared[stage.name]
        try:
            with stage_scope(stage.name):
                plugin.on_run_finish(succeeded, DriverContext(stage, run))
        except Exception as error:
            _LOG.warning("A stage could not finish the run: %s", error)


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


def can_find_schema(stage: Stage) -> bool:
    """Return whether a stage is a source that left its output schema open, and can find it in a run."""
    if stage.type != SOURCE or stage.output_schema is not None:
        return False
    return has_override(load_plugin(stage.plugin), "find_schema")


def find_source_schema(
    stage: Stage, run: RunContext, set_argument: Callable[[str, str], None]
) -> Schema:
    """Have a source find its output schema; it may set arguments.

    :raises StageError: when it fails.
    """
    plugin: BatchSource = get_plugin(run, stage)
    with stage_scope(stage.name):
        return plugin.find_schema(SourceSchemaContext(stage, run, set_argument))


class SourceSchemaContext(DriverContext):
    """A :class:`localcdap.api.stage.SchemaContext`."""

    def __init__(
        self, stage: Stage, run: RunContext, set_argument: Callable[[str, str], None]
    ) -> None:
        super().__init__(stage, run)
        self._set_argument: Final = set_argument

    def set_argument(self, name: str, value: str) -> None:
        """Set an argument of the run for the other stages."""
        self._set_argument(name, value)
        self.arguments = {**self.arguments, name: value}
