"""The stage context of plugin code that runs in a Python worker of Spark."""

from __future__ import annotations

import datetime
import logging
import operator
import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final

import msgspec

from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.api.stage import Metrics
from localcdap.api.tables import Lookup
from localcdap.engine.tasks.lookups import FileLookup, LookupFile

STAGE_LOGGER: Final = "localcdap.stage."
"""Prefix of the name of a stage's logger."""


class StageFacts(msgspec.Struct):
    """What a stage may know at run time, as plain values."""

    stage_name: str
    namespace: str
    run_id: str
    arguments: dict[str, str]
    logical_start_time: datetime.datetime
    input_schemas: dict[str, Schema]
    output_schema: Schema | None
    error_schema: Schema | None
    port_schemas: dict[str, Schema]
    lookups: list[LookupFile] = []
    """The tables that the plugin named."""


class CountingMetrics:
    """User metrics that are added up in this process."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, name: str, delta: int = 1) -> None:
        # A metric that no report can hold must fail where it is counted.
        name, delta = str(name), operator.index(delta)
        with self._lock:
            self.counts[name] += delta

    def take(self) -> dict[str, int]:
        """What was added since the last time."""
        if not self.counts:
            return {}
        with self._lock:
            taken, self.counts = self.counts, Counter()
        return dict(taken)


class FactsContext:
    """A :class:`localcdap.api.stage.StageContext` made of :class:`StageFacts`."""

    def __init__(self, facts: StageFacts, metrics: Metrics | None = None) -> None:
        self.stage_name: str = facts.stage_name
        self.namespace: str = facts.namespace
        self.run_id: str = facts.run_id
        self.arguments: Mapping[str, str] = facts.arguments
        self.logical_start_time: datetime.datetime = facts.logical_start_time
        self.input_schemas: Mapping[str, Schema] = facts.input_schemas
        self.output_schema: Schema | None = facts.output_schema
        self.error_schema: Schema | None = facts.error_schema
        self.port_schemas: Mapping[str, Schema] = facts.port_schemas
        self.logger: logging.Logger = logging.getLogger(STAGE_LOGGER + facts.stage_name)
        self.metrics: Metrics = metrics or CountingMetrics()
        self.lookups: dict[str, Lookup] = {file.name: FileLookup(file) for file in facts.lookups}

    @property
    def input_schema(self) -> Schema:
        """The schema common to the inputs.

        :raises StageError: for a source.
        """
        for schema in self.input_schemas.values():
            return schema
        raise StageError(f"Stage '{self.stage_name}' has no input.", stage=self.stage_name)

    def lookup(self, table: str) -> Lookup:
        """:raises StageError: when the plugin did not name the table."""
        found = self.lookups.get(table)
        if found is None:
            named = ", ".join(f"'{each}'" for each in self.lookups) or "none"
            raise StageError(
                f"Stage '{self.stage_name}' looks into table '{table}', which its plugin does not name "
                f"among its tables; it names: {named}.",
                "The plugin's method lookup_tables must name it.",
                stage=self.stage_name,
            )
        return found
