"""A flow, which the engine runs: configured stages with their schemas, and the streams of records
between them.
"""

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
from localcdap.expectations.rules import Expectation
from localcdap.expectations.schema_checks import unite_error_schemas

ERROR_TRANSFORM = "errortransform"
SPLITTER = "splittertransform"
AGGREGATOR = "batchaggregator"
JOINER = "batchjoiner"
SOURCE = "batchsource"
SINKS = ("batchsink", "sparksink")
CONDITION = "condition"
ALERT_PUBLISHER = "alertpublisher"
ACTIONS = ("action", "sparkprogram")
CONTROL = (*ACTIONS, CONDITION)
"""Plugin types that process no records themselves."""
DATA_TYPES = (SOURCE, "transform", SPLITTER, ERROR_TRANSFORM, AGGREGATOR, JOINER, "sparkcompute")
"""Plugin types that emit records."""


class Stream(msgspec.Struct, frozen=True):
    """The records that leave a stage by one output."""

    stage: str
    port: str | None = None
    """The port of a splitter; None for other stages."""
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
    """By input stage; for an error transform, the error schema of the input stage."""
    output_schema: Schema | None = None
    """None for a splitter and a sink."""
    error_schema: Schema | None = None
    """The schema of the error records that the plugin emits; None for that of the input."""
    port_schemas: dict[str, Schema] = {}
    pipeline_version: str | None = None
    """The version of CDAP that the pipeline's document names."""
    expectations: list[Expectation] = []
    """The rules for the records that leave the stage; for a sink, for those that reach it."""
    tables: list[str] = []
    """The tables without a dataset that the stage declares to write."""

    @property
    def type(self) -> str:
        """The plugin type."""
        return self.plugin.type

    @property
    def input_schema(self) -> Schema | None:
        """The schema of the first input; None for a source."""
        return next(iter(self.input_schemas.values()), None)

    @property
    def own_error_schema(self) -> Schema | None:
        """The schema of the error records that the plugin emits; those of rules may have more fields."""
        return self.error_schema or self.input_schema or self.output_schema

    def get_schema(self, stream: Stream) -> Schema:
        """Return the schema of the records of one of this stage's streams.

        :raises StageError: when it is not known.
        """
        if stream.errors:
            own = self.own_error_schema
            found = unite_error_schemas(own, self.output_schema, self.expectations)
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
    """A pipeline, or one phase of it, ready to be planned."""

    stages: list[Stage]
    """In topological order."""
    connections: list[StageConnection]

    def get_stage(self, name: str) -> Stage:
        """Return the stage of a name, which the flow has."""
        return next(s for s in self.stages if s.name == name)

    def list_inputs(self, name: str) -> list[Stream]:
        """Return the streams that a stage reads, in connection order.

        A connection to an error transform carries the errors of its source.
        """
        stage = self.get_stage(name)
        errors = stage.type == ERROR_TRANSFORM
        return [
            Stream(c.source, None if errors else c.port, errors)
            for c in self.connections
            if c.target == name
        ]

    def list_readers(self, stream: Stream) -> list[str]:
        """Return the stages that read a stream."""
        return [s.name for s in self.stages for i in self.list_inputs(s.name) if i == stream]


def create_plugin(plugin: type[Plugin], stage: str, properties: dict[str, str]) -> Plugin:
    """Create an instance of a plugin class with the evaluated properties of a stage.

    :raises StageError: for the first property that is wrong.
    """
    failures = FailureCollector(stage)
    config: PluginConfig = plugin.Config.build(properties, failures)
    for failure in failures:
        raise StageError(failure.full_message, failure.corrective_action, stage=stage)
    return plugin(config)


def create_configurer(stage: Stage) -> StageConfigurer:
    """Create the configurer that a plugin is given when it is asked which fields it reads."""
    configurer = StageConfigurer(
        stage.name, stage.input_schemas, output_ports=list(stage.port_schemas)
    )
    configurer.output_schema = stage.output_schema
    configurer.error_schema = stage.error_schema
    configurer.port_schemas = dict(stage.port_schemas)
    return configurer
