"""Uploads of artifacts, their properties and their deletion (CDAP 6 ``ArtifactHttpHandler``).

A wheel or a Python file goes into the plugin folder of the namespace, as if its user had copied it there;
what cannot be used is removed again. A JAR is kept apart: its code is Java, which nothing here runs.
"""

from __future__ import annotations

import io
import re
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from localcdap.api.failures import ArtifactId
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission
from localcdap.artifacts.version import ArtifactVersion, check_parents
from localcdap.decoders import decode_json
from localcdap.files.atomic import replace_file
from localcdap.server.rest.answers import DONE, Answer, RestError, encode, send_json, send_text
from localcdap.server.rest.request import Body, RestRequest
from localcdap.server.rest.router import RouteTable
from localcdap.server.rest.routes.artifacts import (
    JARS,
    PROPERTIES,
    Jar,
    find_artifact,
    get_document_name,
    list_known_artifacts,
    read_properties,
)

_METADATA: Final = ".dist-info/METADATA"
_ZIP: Final = b"PK\x03\x04"


class Upload(msgspec.Struct):
    """What a client says of the artifact that it uploads."""

    name: str
    version: str
    parents: list[str]
    plugins: list[dict[str, Any]]
    """The plugins that it declares, as it wrote them."""

    @property
    def id(self) -> ArtifactId:
        return ArtifactId(self.name, self.version, "USER")

    @property
    def is_snapshot(self) -> bool:
        """Whether another upload may replace it."""
        return self.version.endswith("-SNAPSHOT")


def is_java(body: Body) -> bool:
    """Whether a file is a JAR: an archive that is not a wheel.

    :raises RestError: when it is an archive that cannot be read (400).
    """
    body.file.seek(0)
    if body.file.read(len(_ZIP)) != _ZIP:
        return False
    try:
        with zipfile.ZipFile(body.file) as archive:
            return not any(each.endswith(_METADATA) for each in archive.namelist())
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise RestError(400, f"The artifact is an archive that cannot be read: {error}.") from None


def store_jar(request: RestRequest, upload: Upload) -> None:
    """Keep a JAR with what its client says of it.

    :raises RestError: when there is one of this version already (409).
    """
    _require_new(request, upload)
    jar = Jar(upload.name, upload.version, upload.parents, upload.plugins)
    with tempfile.NamedTemporaryFile(prefix="localcdap-", suffix=".jar", delete=False) as copy:
        request.body.file.seek(0)
        shutil.copyfileobj(request.body.file, copy)
    try:
        request.cdap.client_documents.put(
            request.namespace, JARS, get_document_name(upload.id), jar, copy.name
        )
    finally:
        Path(copy.name).unlink(missing_ok=True)


def place_python(request: RestRequest, upload: Upload) -> None:
    """Put a Python artifact into the plugin folder of the namespace, and wait until it is inspected.

    :raises RestError: when there is one of this version already (409), or it cannot be used; then it is
        removed again, and the text says why (400).
    """
    namespace = MetadataEntity.of_namespace(request.namespace)
    request.cdap.security.enforce(namespace, [Permission.ADMIN])
    _require_new(request, upload)
    check_parents(upload.parents)
    folder = Path(request.cdap.artifacts.get_plugin_folder(request.namespace))
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / _choose_file_name(request.body, upload)
    if target.exists() and not upload.is_snapshot:
        raise RestError(409, f"{target.name} already exists in the plugin folder.")
    beside = target.with_suffix(".json")
    with tempfile.TemporaryDirectory(prefix="localcdap-") as kept:
        before = [_keep(each, Path(kept)) for each in (target, beside)]
        if upload.parents:
            _place(io.BytesIO(encode({"parents": upload.parents})), beside)
        _place(request.body.file, target)
        request.cdap.artifacts.sync(touched=[str(target)])
        problem = _find_problem(request, upload, target)
        if problem is not None:
            for each, copy in zip((target, beside), before, strict=True):
                _put_back(each, copy)
            request.cdap.artifacts.sync(touched=[str(target)])
            raise RestError(400, problem)


def _keep(file: Path, folder: Path) -> Path | None:
    """Return a copy of a file, if there is one: what cannot be used must not replace it."""
    return Path(shutil.copy2(file, folder)) if file.exists() else None


