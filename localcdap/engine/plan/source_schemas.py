"""Schemas that only a source's system tells, such as those of the tables that it reads: found in the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from localcdap.api.plugin import BatchSource, has_override
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.messages.flow import SOURCE, Stage
from localcdap.engine.plan.contexts import DriverContext, RunContext
from localcdap.engine.plan.error_attribution import stage_scope
from localcdap.engine.plan.preparation import get_plugin


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
