"""All routes, in the order of the page about compatibility."""

from __future__ import annotations

from typing import Final

from localcdap.server.rest.router import RestRouter, RouteTable
from localcdap.server.rest.routes import (
    applications,
    artifact_uploads,
    artifacts,
    connections,
    datasets,
    logs,
    metadata,
    namespaces,
    profiles,
    runs,
    schedules,
    studio,
    system,
)

TABLES: Final[tuple[RouteTable, ...]] = (
    system.SERVER,
    namespaces.NAMESPACES,
    applications.ROUTES,
    runs.BATCH,
    runs.RUNS,
    logs.LOGS,
    logs.METRICS,
    namespaces.PREFERENCES,
    namespaces.SECURE_KEYS,
    profiles.ROUTES,
    artifacts.ARTIFACTS,
    artifact_uploads.UPLOADS,
    studio.STUDIO,
    connections.CONNECTIONS,
    connections.OAUTH,
    studio.PREVIEWS,
    metadata.METADATA,
    metadata.LINEAGE,
    datasets.ROUTES,
    system.APP_SERVICES,
    system.DASHBOARD,
    namespaces.CONFIGURATION,
    schedules.ROUTES,
    system.OTHERS,
)


def build_router() -> RestRouter:
    """Return a router of all routes."""
    return RestRouter([route for table in TABLES for route in table.routes])