def _put_back(file: Path, copy: Path | None) -> None:
    if copy is None:
        file.unlink(missing_ok=True)
    else:
        with copy.open("rb") as content:
            _place(content, file)


def _require_new(request: RestRequest, upload: Upload) -> None:
    known = {each.id for each in list_known_artifacts(request, "USER")}
    if upload.id in known and not upload.is_snapshot:
        raise RestError(
            409,
            f"'artifact:{request.namespace}.{upload.name}.{upload.version}' already exists.",
        )


def _choose_file_name(body: Body, upload: Upload) -> str:
    """Return the file name; that of a wheel follows its own rules.

    :raises RestError: when the wheel is one of another artifact (400).
    """
    body.file.seek(0)
    if body.file.read(len(_ZIP)) != _ZIP:
        return f"{upload.name}-{upload.version}.py"
    body.file.seek(0)
    with zipfile.ZipFile(body.file) as archive:
        found = next(each for each in archive.namelist() if each.endswith(_METADATA))
    return f"{found.removesuffix(_METADATA).replace('/', '_')}-py3-none-any.whl"


def _place(content: IO[bytes], target: Path) -> None:
    with replace_file(target) as new_file, new_file.open("wb") as copy:
        content.seek(0)
        shutil.copyfileobj(content, copy)


def _find_problem(request: RestRequest, upload: Upload, target: Path) -> str | None:
    for each in request.cdap.artifacts.list_artifacts(request.namespace):
        if each.path != str(target):
            continue
        if each.error is not None:
            return f"Invalid artifact: {each.error}"
        if (each.name, each.version) != (upload.name, upload.version):
            return (
                f"Invalid artifact: the file is {each.name} {each.version}, and not {upload.name} "
                f"{upload.version}."
            )
        return None
    return f"Invalid artifact: {target.name} was not found in the plugin folder."


UPLOADS: Final = RouteTable("Uploads of artifacts")
_NAME: Final = "/v3/namespaces/{namespace}/artifacts/{artifact}"
_ONE: Final = f"{_NAME}/versions/{{version}}"
_VALID: Final = re.compile(r"[a-zA-Z0-9._-]{1,255}")
_SYSTEM: Final = "/v3/namespaces/system/artifacts"


@UPLOADS.add("POST", _SYSTEM)
def rescan(request: RestRequest) -> Answer:
    """Look at the plugin folders again."""
    request.cdap.artifacts.sync()
    return DONE


@UPLOADS.add(
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


@UPLOADS.add("DELETE", _ONE)
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


@UPLOADS.add("GET", f"{_ONE}/properties")
def get_properties(request: RestRequest) -> Answer:
    """Return the properties, or those that ``keys`` names, null for one that is not set."""
    found = read_properties(request, find_artifact(request).id)
    keys = request.list_values("keys")
    return send_json({each: found.get(each) for each in keys} if keys else found)


@UPLOADS.add("PUT", f"{_ONE}/properties")
def replace_properties(request: RestRequest) -> Answer:
    _save(request, find_artifact(request).id, request.decode_texts())
    return DONE


@UPLOADS.add("DELETE", f"{_ONE}/properties")
def delete_properties(request: RestRequest) -> Answer:
    _save(request, find_artifact(request).id, {})
    return DONE


@UPLOADS.add("GET", f"{_ONE}/properties/{{key}}")
def get_property(request: RestRequest) -> Answer:
    found = read_properties(request, find_artifact(request).id)
    key = request.path["key"]
    if key not in found:
        raise RestError(404, f"Property {key} for the artifact was not found.")
    return send_text(found[key])


@UPLOADS.add("PUT", f"{_ONE}/properties/{{key}}")
def set_property(request: RestRequest) -> Answer:
    artifact = find_artifact(request).id
    value = request.body.read().decode("utf-8", "replace")
    _save(request, artifact, {**read_properties(request, artifact), request.path["key"]: value})
    return DONE


@UPLOADS.add("DELETE", f"{_ONE}/properties/{{key}}")
def delete_property(request: RestRequest) -> Answer:
    artifact = find_artifact(request).id
    kept = read_properties(request, artifact)
    kept.pop(request.path["key"], None)
    _save(request, artifact, kept)
    return DONE


@UPLOADS.add("POST", "/v3/namespaces/{namespace}/artifactproperties")
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
