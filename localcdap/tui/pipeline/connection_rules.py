"""The rules for connections between stages, and names of new stages."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from localcdap.api.failures import ArtifactId
from localcdap.api.pipeline import StageConnection
from localcdap.artifacts.model import PluginSummary
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.values import artifact_to_json
from localcdap.pipeline.editing.edits import Connect, Disconnect
from localcdap.pipeline.editing.incremental_validator import StageState
from localcdap.pipeline.rules.graph import (
    CONDITION,
    CONTROL,
    ERROR_EMITTERS,
    ERROR_TRANSFORM,
    POST_ACTION,
    SINKS,
    SOURCES,
    SPLITTER,
)

_CONDITIONS: Final = ("true", "false")


@dataclass(frozen=True)
class OutputBranch:
    """An output of a stage: its normal output, a port, a branch or its errors."""

    port: str | None = None
    condition: str | None = None

    @property
    def label(self) -> str:
        return self.port or self.condition or ""

    def connect_edit(self, source: str, target: str) -> Connect:
        return Connect(source, target, port=self.port, condition=self.condition)


class ConnectionRules:
    """The stages of a document and the lines between them."""

    def __init__(self, document: PipelineDocument) -> None:
        self.types = {stage.name: stage.plugin.type for stage in reversed(document.stages)}
        self.endings = frozenset(s.name for s in document.post_actions) - self.types.keys()
        self.connections = document.connections

    def list_branches(self, stage: str, state: StageState | None = None) -> list[OutputBranch]:
        """Return the outputs of a stage, unconnected ones first.

        :param state: what is known of the stage; it names the ports of a splitter.
        """
        taken = [each for each in self.connections if each.source == stage]
        match self.types.get(stage):
            case type if type == CONDITION:
                used = {each.branch for each in taken}
                return [
                    OutputBranch(condition=c) for c in sorted(_CONDITIONS, key=used.__contains__)
                ]
            case type if type == SPLITTER:
                used = {each.port for each in taken}
                ports = dict.fromkeys(state.port_schemas if state is not None else ())
                ports |= dict.fromkeys(each.port for each in taken if each.port)
                return [OutputBranch(port=port) for port in sorted(ports, key=used.__contains__)]
            case _:
                return [OutputBranch()]

    def rejection_reason(
        self, source: str, target: str, target_type: str | None = None
    ) -> str | None:
        """Return why two stages cannot be connected; None when they can.

        :param target_type: of a stage that is not there yet.
        """
        from_type = self.types.get(source)
        to_type = self.types.get(target) if target_type is None else target_type
        if from_type is None or to_type is None or to_type == POST_ACTION:
            return "post actions are not connected"
        if source == target:
            return "a stage is not connected to itself"
        orders = from_type in CONTROL or to_type in CONTROL
        if from_type in SINKS and not orders:
            return "a sink has no output"
        if to_type in SOURCES and not orders:
            return "a source has no input"
        if to_type == ERROR_TRANSFORM and from_type not in ERROR_EMITTERS:
            return f"{from_type} stages emit no errors"
        if from_type not in (CONDITION, SPLITTER) and self._are_connected(source, target):
            return "they are connected already"
        if target_type is None and self._is_upstream(target, source):
            return "the connection would make a cycle"
        return None

    def list_connections(self, stage: str) -> list[StageConnection]:
        """Return the connections from and to a stage."""
        return [each for each in self.connections if stage in (each.source, each.target)]

    def _are_connected(self, source: str, target: str) -> bool:
        return any(each.source == source and each.target == target for each in self.connections)

    def _is_upstream(self, start: str, end: str) -> bool:
        ahead, seen = [start], {start}
        while ahead:
            stage = ahead.pop()
            if stage == end:
                return True
            for each in self.connections:
                if each.source == stage and each.target not in seen:
                    seen.add(each.target)
                    ahead.append(each.target)
        return False


def disconnect_edit(connection: StageConnection) -> Disconnect:
    """Return the edit that removes this connection."""
    return Disconnect(
        connection.source,
        connection.target,
        port=connection.port,
        condition=None if connection.condition is None else connection.branch,
    )


def find_free_name(name: str, taken: Collection[str]) -> str:
    """Return the name, if necessary with the lowest number that makes it unique."""
    if name not in taken:
        return name
    number = 2
    while f"{name}{number}" in taken:
        number += 1
    return f"{name}{number}"


def build_stage(plugin: PluginSummary, taken: Collection[str]) -> dict[str, Any]:
    """Return a stage without properties, as JSON of a pipeline document."""
    name = find_free_name(plugin.name, taken)
    return {"name": name, "plugin": _build_plugin(plugin.name, plugin.type, plugin.artifact, name)}


def _build_plugin(name: str, type: str, artifact: ArtifactId, label: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": type,
        "label": label,
        "artifact": artifact_to_json(artifact),
        "properties": {},
    }


def format_connection(connection: StageConnection) -> str:
    """Return a connection as text."""
    branch = f" ({connection.branch})" if connection.branch else ""
    return f"{connection.source} → {connection.target}{branch}"
