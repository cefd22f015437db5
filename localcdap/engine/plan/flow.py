"""What the engine is asked to run: configured stages with their schemas, and the streams between them."""

from __future__ import annotations

import msgspec

from localcdap.api.config import PluginConfig
from localcdap.api.errors import StageError
from localcdap.api.failures import FailureCollector
from localcdap.api.pipeline import StageConnection
from localcdap.api.plugin import Plugin
from localcdap.api.schema import Schema
from localcdap.api.stage import StageConfigurer
from localcdap.artifacts.model import PluginRef

ERROR_TRANSFORM = "errortransform"
SPLITTER = "splittertransform"
AGGREGATOR = "batchaggregator"
JOINER = "batchjoiner"
SOURCE = "batchsource"
SINKS = ("batchsink", "sparksink")
CONDITION = "condition"
ACTIONS = ("action", "sparkprogram")
CONTROL = (*ACTIONS, CONDITION)
"""Plugin types that handle no records themselves."""
DATA_TYPES = (SOURCE, "transform", SPLITTER, ERROR_TRANSFORM, AGGREGATOR, JOINER, "sparkcompute")
"""Plugin types that give records."""


class Stream(msgspec.Struct, frozen=True):
    """Records that leave a stage in one way."""

    stage: str
    port: str | None = None
    """Set behind a splitter."""
    errors: bool = False

    def __str__(self) -> str:
        suffix = ".errors" if self.errors else ""
        return self.stage + (f".{self.port}" if self.port is not None else "") + suffix


class Stage(msgspec.Struct):
    """A stage whose macros are evaluated and whose schemas are known."""

    name: str
    plugin: PluginRef
    properties: dict[str, str]
    input_schemas: dict[str, Schema]
    """By input stage; to an error transform the error schema of that stage."""
    output_schema: Schema | None = None
    """None for a splitter and a sink."""
    error_schema: Schema | None = None
    port_schemas: dict[str, Schema] = {}

    @property
    def type(self) -> str:
        return self.plugin.type

    @property
    def input_schema(self) -> Schema | None:
        return next(iter(self.input_schemas.values()), None)

    def schema(self, stream: Stream) -> Schema:
        """The schema of the records of one of this stage's streams.

        :raises StageError: when it is not known.
        """
        if stream.errors:
            found = self.error_schema or self.input_schema or self.output_schema
        elif stream.port is not None:
            found = self.port_schemas.get(stream.port)
        else:
            found = self.output_schema
        if found is None:
            raise StageError(
                f"Stage '{self.name}' has no output schema for '{stream}'.",
                "Set the output schema of the stage.",
                stage=self.name,
            )
        return found


class Flow(msgspec.Struct):
    """A pipeline ready to be planned."""

    stages: list[Stage]
    """In topological order."""
    connections: list[StageConnection]

    def stage(self, name: str) -> Stage:
        return next(s for s in self.stages if s.name == name)

    def inputs(self, name: str) -> list[Stream]:
        """The streams that a stage reads, in connection order.

        Whatever leads to an error transform is a stream of errors.
        """
        stage = self.stage(name)
        errors = stage.type == ERROR_TRANSFORM
        return [
            Stream(c.source, None if errors else c.port, errors)
            for c in self.connections
            if c.target == name
        ]

    def readers(self, stream: Stream) -> list[str]:
        """The stages that read a stream."""
        return [s.name for s in self.stages for i in self.inputs(s.name) if i == stream]


def instantiate(plugin: type[Plugin], stage: str, properties: dict[str, str]) -> Plugin:
    """An instance of a plugin class with the evaluated properties of a stage."""
    failures = FailureCollector(stage)
    config: PluginConfig = plugin.Config.build(properties, failures)
    for failure in failures:
        raise StageError(failure.full_message, failure.corrective_action, stage=stage)
    return plugin(config)


def configurer(stage: Stage) -> StageConfigurer:
    """The stage as its plugin sees it when asked which fields it reads."""
    made = StageConfigurer(stage.name, stage.input_schemas, output_ports=list(stage.port_schemas))
    made.output_schema = stage.output_schema
    made.error_schema = stage.error_schema
    made.port_schemas = dict(stage.port_schemas)
    return made
