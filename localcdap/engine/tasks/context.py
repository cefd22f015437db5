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
from localcdap.api.metadata import Metadata, MetadataEntity, MetadataScope, ScopedMetadata
from localcdap.api.schema import Schema
from localcdap.api.stage import Metrics, NoticeKind
from localcdap.api.tables import Lookup
from localcdap.engine.tasks.lookups import FileLookup, LookupFile

STAGE_LOGGER: Final = "localcdap.stage."
"""Prefix of the name of a stage's logger."""
_MOST_SHOWN: Final = 200
"""Characters of an altered value that are kept."""


class EntityMetadata(msgspec.Struct):
    """The metadata of an entity that a plugin declares to read."""

    entity: MetadataEntity
    metadata: ScopedMetadata


class StageContextData(msgspec.Struct):
    """The values of a stage's context, which can be sent to a worker."""

    stage_name: str
    namespace: str
    run_id: str
    arguments: dict[str, str]
    logical_start_time: datetime.datetime
    input_schemas: dict[str, Schema]
    output_schema: Schema | None
    error_schema: Schema | None
    port_schemas: dict[str, Schema]
    pipeline: str = ""
    pipeline_version: str | None = None
    lookups: list[LookupFile] = []
    """The tables that the plugin declares to look into."""
    metadata: list[EntityMetadata] = []
    """The metadata that the plugin declares to read."""


class CountingMetrics:
    """User metrics, added up in this process."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, name: str, delta: int = 1) -> None:
        """Add to a metric."""
        # A name or number that a report cannot hold must fail here, where the plugin counts.
        name, delta = str(name), operator.index(delta)
        with self._lock:
            self.counts[name] += delta

    def take(self) -> dict[str, int]:
        """Return what was added since the last call."""
        if not self.counts:
            return {}
        with self._lock:
            taken, self.counts = self.counts, Counter()
        return dict(taken)


class AlteredCounts:
    """What plugin code of a stage has altered or dropped, added up in this process."""

    def __init__(self) -> None:
        self._counts: Final[dict[tuple[str, NoticeKind], tuple[int, str]]] = {}
        self._lock: Final = threading.Lock()

    def add(
        self, change: str, first: str, number: int = 1, kind: NoticeKind = NoticeKind.VALUES
    ) -> None:
        """Add values; see :meth:`localcdap.api.stage.StageContext.count_altered`."""
        key, number = (str(change), NoticeKind(kind)), operator.index(number)
        with self._lock:
            counted, place = self._counts.get(key, (0, str(first)[:_MOST_SHOWN]))
            self._counts[key] = counted + number, place

    def take(self) -> list[tuple[str, int, str, NoticeKind]]:
        """Return what was added since the last call: change, number, the first value and kind of each."""
        if not self._counts:
            return []
        with self._lock:
            taken = [(change, *counted, kind) for (change, kind), counted in self._counts.items()]
            self._counts.clear()
        return taken


class WorkerStageContext:
    """The :class:`localcdap.api.stage.StageContext` of a plugin in a worker, made of
    :class:`StageContextData`.
    """

    def __init__(
        self,
        data: StageContextData,
        metrics: Metrics | None = None,
        altered: AlteredCounts | None = None,
    ) -> None:
        self.stage_name: str = data.stage_name
        self.namespace: str = data.namespace
        self.pipeline: str = data.pipeline
        self.run_id: str = data.run_id
        self.pipeline_version: str | None = data.pipeline_version
        self.arguments: Mapping[str, str] = data.arguments
        self.logical_start_time: datetime.datetime = data.logical_start_time
        self.input_schemas: Mapping[str, Schema] = data.input_schemas
        self.output_schema: Schema | None = data.output_schema
        self.error_schema: Schema | None = data.error_schema
        self.port_schemas: Mapping[str, Schema] = data.port_schemas
        self.logger: logging.Logger = logging.getLogger(STAGE_LOGGER + data.stage_name)
        self.metrics: Metrics = metrics or CountingMetrics()
        self.altered: AlteredCounts = altered or AlteredCounts()
        self.lookups: dict[str, Lookup] = {file.name: FileLookup(file) for file in data.lookups}
        self._metadata = {each.entity: each.metadata for each in data.metadata}
        self._takes_records = False

    @property
    def input_schema(self) -> Schema:
        """The schema of the inputs; all have the same.

        :raises StageError: for a source.
        """
        for schema in self.input_schemas.values():
            return schema
        raise StageError(f"Stage '{self.stage_name}' has no input.", stage=self.stage_name)

    def lookup(self, table: str) -> Lookup:
        """Return the lookup of a table.

        :raises StageError: when the plugin did not name the table.
        """
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

    def count_altered(
        self, change: str, first: str, number: int = 1, kind: NoticeKind = NoticeKind.VALUES
    ) -> None:
        """See :meth:`localcdap.api.stage.StageContext.count_altered`."""
        self.altered.add(change, first, number, kind)

    def start_records(self) -> None:
        """Refuse the reading of metadata from now on: ``initialize`` has ended."""
        self._takes_records = True

    def get_metadata(self, scope: MetadataScope, entity: MetadataEntity) -> Metadata:
        """Return the metadata of an entity that the plugin declares to read.

        :raises StageError: when it does not, or after ``initialize``.
        """
        resolved = entity.resolve(self.namespace)
        if self._takes_records:
            raise StageError(
                f"Stage '{self.stage_name}' reads the metadata of {resolved.describe()} while it handles "
                "records.",
                "Read it in prepare_run or initialize, and keep what is needed.",
                stage=self.stage_name,
            )
        found = self._metadata.get(resolved)
        if found is None:
            raise StageError(
                f"Stage '{self.stage_name}' reads the metadata of {resolved.describe()}, which its plugin "
                "does not declare.",
                "The plugin's method metadata_entities must return it; or read it in prepare_run.",
                stage=self.stage_name,
            )
        return found.get(scope)
