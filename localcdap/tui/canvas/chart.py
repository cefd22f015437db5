"""The graph that is drawn, stages and connections without the content of the stages; and the zoom levels."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Final

from localcdap.api.pipeline import StageConnection
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.rules.graph import ALERT_PUBLISHER, ERROR_TRANSFORM


class PortKind(enum.IntEnum):
    """The records that a connection carries, which decides its look. In the order of the ports at a stage."""

    RECORDS = 0
    PORT = 1
    """Records of one port of a splitter."""
    TRUE = 2
    FALSE = 3
    ERRORS = 4
    ALERTS = 5
    BACK = 6
    """Records of a connection that closes a cycle, which no pipeline may have."""
    INDIRECT = 7
    """No records: an influence on values, in lineage."""


@dataclass(frozen=True, slots=True)
class Port:
    """An output of a stage.

    :param label: the text at the connection.
    """

    kind: PortKind = PortKind.RECORDS
    label: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A connection from one stage to another."""

    source: str
    target: str
    port: Port = Port()


@dataclass(frozen=True, slots=True)
class Chart:
    """A graph to draw. Equal charts have equal drawings.

    :param nodes: names of stages, each once, in document order.
    :param links: connections between the nodes, each once.
    :param endings: post actions, which are outside of the graph.
    """

    nodes: tuple[str, ...]
    links: tuple[Link, ...] = ()
    endings: tuple[str, ...] = ()


def build_chart(document: PipelineDocument) -> Chart:
    """Return the chart of a document, without connections to stages that do not exist."""
    types = {stage.name: stage.plugin.type for stage in reversed(document.stages)}
    links = [
        Link(each.source, each.target, _find_port(each, types.get(each.target, "")))
        for each in document.connections
        if each.source in types and each.target in types
    ]
    endings = [stage.name for stage in document.post_actions if stage.name not in types]
    names = dict.fromkeys(stage.name for stage in document.stages)
    return Chart(tuple(names), tuple(dict.fromkeys(links)), tuple(dict.fromkeys(endings)))


def _find_port(connection: StageConnection, target_type: str) -> Port:
    if connection.condition is not None:
        kind = PortKind.TRUE if connection.condition else PortKind.FALSE
        return Port(kind, str(connection.condition).lower())
    if connection.port is not None:
        return Port(PortKind.PORT, connection.port)
    if target_type == ERROR_TRANSFORM:
        return Port(PortKind.ERRORS, "errors")
    if target_type == ALERT_PUBLISHER:
        return Port(PortKind.ALERTS, "alerts")
    return Port()


@dataclass(frozen=True, slots=True)
class Zoom:
    """Sizes in cells.

    :param level: its index in :data:`ZOOMS`.
    :param width: minimum width of a stage.
    :param most: maximum width of a stage.
    :param height: height of a stage with few ports.
    :param first: row of the input and of the first port, counted from the top.
    :param below: rows below the last port.
    :param gap: rows between stages of a column.
    :param lead: columns between a stage and the first column where connections may turn.
    :param track: columns from one turn to the next.
    :param tail: columns for the arrow heads.
    """

    level: int
    width: int
    most: int
    height: int
    first: int
    below: int
    gap: int
    lead: int
    track: int
    tail: int
    has_labels: bool

    def get_height(self, ports: int) -> int:
        """Return the height of a stage with a number of ports."""
        return max(self.height, self.first + ports + self.below)

    def with_width(self, width: int) -> Zoom:
        """Return this zoom with another width of stages, within its limits."""
        width = max(self.width, min(width, self.most))
        return self if width == self.width else replace(self, width=width)


NORMAL: Final = Zoom(0, 26, 40, 4, 1, 1, 1, 1, 2, 2, has_labels=True)
SNUG: Final = Zoom(1, 15, 22, 3, 1, 1, 0, 1, 1, 2, has_labels=True)
COMPACT: Final = Zoom(2, 15, 22, 1, 0, 0, 0, 1, 1, 2, has_labels=True)
DOTS: Final = Zoom(3, 3, 3, 1, 0, 0, 0, 0, 1, 1, has_labels=False)

ZOOMS: Final = (NORMAL, SNUG, COMPACT, DOTS)
"""From near to far."""
