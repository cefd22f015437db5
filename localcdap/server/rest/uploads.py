"""Files of artifacts that clients upload: where they go.

A wheel or a Python file goes into the plugin folder of the namespace, as if its user had copied it there;
what cannot be used is removed again. A JAR is kept apart: its code is Java, which nothing here runs.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from localcdap.api.failures import ArtifactId
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission
from localcdap.artifacts.version import check_parents
from localcdap.files.atomic import replace_file
from localcdap.server.rest.answers import RestError, encode
from localcdap.server.rest.known_artifacts import (
    JARS,
    Jar,
    get_document_name,
    list_known_artifacts,
)
from localcdap.server.rest.request import Body, RestRequest

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
