"""Configuring one stage: the plugin's own validation and schema propagation."""

from __future__ import annotations

import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.api.schema import Schema
from localcdap.artifacts.model import PluginRef


class ConfigureRequest(msgspec.Struct):
    """A stage to be configured."""

    plugin: PluginRef
    stage: str
    properties: dict[str, str]
    macros: list[str] = []
    """Names of the properties that still hold a macro."""
    input_schemas: dict[str, Schema | None] = {}
    """By input stage, in connection order; None where the schema is not known."""
    output_ports: list[str] = []
    """Ports of a splitter that something is connected to."""
    connected: bool = False
    """Whether checks that need files, databases or a network are made too."""


class ConfigureResult(msgspec.Struct):
    """What configuring a stage gave. The stage is valid when there are no failures."""

    failures: list[ValidationFailure]
    output_schema: Schema | None = None
    error_schema: Schema | None = None
    port_schemas: dict[str, Schema] = {}
    pipeline_properties: dict[str, str] = {}
