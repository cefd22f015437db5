"""What plugin code emits into. They are lists, so that emitting a record costs no Python frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localcdap.api.stage import Record
from localcdap.engine.tasks.chunks import FailedRecord


class RecordEmitter(list[Record]):
    """Collects what a stage emits: a list of output records that can be called."""

    __call__ = list.append

    def __init__(self, stage: str) -> None:
        super().__init__()
        self._stage = stage
        self.errors: list[FailedRecord] = []
        self.alerts = 0

    def error(self, record: Record, code: int, message: str) -> None:
        self.errors.append(FailedRecord(record, code, message, self._stage))

    def alert(self, payload: Mapping[str, str]) -> None:
        self.alerts += 1


class PortsEmitter:
    """Collects what a splitter emits, by port; ports that nothing reads only count."""

    def __init__(self, ports: Mapping[str, Any]) -> None:
        self.ports: dict[str, list[Record]] = {port: [] for port in ports}

    def __call__(self, port: str, record: Record) -> None:
        records = self.ports.get(port)
        if records is not None:
            records.append(record)
