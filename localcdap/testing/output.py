"""What a stage emits in a test."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from localcdap.api.stage import Record


@dataclasses.dataclass
class StageOutput:
    """All that a stage gave, each list in the order in which it was emitted."""

    records: list[Record] = dataclasses.field(default_factory=list)
    ports: dict[str, list[Record]] = dataclasses.field(default_factory=dict)
    """By port of a splitter, whether it got records or not; others are not there."""
    errors: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """Error records, each with ``record``, ``code``, ``message`` and ``stage``."""
    alerts: list[dict[str, str]] = dataclasses.field(default_factory=list)
    metrics: dict[str, int] = dataclasses.field(default_factory=dict)
    """The plugin's own counters."""
    arguments: dict[str, str] = dataclasses.field(default_factory=dict)
    """What an action has set."""


class CollectingEmitter:
    """A :class:`localcdap.api.stage.Emitter`."""

    def __init__(self, stage: str, output: StageOutput) -> None:
        self._stage = stage
        self._output = output

    def __call__(self, record: Record) -> None:
        self._output.records.append(record)

    def error(self, record: Record, code: int, message: str) -> None:
        rejected = {"record": record, "code": code, "message": message, "stage": self._stage}
        self._output.errors.append(rejected)

    def alert(self, payload: Mapping[str, str]) -> None:
        self._output.alerts.append(dict(payload))


class CollectingPorts:
    """A :class:`localcdap.api.stage.PortEmitter`, which drops what goes to ports that are not declared."""

    def __init__(self, output: StageOutput) -> None:
        self._output = output

    def __call__(self, port: str, record: Record) -> None:
        records = self._output.ports.get(port)
        if records is not None:
            records.append(record)
