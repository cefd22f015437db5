"""All routes, in the order of the page about compatibility."""

from __future__ import annotations

from typing import Final

from localcdap.server.rest.router import RestRouter, RouteTable
from localcdap.server.rest.routes import (
    app_services,
    applications,
    artifact_uploads,
    artifacts,
    batch,
    configuration,
    connections,
    dashboard,
    datasets,
    lineage,
    logs,
    metadata,
    metrics,
    namespaces,
    oauth,
    preferences,
    previews,
    profiles,
    runs,
    schedules,
    secure_keys,
    studio,
    system,
    unbuilt,
)

TABLES: Final[tuple[RouteTable, ...]] = (
    system.ROUTES,
    namespaces.ROUTES,
    applications.ROUTES,
    batch.ROUTES,
    runs.ROUTES,
    logs.ROUTES,
    metrics.ROUTES,
    preferences.ROUTES,
    secure_keys.ROUTES,
    profiles.ROUTES,
    artifacts.ROUTES,
    artifact_uploads.ROUTES,
    studio.ROUTES,
    connections.ROUTES,
    oauth.ROUTES,
    previews.ROUTES,
    metadata.ROUTES,
    lineage.ROUTES,
    datasets.ROUTES,
    app_services.ROUTES,
    dashboard.ROUTES,
    configuration.ROUTES,
    schedules.ROUTES,
    unbuilt.OTHERS,
)


def build_router() -> RestRouter:
    """Return a router of all routes."""
    return RestRouter([route for table in TABLES for route in table.routes])
