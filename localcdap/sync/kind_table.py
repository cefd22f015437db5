"""The table of the kinds of entities that are synchronized. A new kind is a class, and a line here."""

from __future__ import annotations

from collections.abc import Sequence

from localcdap.artifacts.service import ArtifactService
from localcdap.metadata.service import MetadataService
from localcdap.namespaces.connections import ConnectionService
from localcdap.namespaces.preferences import PreferenceService
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.library.drafts import DraftService
from localcdap.schedules.service import ScheduleService
from localcdap.sync.kinds import EntityKind
from localcdap.sync.namespace_entities import (
    ConnectionEntities,
    MetadataEntities,
    PreferenceEntities,
)
from localcdap.sync.pipelines import DraftEntities, PipelineEntities
from localcdap.sync.schedules import ScheduleEntities
from localcdap.sync.secrets import SecretFinder


def create_kinds(
    applications: ApplicationService,
    drafts: DraftService,
    connections: ConnectionService,
    preferences: PreferenceService,
    schedules: ScheduleService,
    metadata: MetadataService,
    artifacts: ArtifactService,
) -> Sequence[EntityKind]:
    """Return all kinds, in the order in which their entities are written."""
    secrets = SecretFinder(artifacts)
    return [
        ConnectionEntities(connections, secrets),
        PreferenceEntities(preferences),
        PipelineEntities(applications, secrets),
        ScheduleEntities(schedules),
        DraftEntities(drafts, secrets),
        MetadataEntities(metadata),
    ]
