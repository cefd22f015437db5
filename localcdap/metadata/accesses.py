"""Accesses of runs to datasets, in lineage, in the audit log, and as entities."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from localcdap.api.lineage import StageLineage
from localcdap.api.metadata import (
    WORKFLOW,
    WORKFLOW_NAME,
    MetadataEntity,
)
from localcdap.api.pipeline import StageConnection
from localcdap.api.security import Authorizer
from localcdap.metadata.audit import AuditLog, AuditMessage, AuditType
from localcdap.metadata.external_datasets import DatasetUse
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
from localcdap.metadata.propagation import MetadataPropagation
from localcdap.metadata.store import MetadataStore
from localcdap.pipeline.rules.plugin_types import CONDITION
from localcdap.security.principals import get_current_user
from localcdap.store.store import Transaction

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
