"""Artifacts and the plugins in them (CDAP 6 ``ArtifactHttpHandler``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from localcdap.artifacts.model import ArtifactSelector, PluginSummary
from localcdap.artifacts.version import ArtifactVersion, VersionRange
from localcdap.server.rest.answers import Answer, RestError, send_json
from localcdap.server.rest.known_artifacts import (
    KnownArtifact,
    list_known_artifacts,
    read_properties,
)
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable

_T = TypeVar("_T")
ROUTES: Final = RouteTable("Artifacts and plugins")
_ALL: Final = "/v3/namespaces/{namespace}/artifacts"
_NAME: Final = f"{_ALL}/{{artifact}}"
_ONE: Final = f"{_NAME}/versions/{{version}}"
_EXTENSIONS: Final = f"{_ONE}/extensions"
_SCOPES: Final = ("SYSTEM", "USER")
_ORDERS: Final = ("UNORDERED", "ASC", "DESC")


@ROUTES.add("GET", _ALL)
def list_artifacts(request: RestRequest) -> Answer:
    """Return the artifacts of a scope, by default of both."""
    found = list_known_artifacts(request, read_scope(request, None))
    return send_json([each.id for each in found])


@ROUTES.add("GET", _NAME)
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


@ROUTES.add("GET", _ONE)
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


@ROUTES.add("GET", _EXTENSIONS)
def list_extension_types(request: RestRequest) -> Answer:
    """Return the types of the plugins that an artifact can use."""
    return send_json(sorted({each.type for each in _list_plugins(request)}))


@ROUTES.add("GET", f"{_EXTENSIONS}/{{type}}")
def list_extensions(request: RestRequest) -> Answer:
    """Return the plugins of a type, those of all versions, with their capabilities.

    The plugins lack none of the capabilities that the instance requires; ``capability`` (or ``capabilities``)
    asks for one more (design "CDAP Capabilities").
    """
    capabilities = [*request.list_values("capability"), *request.list_values("capabilities")]
    found = _list_plugins(request, request.path["type"], capabilities)
    return send_json([_to_summary(each) for each in found])


@ROUTES.add("GET", f"{_EXTENSIONS}/{{type}}/plugins/{{plugin}}")
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


@ROUTES.add("GET", "/v3/namespaces/{namespace}/capabilities")
def list_capabilities(request: RestRequest) -> Answer:
    """Return the capabilities that the instance knows (design "CDAP Capabilities", Approach 2)."""
    found = request.cdap.artifacts.list_capabilities(request.namespace)
    return send_json([each.capability for each in found])


@ROUTES.add("GET", "/v3/namespaces/{namespace}/classes/apps")
def list_application_classes(request: RestRequest) -> Answer:
    return send_json(_list_classes(request, read_scope(request, None)))


@ROUTES.add("GET", "/v3/namespaces/{namespace}/classes/apps/{class}")
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
