"""Pipelines as they are exchanged: the resolved specification and its parts.

The JSON form is that of CDAP 6 ``BatchPipelineSpec`` / ``StageSpec``, with the artifact version as plain
text. Schemas are JSON objects (see :class:`localcdap.api.schema.Schema`), never JSON text.
"""

from __future__ import annotations

import msgspec

from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.api.schema import Schema


class StageConnection(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """A connection between two stages.

    ``port`` is set behind a splitter, ``condition`` (``true`` or ``false``) behind a condition.
    """

    source: str
    target: str
    port: str | None = None
    condition: str | None = None

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


class Resources(msgspec.Struct, rename={"memory_mb": "memoryMB", "virtual_cores": "virtualCores"}):
    """Resources asked for on a cluster; kept, and of no effect on one machine."""

    memory_mb: int = 1024
    virtual_cores: int = 1


class PluginSpec(msgspec.Struct):
    """The plugin of a stage, with the exact artifact that was chosen."""

    type: str
    name: str
    properties: dict[str, str]
    """As in the document, macros not evaluated."""
    artifact: ArtifactId


class OutputPort(msgspec.Struct):
    """What leads to one downstream stage."""

    port: str | None
    """None unless this is a splitter."""
    schema: Schema | None


class StageSpec(msgspec.Struct, rename="camel"):
    """A configured stage. A schema is None where it is not known before the run."""

    name: str
    plugin: PluginSpec
    input_schemas: dict[str, Schema | None]
    """By input stage; empty behind a source. To an error transform, the error schema of the stage."""
    input_stages: list[str]
    output_ports: dict[str, OutputPort]
    """By downstream stage."""
    port_schemas: dict[str, Schema]
    """By port; empty unless this is a splitter."""
    output_schema: Schema | None
    """None for a splitter and a sink too."""
    error_schema: Schema | None
    stage_logging_enabled: bool = True
    process_timing_enabled: bool = True
    max_preview_records: int = 100


class PostActionSpec(msgspec.Struct):
    """A post action."""

    name: str
    plugin: PluginSpec


class PipelineSpec(msgspec.Struct, rename="camel"):
    """A valid pipeline, every plugin resolved and every schema propagated."""

    stages: list[StageSpec]
    """In topological order."""
    connections: list[StageConnection]
    resources: Resources
    driver_resources: Resources
    client_resources: Resources
    stage_logging_enabled: bool
    process_timing_enabled: bool
    num_of_records_preview: int
    properties: dict[str, str]
    """Engine properties, without their ``system.<engine>.`` prefix."""
    ending_actions: list[PostActionSpec]
    engine: str
    connections_used: list[str] = []


class PipelineValidation(msgspec.Struct):
    """The answer of pipeline validation: all failures, or the specification."""

    errors: list[ValidationFailure]
    spec: PipelineSpec | None
    warnings: list[ValidationFailure] = []
    """What is probably a mistake and makes nothing invalid: properties that the plugins do not have."""
    detected: dict[str, int] = {}
    """When files or databases were looked at for a stage, in milliseconds since 1970, where they were."""


class StageValidation(msgspec.Struct):
    """The answer of stage validation: all failures, or the specification of the stage."""

    errors: list[ValidationFailure]
    spec: StageSpec | None
    warnings: list[ValidationFailure] = []
    """As in :class:`PipelineValidation`; likewise the next."""
    detected: dict[str, int] = {}
