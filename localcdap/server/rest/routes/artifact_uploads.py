"""Uploads of artifacts, their properties and their deletion (CDAP 6 ``ArtifactHttpHandler``)."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from localcdap.api.failures import ArtifactId
from localcdap.artifacts.version import ArtifactVersion
from localcdap.decoders import decode_json
from localcdap.server.rest.answers import DONE, Answer, RestError, send_json, send_text
from localcdap.server.rest.known_artifacts import (
    JARS,
    PROPERTIES,
    get_document_name,
    read_properties,
)
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable
from localcdap.server.rest.routes.artifacts import find_artifact
from localcdap.server.rest.uploads import Upload, is_java, place_python, store_jar

ROUTES: Final = RouteTable("Uploads of artifacts")
_NAME: Final = "/v3/namespaces/{namespace}/artifacts/{artifact}"
_ONE: Final = f"{_NAME}/versions/{{version}}"
_VALID: Final = re.compile(r"[a-zA-Z0-9._-]{1,255}")
_SYSTEM: Final = "/v3/namespaces/system/artifacts"


@ROUTES.add("POST", _SYSTEM)
def rescan(request: RestRequest) -> Answer:
    """Look at the plugin folders again."""
    request.cdap.artifacts.sync()
    return DONE


@ROUTES.add(
    "POST",
    _NAME,
    lack="JARs are stored and listed, and their plugins cannot run; Python artifacts can",
)
def add_artifact(request: RestRequest) -> Answer:
    """Add an artifact: a wheel or a Python file, which goes into the plugin folder, or a JAR."""
    upload = _read_upload(request)
    if request.body.size == 0:
        raise RestError(400, "The body is empty: it must be the file of the artifact.")
    request.cdap.namespaces.require(request.namespace)
    if is_java(request.body):
        store_jar(request, upload)
        return send_text(
            "Artifact added successfully. It is a JAR: localcdap lists it and cannot run its plugins."
        )
    place_python(request, upload)
    return send_text("Artifact added successfully")


@ROUTES.add("DELETE", _ONE)
def delete_artifact(request: RestRequest) -> Answer:
    """Delete an artifact; that of a plugin folder is moved to the instance's trash."""
    found = find_artifact(request)
    if found.id.scope != "USER":
        raise RestError(403, f"Artifact '{found.id.name}' comes with localcdap and stays.")
    name = get_document_name(found.id)
    if found.path is None:
        request.cdap.client_documents.delete(request.namespace, JARS, name)
    else:
        request.cdap.artifacts.remove(found.path)
    if request.cdap.client_documents.find(request.namespace, PROPERTIES, name) is not None:
        request.cdap.client_documents.delete(request.namespace, PROPERTIES, name)
    return DONE


@ROUTES.add("GET", f"{_ONE}/properties")
def get_properties(request: RestRequest) -> Answer:
    """Return the properties, or those that ``keys`` names, null for one that is not set."""
    found = read_properties(request, find_artifact(request).id)
    keys = request.list_values("keys")
    return send_json({each: found.get(each) for each in keys} if keys else found)


@ROUTES.add("PUT", f"{_ONE}/properties")
def replace_properties(request: RestRequest) -> Answer:
    _save(request, find_artifact(request).id, request.decode_texts())
    return DONE


@ROUTES.add("DELETE", f"{_ONE}/properties")
def delete_properties(request: RestRequest) -> Answer:
    _save(request, find_artifact(request).id, {})
    return DONE


@ROUTES.add("GET", f"{_ONE}/properties/{{key}}")
def get_property(request: RestRequest) -> Answer:
    found = read_properties(request, find_artifact(request).id)
    key = request.path["key"]
    if key not in found:
        raise RestError(404, f"Property {key} for the artifact was not found.")
    return send_text(found[key])


@ROUTES.add("PUT", f"{_ONE}/properties/{{key}}")
def set_property(request: RestRequest) -> Answer:
    artifact = find_artifact(request).id
    value = request.body.read().decode("utf-8", "replace")
    _save(request, artifact, {**read_properties(request, artifact), request.path["key"]: value})
    return DONE


@ROUTES.add("DELETE", f"{_ONE}/properties/{{key}}")
def delete_property(request: RestRequest) -> Answer:
    artifact = find_artifact(request).id
    kept = read_properties(request, artifact)
    kept.pop(request.path["key"], None)
    _save(request, artifact, kept)
    return DONE


@ROUTES.add("POST", "/v3/namespaces/{namespace}/artifactproperties")
def list_properties(request: RestRequest) -> Answer:
    """Return some properties of several artifacts."""
    given = request.decode(list, missing=[])
    answers = []
    for each in given:
        if not isinstance(each, dict) or not isinstance(each.get("properties"), list):
            raise RestError(400, "Expected a list of artifacts, each with a list of 'properties'.")
        name, version, scope = (str(each.get(key) or "") for key in ("name", "version", "scope"))
        found = read_properties(request, ArtifactId(name, version, (scope or "USER").upper()))
        wanted = {key: found.get(key) for key in map(str, each["properties"])}
        answers.append({"name": name, "version": version, "scope": scope, "properties": wanted})
    return send_json(answers)


def _save(request: RestRequest, artifact: ArtifactId, properties: dict[str, str]) -> None:
    request.cdap.client_documents.put(
        request.namespace, PROPERTIES, get_document_name(artifact), properties
    )


def _read_upload(request: RestRequest) -> Upload:
    """Return what the headers say of an upload.

    :raises RestError: when name, version or plugins are missing or invalid (400).
    """
    name, version = request.path["artifact"], request.headers.get("Artifact-Version", "").strip()
    if not version:
        raise RestError(
            400, "The version of the artifact is missing: send it in the header 'Artifact-Version'."
        )
    if not _VALID.fullmatch(name) or not _VALID.fullmatch(version):
        raise RestError(400, f"Invalid artifact id '{name}' in version '{version}'.")
    ArtifactVersion(version)
    parents = [
        each.strip()
        for each in request.headers.get("Artifact-Extends", "").split("/")
        if each.strip()
    ]
    return Upload(
        name, version, parents, _read_plugins(request.headers.get("Artifact-Plugins", ""))
    )


def _read_plugins(text: str) -> list[dict[str, Any]]:
    if not text.strip():
        return []
    try:
        return decode_json(text, list[dict[str, Any]])
    except msgspec.DecodeError as error:
        raise RestError(
            400, f"Unable to parse the plugins of the header 'Artifact-Plugins': {error}"
        ) from None
