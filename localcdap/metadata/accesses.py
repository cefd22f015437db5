"""Accesses of runs to datasets, in lineage, in the audit log, and as entities.

USER metadata goes along with the records of a run, from its sources to its sinks. The document "Metadata From
Programs and Pipelines" leaves it to the future that a pipeline does so by itself.

Lineage that the setting ``lineage.retention.days`` does not keep is removed: by default, none.

CDAP creates a dataset of the type ``externalDataset`` when a program first uses a reference name
(``ExternalDatasets.registerLineage``). Here it also has the schema of the records, and the table of the
instance that holds the data, if there is one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.app.events import EntityCreated, EntityEvent, EntityUpdated
from localcdap.api.dataset.specification import SCHEMA
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.dataset.types.external import EXTERNAL_TYPE, TABLE
from localcdap.api.errors import UnauthorizedError
from localcdap.api.lineage import EdgeType, StageLineage
from localcdap.api.metadata import WORKFLOW, WORKFLOW_NAME, Metadata, MetadataEntity, ScopedMetadata
from localcdap.api.pipeline import StageConnection
from localcdap.api.security import Authorizer, Permission
from localcdap.metadata.audit import AuditLog, AuditMessage, AuditType
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField
from localcdap.metadata.lineage.pipeline_lineage import build_lineage
from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetId,
    ProgramId,
    ProgramRunId,
    Relation,
)
from localcdap.metadata.lineage.store import LineageStore
from localcdap.metadata.records import UpdateMutation
from localcdap.metadata.store import MetadataStore
from localcdap.pipeline.rules.graph import CONDITION
from localcdap.security.principals import current_principal, get_current_user
from localcdap.store import dataset_catalog, table_catalog
from localcdap.store.store import Transaction


class DatasetUse(msgspec.Struct, frozen=True):
    """A dataset that a run has read or written."""

    dataset: str
    is_write: bool
    document: str | None = None
    """The schema of its records; None when it is not known."""
    tables: tuple[str, ...] = ()
    """The tables of the instance that hold the data."""


def keep_external_datasets(
    tx: Transaction, namespace: str, uses: Iterable[DatasetUse]
) -> list[tuple[type[EntityEvent], str]]:
    """Create an external dataset for each used name that neither a table nor a dataset has.

    One whose table has changed its schema, or is another one, follows it. Others stay as they are.

    :returns: the names that were created or updated.
    """
    changes: list[tuple[type[EntityEvent], str]] = []
    names = table_catalog.list_names(tx, namespace)
    for use in {each.dataset: each for each in uses if each.dataset not in names}.values():
        held = dataset_catalog.find_dataset(tx, namespace, use.dataset)
        properties = _make_properties(tx, namespace, use)
        if held is not None:
            given = held.specification.properties
            if held.specification.type != EXTERNAL_TYPE or TABLE not in properties:
                continue
            properties = {**given, **properties}
            if properties == given:
                continue
        specification = BUILT_IN_TYPES[EXTERNAL_TYPE].configure(use.dataset, properties)
        dataset_catalog.save_dataset(tx, namespace, specification)
        changes.append((EntityCreated if held is None else EntityUpdated, use.dataset))
    return changes


def _make_properties(tx: Transaction, namespace: str, use: DatasetUse) -> dict[str, str]:
    entry = table_catalog.find_entry(tx, namespace, use.tables[0]) if len(use.tables) == 1 else None
    if entry is not None:
        return {SCHEMA: entry.document, TABLE: entry.name}
    return {} if use.document is None else {SCHEMA: use.document}


_DAY_MS: Final = 86_400_000
_EVERY_MS: Final = 3_600_000
"""The time between two removals, so that few runs wait for one."""


class LineageRetention:
    """Removes the lineage of old runs: what they accessed, and their operations on fields.

    The edges between columns stay: each application has only those of its present version. Threads may
    share it.

    :param days: for which the lineage of a run is kept, from the time in its id; 0: for ever.
    """

    def __init__(self, lineage: LineageStore, days: float = 0.0) -> None:
        self._lineage = lineage
        self._days = days
        self._lock = threading.Lock()
        self._next = 0

    def apply(self, tx: Transaction) -> bool:
        """Remove what is too old in a transaction, at most once an hour; return whether it looked."""
        now = time.time_ns() // 1_000_000
        with self._lock:
            if not self._days or now < self._next:
                return False
            self._next = now + _EVERY_MS
        self._lineage.remove_before(tx, now - int(self._days * _DAY_MS))
        return True


DatasetPairs = Collection[tuple[DatasetId, DatasetId]]
"""Pairs of a source and a sink."""


class MetadataPropagation:
    """Adds the USER metadata of sources to sinks, and of their fields to the fields that are made of them.

    Nothing is removed, and what a target has wins. Of several sources the first in alphabetical order wins.

    A field whose original values cannot be seen any more gets nothing of them: the tag ``PII`` must not come
    back to a column that was masked because of it. The original has no such feature; there, programs emit
    what they want to carry along.

    :param authorizer: decides what the principal who acts may see and change.
    """

    def __init__(self, metadata: MetadataStore, authorizer: Authorizer) -> None:
        self._metadata = metadata
        self._authorizer = authorizer

    def propagate(
        self, tx: Transaction, pairs: DatasetPairs, edges: Iterable[ColumnEdge]
    ) -> list[str]:
        """Add metadata as part of a transaction; return what the principal may not see or change, in words.

        :param edges: of the pipeline; those between fields of a pair count that are direct and certain, and
            do not mask.
        """
        problems: list[str] = []
        sources_by_target: dict[MetadataEntity, list[MetadataEntity]] = {}
        for source, target in sorted(_list_entities(pairs, edges), key=str):
            sources_by_target.setdefault(target, []).append(source)
        for target, sources in sources_by_target.items():
            try:
                self._add(tx, target, sources)
            except UnauthorizedError as error:
                problems.append(f"Metadata does not go to {target.describe()}: {error.message}")
        return problems

    def _add(
        self, tx: Transaction, target: MetadataEntity, sources: Collection[MetadataEntity]
    ) -> None:
        """Add the metadata of sources to a target.

        :raises UnauthorizedError: when there is some, and the principal may not see or change it.
        """
        principal = current_principal()
        found = Metadata()
        for source in sources:
            user = self._metadata.read(tx, source).user
            if user.is_empty():
                continue
            self._authorizer.enforce(principal, source, [])
            found = _merge(user, found)
        held = self._metadata.read(tx, target).user
        if _merge(found, held) != held:
            self._authorizer.enforce(principal, target, [Permission.WRITE])
            added = ScopedMetadata(user=_merge(found, held))
            self._metadata.apply(tx, [UpdateMutation(target, added)])


def _merge(more: Metadata, held: Metadata) -> Metadata:
    """Return metadata with what it lacks of other metadata."""
    return Metadata.of(more.properties | held.properties, [*held.tags, *more.tags])


def _list_entities(
    pairs: DatasetPairs, edges: Iterable[ColumnEdge]
) -> Iterator[tuple[MetadataEntity, MetadataEntity]]:
    """Yield sources and targets, datasets and fields."""
    for source, target in pairs:
        yield source.to_entity(), target.to_entity()
    for edge in edges:
        influence = edge.influence
        is_direct = influence.kind.type is EdgeType.DIRECT and not influence.assumed
        is_carried = is_direct and not influence.masking
        if is_carried and (edge.source.dataset, edge.target.dataset) in pairs:
            yield _to_entity(edge.source), _to_entity(edge.target)


def _to_entity(field: DatasetField) -> MetadataEntity:
    return field.dataset.to_entity().append("field", field.field or "")


_CLIENT: Final = {"service": "localcdap", "entity": "SYSTEM_SERVICE"}
"""The accessor of a client that is not a program, as messages of the original name its services."""


class AccessRecorder:
    """Records what runs read and write, as part of a transaction.

    :param retention: removes old lineage while new is recorded.
    """

    def __init__(
        self,
        lineage: LineageStore,
        metadata: MetadataStore,
        audit: AuditLog,
        retention: LineageRetention | None = None,
    ) -> None:
        self._retention = retention or LineageRetention(lineage)
        self._lineage = lineage
        self._metadata = metadata
        self._audit = audit

    def record(
        self,
        tx: Transaction,
        namespace: str,
        pipeline: str,
        run: str,
        user: str | None,
        uses: Sequence[DatasetUse],
    ) -> None:
        """Record the datasets that a run of a pipeline has used."""
        program = ProgramId(namespace, pipeline, WORKFLOW, WORKFLOW_NAME)
        relations = [
            Relation(
                DatasetId(namespace, each.dataset),
                program,
                AccessType.WRITE if each.is_write else AccessType.READ,
                run,
            )
            for each in uses
        ]
        self._retention.apply(tx)
        self._lineage.add_relations(tx, set(relations))
        accessor = _describe_accessor(program, run)
        now = time.time_ns() // 1_000_000
        accesses = dict.fromkeys((each.dataset, each.is_write) for each in uses)
        self._audit.write(
            tx,
            [
                AuditMessage(
                    now,
                    MetadataEntity.of_dataset(dataset, namespace),
                    user or "",
                    AuditType.ACCESS,
                    {"accessType": "WRITE" if is_write else "READ", "accessor": accessor},
                )
                for dataset, is_write in accesses
            ],
        )

    def record_access(
        self,
        tx: Transaction,
        dataset: DatasetId,
        run: ProgramRunId | None,
        *,
        audited: Collection[AccessType],
        related: Collection[AccessType],
    ) -> None:
        """Record what a method of a dataset did.

        :param run: of the program; None for a client that is not a program, which has no lineage.
        :param audited: the accesses for the audit log.
        :param related: the accesses for lineage.
        """
        if run is not None and related:
            self._retention.apply(tx)
            self._lineage.add_relations(
                tx, {Relation(dataset, run.program, each, run.run) for each in related}
            )
        now, user = time.time_ns() // 1_000_000, get_current_user() or ""
        accessor = _CLIENT if run is None else _describe_accessor(run.program, run.run)
        self._audit.write(
            tx,
            [
                AuditMessage(
                    now,
                    dataset.to_entity(),
                    user,
                    AuditType.ACCESS,
                    {"accessType": each.name, "accessor": accessor},
                )
                for each in audited
            ],
        )

    def record_fields(
        self,
        tx: Transaction,
        namespace: str,
        pipeline: str,
        run: str,
        stages: Sequence[StageLineage],
        connections: Iterable[StageConnection],
    ) -> list[str]:
        """Record the field lineage of a run of a pipeline that has committed.

        The edges take the place of those that the pipeline had; where it has conditions, whose other branch
        this run may have left out, they are added.

        :returns: what is wrong with the lineage.
        """
        found = build_lineage(stages, connections, namespace)
        edges, places = found.edges, found.places
        if any(stage.type == CONDITION for stage in stages):
            edges = [*self._lineage.list_edges(tx, namespace, pipeline), *edges]
            places = [*self._lineage.list_places(tx, namespace, pipeline), *places]
        self._lineage.replace_edges(tx, namespace, pipeline, edges, places)
        if found.operations is not None:
            program = ProgramId(namespace, pipeline, WORKFLOW, WORKFLOW_NAME)
            self._lineage.add_operations(tx, ProgramRunId(program, run), found.operations)
        return found.warnings

    def propagate(
        self,
        tx: Transaction,
        namespace: str,
        pipeline: str,
        flows: Sequence[tuple[str, str]],
        authorizer: Authorizer,
    ) -> list[str]:
        """Carry USER metadata along with the records of a pipeline, see :class:`MetadataPropagation`.

        :param flows: pairs of the names of a source and a sink.
        """
        pairs = {(DatasetId(namespace, one), DatasetId(namespace, other)) for one, other in flows}
        edges = self._lineage.list_edges(tx, namespace, pipeline)
        return MetadataPropagation(self._metadata, authorizer).propagate(tx, pairs, edges)


def _describe_accessor(program: ProgramId, run: str) -> dict[str, Any]:
    """Return the run as audit messages of the original have it."""
    return {
        "namespace": program.namespace,
        "application": program.application,
        "version": program.version,
        "type": program.type,
        "program": program.program,
        "run": run,
        "entity": "PROGRAM_RUN",
    }
