"""Accesses of runs to datasets, in lineage, in the audit log, and as entities."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from localcdap.api.lineage import StageLineage
from localcdap.api.metadata import (
    DATASET,
    WORKFLOW,
    WORKFLOW_NAME,
    Metadata,
    MetadataEntity,
    ScopedMetadata,
)
from localcdap.api.pipeline import StageConnection
from localcdap.api.security import Authorizer
from localcdap.metadata.audit import AuditLog, AuditMessage, AuditType
from localcdap.metadata.lineage.pipeline_lineage import build_lineage
from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetId,
    ProgramId,
    ProgramRunId,
    Relation,
)
from localcdap.metadata.lineage.store import LineageStore
from localcdap.metadata.lineage_retention import LineageRetention
from localcdap.metadata.mutations import STANDARD_DIRECTIVES, CreateMutation
from localcdap.metadata.propagation import MetadataPropagation
from localcdap.metadata.records import CREATION_TIME, ENTITY_NAME
from localcdap.metadata.store import MetadataStore
from localcdap.metadata.system_metadata import SCHEMA
from localcdap.pipeline.rules.plugin_types import CONDITION
from localcdap.store import table_catalog
from localcdap.store.store import Transaction


class DatasetUse(msgspec.Struct, frozen=True):
    """A dataset that a run has read or written."""

    dataset: str
    is_write: bool
    document: str | None = None
    """The schema of its records; None when it is not known."""


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
        self._create_entities(tx, namespace, uses)
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

    def _create_entities(self, tx: Transaction, namespace: str, uses: Sequence[DatasetUse]) -> None:
        """Write the SYSTEM metadata of datasets that are not tables and have none yet.

        They stand for what lies outside of the instance (CDAP ``externalDataset``).
        """
        for use in {each.dataset: each for each in uses}.values():
            entity = MetadataEntity({"namespace": namespace, DATASET: use.dataset})
            if use.dataset in table_catalog.list_names(tx, namespace):
                continue
            if not self._metadata.read(tx, entity).system.is_empty():
                continue
            properties = {
                ENTITY_NAME: use.dataset,
                CREATION_TIME: str(time.time_ns() // 1_000_000),
            } | ({SCHEMA: use.document} if use.document else {})
            metadata = ScopedMetadata(system=Metadata.of(properties))
            self._metadata.apply(tx, [CreateMutation(entity, metadata, STANDARD_DIRECTIVES)])


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
