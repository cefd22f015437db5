"""A document's stages and connections, prepared for the rules."""

from __future__ import annotations

from localcdap.api.pipeline import Connection
from localcdap.studio.graph import Graph
from localcdap.studio.model import App, PipelineDocument
from localcdap.studio.plugin_types import (
    ACTIONS,
    BATCH,
    CONDITION,
    CONTROL,
    SINKS,
    SOURCES,
    STREAMING,
)


class Structure:
    """What the rules ask about. Of stages with the same name the first one counts."""

    def __init__(self, document: PipelineDocument) -> None:
        self.document = document
        self.types: dict[str, str] = {}
        """Plugin type by stage; empty where the document does not say it."""
        for stage in document.stages:
            self.types.setdefault(stage.name, stage.plugin.type)
        self.graph = Graph(self.types, document.connections)
        self.dangling: list[tuple[Connection, str]] = [
            (connection, name)
            for connection in document.connections
            for name in (connection.source, connection.target)
            if name not in self.types
        ]
        """Connections to what is no stage, with the name that is none."""
        self.loose: frozenset[str] = frozenset(
            name
            for connection, _ in self.dangling
            for name in (connection.source, connection.target)
        )
        """Stages whose real neighbour is not known because of a dangling connection."""
        known = BATCH | STREAMING if document.app is App.STREAMING else BATCH
        self.unknown: frozenset[str] = frozenset(s for s, t in self.types.items() if t not in known)
        """Stages whose type, and so whose role, is not known."""

    def is_source(self, stage: str) -> bool:
        return self.types[stage] in SOURCES

    def is_sink(self, stage: str) -> bool:
        return self.types[stage] in SINKS

    def is_action(self, stage: str) -> bool:
        return self.types[stage] in ACTIONS

    def is_condition(self, stage: str) -> bool:
        return self.types[stage] == CONDITION

    def is_control(self, stage: str) -> bool:
        return self.types[stage] in CONTROL

    def stages_of(self, type: str) -> list[str]:
        return [stage for stage, each in self.types.items() if each == type]
