"""The resolved specification of a pipeline and its parts, and the results of validation.

The JSON form is that of CDAP 6 ``BatchPipelineSpec`` / ``StageSpec``, with the artifact version as plain
text. Schemas are JSON objects (see :class:`localcdap.api.schema.Schema`), never JSON text.
"""

from __future__ import annotations

import msgspec

from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.api.schema import Schema


class StageConnection(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """A connection between two stages.

    ``port`` is set after a splitter, ``condition`` after a condition.
    """

    source: str
    target: str
    port: str | None = None
    condition: bool | None = None

    @property
    def branch(self) -> str | None:
        """The port, or ``true`` or ``false`` after a condition; None for the only output of a stage."""
        return self.port or (None if self.condition is None else str(self.condition).lower())

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


class Resources(msgspec.Struct, rename={"memory_mb": "memoryMB", "virtual_cores": "virtualCores"}):
    """The resources of a cluster process; kept in documents, without effect on one machine."""

    memory_mb: int = 1024
    virtual_cores: int = 1


class UsedPluginSpec(msgspec.Struct, frozen=True):
    """A plugin that a property of another plugin names, with the artifact that was selected."""

    type: str
    name: str
    artifact: ArtifactId


class PluginSpec(msgspec.Struct, omit_defaults=True):
    """The plugin of a stage, with the artifact that was selected."""

    type: str
    name: str
    properties: dict[str, str]
    """As in the document, macros not evaluated."""
    artifact: ArtifactId
    uses: list[UsedPluginSpec] = []
    """The plugins that its properties name, such as user-defined directives."""


class OutputPort(msgspec.Struct):
    """The output to one downstream stage."""

    port: str | None
    """None for a stage that is not a splitter."""
    schema: Schema | None


class StageSpec(msgspec.Struct, rename="camel"):
    """A configured stage. A schema is None where it is not known before the run."""

    name: str
    plugin: PluginSpec
    input_schemas: dict[str, Schema | None]
    """Schemas by input stage; empty for a source. For an error transform, error schemas."""
    input_stages: list[str]
    output_ports: dict[str, OutputPort]
    """Outputs by downstream stage."""
    port_schemas: dict[str, Schema]
    """Schemas by port; empty for a stage that is not a splitter."""
    output_schema: Schema | None
    """Also None for a splitter and a sink."""
    error_schema: Schema | None
    stage_logging_enabled: bool = True
    process_timing_enabled: bool = True
    max_preview_records: int = 100


class PostActionSpec(msgspec.Struct):
    """A post action of a pipeline."""

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


class StandIn(msgspec.Struct, rename="camel", omit_defaults=True):
    """What a stage does in place of its plugin: a recording of its records, or a placeholder."""

    stage: str
    plugin: str
    """Type and name of the plugin that the document names."""
    kind: str
    """``recorded`` or ``placeholder``."""
    recording: str
    """What it reads or writes, as in ``--record``; for a placeholder ``pass`` or ``skip``."""
    origin: str
    """Where that was set: ``command line``, ``instance`` or ``localcdap.toml``, with the key."""
    records: int | None = None
    """The number of records of the recording; None where it is not known before the run."""
    notes: list[str] = []
    """How the records differ from the schema of the stage, and what is made of that; sentences."""

    def __str__(self) -> str:
        return f"{self.kind}: stage '{self.stage}' ({self.plugin}) {self.describe_use()}"

    def describe_use(self) -> str:
        """Return what the stage does instead, such as ``is generate:100 (instance)``."""
        counted = f", {self.records:,} records" if self.records is not None else ""
        return f"is {self.recording}{counted} ({self.origin})"


class PipelineValidation(msgspec.Struct):
    """The result of validating a pipeline: all failures, or the specification."""

    errors: list[ValidationFailure]
    spec: PipelineSpec | None
    warnings: list[ValidationFailure] = []
    """Probable mistakes that do not make the pipeline invalid, such as unknown properties."""
    detected: dict[str, int] = {}
    """The time of the connected checks by stage, in milliseconds since 1970."""
    stand_ins: list[StandIn] = msgspec.field(default_factory=list, name="standIns")
    """The stages that do not use their plugins."""


class StageValidation(msgspec.Struct):
    """The result of validating a stage: all failures, or the specification of the stage."""

    errors: list[ValidationFailure]
    spec: StageSpec | None
    warnings: list[ValidationFailure] = []
    """As in :class:`PipelineValidation`."""
    detected: dict[str, int] = {}
    """As in :class:`PipelineValidation`."""
