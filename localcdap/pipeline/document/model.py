"""A pipeline document, typed, the failures of its structure, and changes of its source in place.

A change of the source keeps all other parts as they are.
"""

from __future__ import annotations

import copy
import enum
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from localcdap.api.failures import INVALID_PIPELINE, Cause, ValidationFailure
from localcdap.api.pipeline import Resources, StageConnection, UsedPluginSpec
from localcdap.artifacts.model import ArtifactSelector
from localcdap.expectations.rules import Expectation
from localcdap.pipeline.document.values import encode_json

Path = tuple[str | int, ...]
"""Keys and indexes that lead to a node of decoded JSON."""


class PipelineType(enum.Enum):
    """The type of a pipeline; the value is the name of its application artifact in CDAP 6."""

    BATCH = "cdap-data-pipeline"
    STREAMING = "cdap-data-streams"


class PluginUse(msgspec.Struct, frozen=True):
    """The plugin that a stage requests."""

    type: str
    """Empty when the document does not state it."""
    name: str
    """Empty when the document does not state it."""
    properties: dict[str, str]
    """As in the document, without nulls; macros are not evaluated."""
    artifact: ArtifactSelector | None = None
    template: str | None = None
    """The ``pluginTemplate`` of the plugin; see :mod:`localcdap.pipeline.validation.plugins`."""
    uses: tuple[UsedPluginSpec, ...] = ()
    """The plugins that properties name and whose artifacts a deployment has chosen; the index chooses the
    others."""


class StageUse(msgspec.Struct, frozen=True):
    """A stage as the document states it."""

    name: str
    plugin: PluginUse
    path: Path = ()
    """The path of the stage in the configuration."""
    noted_schema: str | None = None
    """The output schema that CDAP's studio stored when the pipeline was drawn, as JSON text."""
    expectations: tuple[Expectation, ...] = ()
    """The rules for the records that leave the stage; for a sink, for those that reach it."""


class PipelineDocument(msgspec.Struct):
    """A pipeline document, typed, with its unchanged source.

    A part that cannot be read is left out, and is one of :attr:`problems`.
    """

    source: Any
    """The decoded JSON exactly as it was read, with unknown keys and key order."""
    text: str | None
    """The text that it was read from, without a byte order mark; None when it came decoded."""
    config_path: Path
    """The path of the configuration in the source; empty for a bare configuration."""
    type: PipelineType
    artifact_name: str | None
    """The name of the application artifact in the document; None in a bare configuration."""
    name: str | None
    description: str | None
    stages: list[StageUse]
    """In document order; stages of a 3.x configuration are converted."""
    connections: list[StageConnection]
    """In document order, without repetitions."""
    post_actions: list[StageUse]
    problems: list[ValidationFailure]
    engine: str = "MAPREDUCE"
    """``MAPREDUCE`` or ``SPARK``, as in the document; localcdap always runs on Spark."""
    schedule: str | None = None
    properties: dict[str, str] = {}
    resources: Resources = msgspec.field(default_factory=Resources)
    driver_resources: Resources = msgspec.field(default_factory=Resources)
    client_resources: Resources = msgspec.field(default_factory=Resources)
    stage_logging_enabled: bool = True
    process_timing_enabled: bool = True
    num_of_records_preview: int = 100
    artifact_version: str | None = None
    """The version of the application artifact; None where the document names none, or a range."""
    max_concurrent_runs: int | None = None
    """None for no limit."""
    sql_engine: PluginUse | None = None
    """The plugin in whose database CDAP would execute some stages; None where that is off."""

    def to_json(self) -> str:
        """Return the JSON text that the document was read from, or its source as compact JSON."""
        return self.text if self.text is not None else encode_json(self.source)

    @property
    def engine_properties(self) -> dict[str, str]:
        """The properties for the document's engine, without the prefix ``system.<engine>.``."""
        prefix = f"system.{self.engine.lower()}."
        return {
            key.removeprefix(prefix): value
            for key, value in self.properties.items()
            if key.startswith(prefix)
        }


def create_structural_failure(
    message: str,
    action: str | None = None,
    *,
    stage: str | None = None,
    property: str | None = None,
) -> ValidationFailure:
    """Return a failure of type ``Invalid Pipeline``.

    :param stage: None when the failure belongs to no single stage.
    """
    causes = [Cause({"stageConfig": property})] if property else []
    return ValidationFailure(INVALID_PIPELINE, message, action, causes, stage=stage, field=property)


StageChange = Callable[[dict[str, Any]], None]
"""Changes the node of a stage in place."""


def get_plugin_node(stage: dict[str, Any]) -> dict[str, Any]:
    """Return the node of a stage's plugin; a stage of CDAP 3.2 is itself that node."""
    plugin: dict[str, Any] = stage.get("plugin") or stage
    return plugin


def change_stages(document: PipelineDocument, changes: Mapping[str, StageChange]) -> Any:
    """Return a copy of the document's source with changed stage nodes.

    :param changes: by stage, changes its node in place.
    """
    source = copy.deepcopy(document.source)
    if not changes:
        return source

    def rewrite(config: Any) -> None:
        for stage in (*document.stages, *document.post_actions):
            if stage.name in changes:
                changes[stage.name](_get_node(config, stage.path))

    return _rewrite_at(source, list(document.config_path), rewrite)


def rename_pipeline(document: PipelineDocument, name: str) -> Any:
    """Return a copy of the document's source in which the pipeline has this name.

    The name replaces the one that :func:`.reader.read_document` found; an envelope without a name gets one,
    a bare configuration without a name stays as it is.
    """
    source = copy.deepcopy(document.source)
    depth = len(document.config_path)
    for length in (*range(depth - 1, -1, -1), depth):
        path = list(document.config_path[:length])
        if _read_at(source, path).get("name") is not None:
            break
    else:
        path = []
        if not depth:
            return source
    return _rewrite_at(source, path, lambda node: node.update(name=name))


def copy_configuration(document: PipelineDocument) -> Any:
    """Return a copy of the decoded configuration; one of CDAP 3 is not converted."""
    return copy.deepcopy(_read_at(document.source, list(document.config_path)))


def _read_at(node: Any, path: Sequence[str | int]) -> Any:
    """Return the node at the path, through JSON text on the way."""
    for key in path:
        node = _decode(node)[key]
    return _decode(node)


def _decode(node: Any) -> Any:
    return json.loads(node) if isinstance(node, str) else node


def _rewrite_at(node: Any, path: list[str | int], rewrite: Callable[[Any], None]) -> Any:
    """Return the node with the configuration at the path rewritten; JSON text on the way stays JSON text."""
    if isinstance(node, str):
        return encode_json(_rewrite_at(json.loads(node), path, rewrite))
    if path:
        node[path[0]] = _rewrite_at(node[path[0]], path[1:], rewrite)
    else:
        rewrite(node)
    return node


def _get_node(config: Any, path: Path) -> Any:
    for key in path:
        config = config[key]
    return config
