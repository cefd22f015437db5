"""All artifacts that clients see: those of plugin folders, those of the original's pipelines, and JARs.

A client asks an instance for ``cdap-data-pipeline`` before it sends a pipeline. A JAR is kept with the
plugins that its upload declared; nothing here can run it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from localcdap.api.failures import ArtifactId
from localcdap.artifacts.model import ArtifactDetail, PluginClass
from localcdap.artifacts.version import APP_VERSION
from localcdap.decoders import convert
from localcdap.pipeline.document.model import PipelineType
from localcdap.server.rest.request import RestRequest

JARS: Final = "jar"
"""The kind of documents about JARs, whose names are those of :func:`get_document_name`."""
PROPERTIES: Final = "artifact-properties"
_CLASSES: Final = {
    PipelineType.BATCH: "io.cdap.cdap.datapipeline.DataPipelineApp",
    PipelineType.STREAMING: "io.cdap.cdap.datastreams.DataStreamsApp",
}
"""The original's classes of the applications."""


class KnownArtifact(msgspec.Struct):
    """An artifact as clients see it."""

    id: ArtifactId
    apps: list[dict[str, Any]] = []
    """The classes of applications, as ``className`` and ``description``."""
    plugins: list[Any] = []
    """The classes of plugins."""
    parents: list[str] = []
    path: str | None = None
    """The path in a plugin folder; None for one that is not there."""


class Jar(msgspec.Struct, rename="camel"):
    """A JAR that a client has uploaded."""

    name: str
    version: str
    parents: list[str] = []
    plugins: list[dict[str, Any]] = []
    """The declared plugins, as the client wrote them."""


def get_document_name(artifact: ArtifactId) -> str:
    """Return the name of the document about an artifact."""
    return f"{artifact.scope.lower()}:{artifact.name}:{artifact.version}"


def list_known_artifacts(request: RestRequest, scope: str | None) -> list[KnownArtifact]:
    """Return the artifacts that the namespace of the path sees, those of the system first.

    :param scope: ``SYSTEM`` or ``USER``; None for both.
    """
    found = [
        *_list_applications(),
        *(
            _to_known(each)
            for each in request.cdap.artifacts.list_artifacts(request.namespace, scope)
            if each.version and (each.plugins or each.applications or each.dataset_types)
        ),
        *_list_jars(request),
    ]
    wanted = [each for each in found if scope in (None, each.id.scope)]
    return sorted(wanted, key=lambda each: (each.id.scope, each.id.name))


def read_properties(request: RestRequest, artifact: ArtifactId) -> dict[str, str]:
    """Return the properties that clients have set of an artifact."""
    found = request.cdap.client_documents.find(
        request.namespace, PROPERTIES, get_document_name(artifact)
    )
    return {} if found is None else convert(found.document, dict[str, str])


def _list_applications() -> list[KnownArtifact]:
    return [
        KnownArtifact(
            ArtifactId(type.value, APP_VERSION.text, "SYSTEM"),
            [{"className": name, "description": f"{type.name.capitalize()} pipelines"}],
        )
        for type, name in _CLASSES.items()
    ]


def _list_jars(request: RestRequest) -> list[KnownArtifact]:
    found = []
    for each in request.cdap.client_documents.list_documents(request.namespace, JARS):
        jar = convert(each.document, Jar)
        id = ArtifactId(jar.name, jar.version, "USER")
        found.append(KnownArtifact(id, [], list(jar.plugins), jar.parents))
    return found


def _to_known(artifact: ArtifactDetail) -> KnownArtifact:
    apps = [
        {"className": each.class_name, "description": each.description}
        for each in artifact.applications
    ]
    plugins = [_to_class(each) for each in artifact.plugins]
    return KnownArtifact(artifact.id, apps, plugins, artifact.parents, artifact.path)


def _to_class(plugin: PluginClass) -> dict[str, Any]:
    return {
        "type": plugin.type,
        "name": plugin.name,
        "description": plugin.description,
        "className": plugin.class_name,
        "configFieldName": "config",
        "properties": {each.name: each for each in plugin.properties},
        "requirements": {"capabilities": plugin.capabilities},
    }
