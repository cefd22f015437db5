"""A document's stages and connections, prepared for the rules."""

from __future__ import annotations

import copy
from functools import cached_property

from localcdap.api.pipeline import StageConnection
from localcdap.pipeline.document.model import PipelineDocument, PipelineType, StageUse
from localcdap.pipeline.rules.graph import Graph
from localcdap.pipeline.rules.plugin_types import (
    ACTIONS,
    BATCH,
    CONDITION,
    CONTROL,
    SINKS,
    SOURCES,
    STREAMING,
)


class PipelineStructure:
    """The stages and connections of a document. Of stages with the same name the first one counts."""

    def __init__(self, document: PipelineDocument) -> None:
        self.document = document
        self.types: dict[str, str] = {}
        """Plugin type by stage; empty where the document does not state it."""
        self.stages, self.duplicates = _index_stages(document)
        """Stages by name, and further stages with a name that is taken already."""
        for stage in document.stages:
            self.types.setdefault(stage.name, stage.plugin.type)
        self.graph = Graph(self.types, document.connections)
        self.dangling: list[tuple[StageConnection, str]] = [
            (connection, name)
            for connection in document.connections
            for name in (connection.source, connection.target)
            if name not in self.types
        ]
        """Connections with an end that is not a stage, and the name of that end."""
        self.loose: frozenset[str] = frozenset(
            name
            for connection, _ in self.dangling
            for name in (connection.source, connection.target)
        )
        """Stages whose neighbour is unknown because of a dangling connection."""
        known = BATCH | STREAMING if document.type is PipelineType.STREAMING else BATCH
        self.unknown: frozenset[str] = frozenset(s for s, t in self.types.items() if t not in known)
        """Stages with an unknown type, and so an unknown role."""

    def with_document(self, document: PipelineDocument) -> PipelineStructure:
        """Return a copy for a document that differs only in plugin names, artifacts and properties."""
        renewed = copy.copy(self)
        renewed.document = document
        renewed.stages, renewed.duplicates = _index_stages(document)
        return renewed

    @cached_property
    def order(self) -> list[str]:
        """See :meth:`Graph.order`."""
        return self.graph.sort()

    @cached_property
    def cyclic_groups(self) -> list[list[str]]:
        """See :meth:`Graph.cyclic_groups`."""
        return self.graph.find_cyclic_groups()

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

    def list_stages(self, type: str) -> list[str]:
        return [stage for stage, each in self.types.items() if each == type]


def _index_stages(document: PipelineDocument) -> tuple[dict[str, StageUse], list[StageUse]]:
    first: dict[str, StageUse] = {}
    further = [s for s in document.stages if first.setdefault(s.name, s) is not s]
    return first, further
