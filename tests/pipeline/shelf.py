"""Artifacts for tests: inspected by the real inspection, chosen by the real selection, configured by the
real configurer, without an instance around them."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Any

from localcdap.api.failures import ArtifactId
from localcdap.artifacts.inspection import inspect_artifact
from localcdap.artifacts.model import ArtifactSelector, PluginInfo, PluginLookup
from localcdap.artifacts.selection import Candidate, choose, look_up
from localcdap.artifacts.version import ArtifactVersion
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.environment import EnvironmentFactory
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.validation.plugins import IndexedPlugins
from localcdap.pipeline.validation.resolution import ResolvedPipeline, resolve_pipeline
from localcdap.sandbox.stage_configuration import configure_stage
from tests.conftest import REPOSITORY

PLUGINS = REPOSITORY / "plugins_dir"
MOCKS = Path(__file__).parent / "artifacts" / "mock-plugins-1.0.0.py"


def candidates(path: Path, artifact: ArtifactId) -> list[Candidate]:
    digest = hashlib.sha256(str(path).encode()).hexdigest()
    inspection = inspect_artifact(str(path), digest)
    assert not inspection.errors, inspection.errors
    version = ArtifactVersion(artifact.version)
    return [Candidate(artifact, version, str(path), digest, each) for each in inspection.plugins]


def load_shipped() -> Shelf:
    """Return the plugins that localcdap ships."""
    found = []
    for project in sorted(PLUGINS.glob("*/pyproject.toml")):
        about = tomllib.loads(project.read_text())["project"]
        artifact = ArtifactId(about["name"], about["version"], "SYSTEM")
        found += candidates(project.parent, artifact)
    return Shelf(*found)


class Shelf:
    """What ``ArtifactService`` answers about a few artifacts."""

    def __init__(self, *found: Candidate) -> None:
        self.candidates = list(found)

    def find_plugin(
        self, namespace: str, type: str, name: str, selector: ArtifactSelector | None = None
    ) -> PluginLookup:
        names = [c.plugin.name for c in self.candidates if c.plugin.type == type]
        return look_up(self._of(type, name), names, name, selector or ArtifactSelector())

    def get_plugin(
        self, namespace: str, type: str, name: str, selector: ArtifactSelector | None = None
    ) -> PluginInfo:
        chosen = choose(self._of(type, name), selector or ArtifactSelector())
        assert chosen is not None
        plugin = chosen.plugin
        return PluginInfo(
            name,
            type,
            plugin.description,
            plugin.class_name,
            chosen.artifact,
            plugin.capabilities,
            {each.name: each for each in plugin.properties},
        )

    def _of(self, type: str, name: str) -> list[Candidate]:
        return [c for c in self.candidates if (c.plugin.type, c.plugin.name) == (type, name)]


def mock_shelf() -> Shelf:
    return Shelf(*candidates(MOCKS, ArtifactId("mock-plugins", "1.0.0", "SYSTEM")))


def resolved(document: PipelineDocument, **options) -> ResolvedPipeline:
    """The document resolved against the mock plugins."""
    finder = IndexedPlugins(mock_shelf(), "default")
    return resolve_pipeline(document, finder, configure_stage, **options)


def create_resolver(
    artifacts: Shelf | None = None,
    configurer=configure_stage,
    find_connected=lambda _: None,
    **options,
) -> PipelineResolver:
    """A resolver of pipelines against the mock plugins, or others.

    :param options: of :class:`EnvironmentFactory`.
    """
    environments = EnvironmentFactory(artifacts or mock_shelf(), **options)
    return PipelineResolver(environments, configurer, find_connected)


def resolve(
    resolver: PipelineResolver, document: Any, arguments=None, **options
) -> ResolvedPipeline:
    """The document resolved in the namespace ``default``."""
    environment = resolver.environments.create("default")
    read = read_document(document)
    merged = environment.merge_arguments(read.name, arguments or {})
    return resolver.resolve(read, environment, merged, **options)
