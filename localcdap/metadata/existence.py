"""Whether an entity of a CDAP type exists, from where entities of its type are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from localcdap.api.errors import NotFoundError
from localcdap.api.metadata import (
    APPLICATION,
    ARTIFACT,
    DATASET,
    PROGRAM,
    PROGRAM_RUN,
    SCHEDULE,
    VERSION,
    MetadataEntity,
)
from localcdap.artifacts.service import ArtifactService
from localcdap.pipeline.library import application_records
from localcdap.store import table_catalog
from localcdap.store.store import Transaction
from localcdap.text import format_available

EntityCheck: TypeAlias = Callable[[Transaction, MetadataEntity], object]
"""Raises NotFoundError, with the nearest names, when there is no such entity."""


def create_checks(artifacts: ArtifactService) -> Mapping[str, EntityCheck]:
    """Return how an entity is found, by type. Entities of other types need not exist."""

    def require_artifact(tx: Transaction, entity: MetadataEntity) -> None:
        del tx
        wanted = f"{entity.name} {entity.details[VERSION]}"
        known = {f"{each.name} {each.version}" for each in artifacts.list_artifacts(_get(entity))}
        if wanted not in known:
            raise NotFoundError(
                f"There is no artifact '{wanted}' in namespace '{entity.namespace}'; available: "
                f"{format_available(wanted, sorted(known))}."
            )

    return {ARTIFACT: require_artifact, DATASET: _require_table} | dict.fromkeys(
        _IN_APPLICATIONS, _require_application
    )


def _require_table(tx: Transaction, entity: MetadataEntity) -> None:
    table_catalog.read_schema_and_key(tx, _get(entity), entity.name)


def _require_application(tx: Transaction, entity: MetadataEntity) -> None:
    application_records.find(tx, _get(entity), entity.details[APPLICATION])


def _get(entity: MetadataEntity) -> str:
    return entity.namespace or ""


_IN_APPLICATIONS: Final = (APPLICATION, PROGRAM, SCHEDULE, PROGRAM_RUN)
