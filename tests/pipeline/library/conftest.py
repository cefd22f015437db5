"""A database, its namespaces, and the studio with the mock plugins in several artifacts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.api.failures import ArtifactId
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.service import StudioService
from localcdap.store.store import Store
from localcdap.testing.instance import open_new_store
from tests.pipeline.shelf import MOCKS, Shelf, candidates, create_resolver


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_new_store(tmp_path / "x.duckdb") as store:
        yield store


@pytest.fixture
def topics(store: Store) -> Topics:
    return Topics(store)


@pytest.fixture
def namespaces(store: Store, topics: Topics) -> NamespaceService:
    return NamespaceService(store, topics)


@pytest.fixture(scope="session")
def shelf() -> Shelf:
    """``mock-plugins`` 1.0.0 and 1.5.0 of the system."""
    return Shelf(
        *candidates(MOCKS, ArtifactId("mock-plugins", "1.0.0", "SYSTEM")),
        *candidates(MOCKS, ArtifactId("mock-plugins", "1.5.0", "SYSTEM")),
    )


@pytest.fixture
def active() -> list[str]:
    """The runs that are active, of whatever application."""
    return []


@pytest.fixture
def resolver(namespaces: NamespaceService, shelf: Shelf) -> PipelineResolver:
    return create_resolver(shelf, check_namespace=namespaces.require)


@pytest.fixture
def applications(
    store: Store,
    topics: Topics,
    namespaces: NamespaceService,
    resolver: PipelineResolver,
    active: list[str],
) -> ApplicationService:
    return ApplicationService(store, topics, namespaces, resolver, lambda _, __: active)


@pytest.fixture
def studio(resolver: PipelineResolver) -> StudioService:
    return StudioService(resolver)
