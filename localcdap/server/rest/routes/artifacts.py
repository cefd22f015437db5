"""Artifacts and the plugins in them (CDAP 6 ``ArtifactHttpHandler``).

Clients see the artifacts of plugin folders, those of the original's pipelines, and JARs. A client asks an
instance for ``cdap-data-pipeline`` before it sends a pipeline. A JAR is kept with the plugins that its upload
declared; nothing here can run it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from localcdap.api.failures import ArtifactId
from localcdap.artifacts.model import ArtifactDetail, ArtifactSelector, PluginClass, PluginSummary
from localcdap.artifacts.version import APP_VERSION, ArtifactVersion, VersionRange
from localcdap.decoders import convert
from localcdap.pipeline.document.model import PipelineType
from localcdap.server.rest.answers import Answer, RestError, send_json
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable

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


_T = TypeVar("_T")
ARTIFACTS: Final = RouteTable("Artifacts and plugins")
_ALL: Final = "/v3/namespaces/{namespace}/artifacts"
_NAME: Final = f"{_ALL}/{{artifact}}"
_ONE: Final = f"{_NAME}/versions/{{version}}"
_EXTENSIONS: Final = f"{_ONE}/extensions"
_SCOPES: Final = ("SYSTEM", "USER")
_ORDERS: Final = ("UNORDERED", "ASC", "DESC")


@ARTIFACTS.add("GET", _ALL)
def list_artifacts(request: RestRequest) -> Answer:
    """Return the artifacts of a scope, by default of both."""
    found = list_known_artifacts(request, read_scope(request, None))
    return send_json([each.id for each in found])


@ARTIFACTS.add("GET", _NAME)
def list_versions(request: RestRequest) -> Answer:
    """Return the versions of an artifact in a scope, by default ``user``."""
    scope, name = read_scope(request, "user"), request.path["artifact"]
    found = [each.id for each in list_known_artifacts(request, scope) if each.id.name == name]
    asked = request.get("artifactVersion")
    if asked is not None:
        range = VersionRange.parse(asked)
        found = [each for each in found if ArtifactVersion(each.version) in range]
    if not found:
        raise RestError(404, f"'artifact:{request.namespace}.{name}' was not found.")
    return send_json(_order(request, found, lambda each: ArtifactVersion(each.version)))


@ARTIFACTS.add("GET", _ONE)
def get_artifact(request: RestRequest) -> Answer:
    found = find_artifact(request)
    return send_json(
        {
            "name": found.id.name,
            "version": found.id.version,
            "scope": found.id.scope,
            "properties": read_properties(request, found.id),
            "classes": {"apps": found.apps, "plugins": found.plugins},
            "usableBy": found.parents,
        }
    )


@ARTIFACTS.add("GET", _EXTENSIONS)
def list_extension_types(request: RestRequest) -> Answer:
    """Return the types of the plugins that an artifact can use."""
    return send_json(sorted({each.type for each in _list_plugins(request)}))


@ARTIFACTS.add("GET", f"{_EXTENSIONS}/{{type}}")
def list_extensions(request: RestRequest) -> Answer:
    """Return the plugins of a type, those of all versions, with their capabilities.

    The plugins lack none of the capabilities that the instance requires; ``capability`` (or ``capabilities``)
    asks for one more (design "CDAP Capabilities").
    """
    capabilities = [*request.list_values("capability"), *request.list_values("capabilities")]
    found = _list_plugins(request, request.path["type"], capabilities)
    return send_json([_to_summary(each) for each in found])


@ARTIFACTS.add("GET", f"{_EXTENSIONS}/{{type}}/plugins/{{plugin}}")
def describe_plugin(request: RestRequest) -> Answer:
    """Return the details of a plugin, one object for each artifact that has it."""
    name, type = request.path["plugin"], request.path["type"]
    wanted = ArtifactSelector(
        request.get("artifactScope"), request.get("artifactName"), request.get("artifactVersion")
    )
    found = [
        each
        for each in request.cdap.artifacts.list_plugins(
            request.namespace, type, all_versions=True, artifact=wanted
        )
        if each.name == name
    ]
    if not found:
        raise RestError(404, f"'plugin:{type}.{name}' was not found in '{request.namespace}'.")
    ordered = _order(request, found, lambda each: ArtifactVersion(each.artifact.version))
    return send_json([_describe_plugin(request, each) for each in ordered])


@ARTIFACTS.add("GET", "/v3/namespaces/{namespace}/capabilities")
def list_capabilities(request: RestRequest) -> Answer:
    """Return the capabilities that the instance knows (design "CDAP Capabilities", Approach 2)."""
    found = request.cdap.artifacts.list_capabilities(request.namespace)
    return send_json([each.capability for each in found])


@ARTIFACTS.add("GET", "/v3/namespaces/{namespace}/classes/apps")
def list_application_classes(request: RestRequest) -> Answer:
    return send_json(_list_classes(request, read_scope(request, None)))


@ARTIFACTS.add("GET", "/v3/namespaces/{namespace}/classes/apps/{class}")
def get_application_class(request: RestRequest) -> Answer:
    name = request.path["class"]
    classes = _list_classes(request, read_scope(request, "user"))
    found = [each for each in classes if each["className"] == name]
    if not found:
        raise RestError(404, f"No application class '{name}' was found.")
    return send_json(found)


def find_artifact(request: RestRequest) -> KnownArtifact:
    """Return the artifact of the path, in the scope of the query, by default ``user``.

    :raises RestError: when there is none (404).
    """
    name, version = request.path["artifact"], request.path["version"]
    for each in list_known_artifacts(request, read_scope(request, "user")):
        if (each.id.name, each.id.version) == (name, version):
            return each
    raise RestError(404, f"'artifact:{request.namespace}.{name}.{version}' was not found.")


def read_scope(request: RestRequest, default: str | None) -> str | None:
    """Return the scope of the query; None for both.

    :raises RestError: when it is neither (400).
    """
    text = request.get("scope") or default
    if text is not None and text.upper() not in _SCOPES:
        raise RestError(400, f"Invalid scope {text}")
    return None if text is None else text.upper()


def _list_classes(request: RestRequest, scope: str | None) -> list[dict[str, Any]]:
    return [
        {**app, "name": app["className"], "artifact": each.id}
        for each in list_known_artifacts(request, scope)
        for app in each.apps
    ]


def _order(request: RestRequest, found: list[_T], version: Callable[[_T], Any]) -> list[_T]:
    """Return values in the order that the query asks for, no more than its limit; 0: all."""
    order, limit = request.get("order", "UNORDERED"), request.get_number("limit", 0)
    if order not in _ORDERS:
        raise RestError(400, f"Invalid order '{order}'. It must be one of {', '.join(_ORDERS)}.")
    ordered = sorted(found, key=version, reverse=order == "DESC")
    return ordered[:limit] if limit > 0 else ordered


def _list_plugins(
    request: RestRequest, type: str | None = None, capabilities: Sequence[str] = ()
) -> list[PluginSummary]:
    """Return the plugins that the artifact of the path can use, those of all artifacts."""
    found = find_artifact(request).id
    return request.cdap.artifacts.list_plugins(
        request.namespace,
        type,
        list(capabilities),
        all_versions=True,
        artifact=ArtifactSelector(None, found.name),
    )


def _describe_plugin(request: RestRequest, plugin: PluginSummary) -> dict[str, Any]:
    artifact = plugin.artifact
    selector = ArtifactSelector(artifact.scope, artifact.name, artifact.version)
    found = request.cdap.artifacts.get_plugin(request.namespace, plugin.type, plugin.name, selector)
    properties = {
        name: {
            "name": name,
            "description": each.description,
            "type": each.type,
            "required": each.required,
            "macroSupported": each.macro_supported,
            "macroEscapingEnabled": each.macro_escaping_enabled,
            "children": [],
        }
        for name, each in found.properties.items()
    }
    return {**_to_summary(plugin), "configFieldName": "config", "properties": properties}


def _to_summary(plugin: PluginSummary) -> dict[str, Any]:
    """Return a plugin in a list. The design has two names for its capabilities."""
    return {
        "name": plugin.name,
        "type": plugin.type,
        "category": "Hydrator",
        "description": plugin.description,
        "className": plugin.class_name,
        "artifact": plugin.artifact,
        "capability": plugin.capabilities,
        "capabilities": plugin.capabilities,
    }
