"""Name, version and parents of an artifact, read without running its code."""

from __future__ import annotations

import json
import re
import tomllib
import zipfile
from collections.abc import Mapping
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.artifacts.directories.contents import to_printable
from localcdap.artifacts.version import ArtifactVersion, check_parents, split_file_name

PROJECT_FILE: Final = "pyproject.toml"
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,255}")
"""The rule of CDAP 6 ``ArtifactId``."""
_MOST_BYTES: Final = 1024 * 1024
"""The most bytes of a document that are read to identify an artifact."""
_SCRIPT_BLOCK: Final = re.compile(r"^# /// script$\s((?:^#(?:| .*)$\s)+)^# ///$", re.MULTILINE)
"""Metadata in a script, PEP 723."""


class ArtifactIdentity(msgspec.Struct, frozen=True):
    """Name and version of an artifact; when they are invalid, ``version`` is empty and ``problem`` is set."""

    name: str
    version: str
    problem: str | None = None
    parents: tuple[str, ...] = ()
    """The parents as they are written; empty for all applications."""


def read_identity(path: Path) -> ArtifactIdentity:
    """Read name, version and parents of the artifact at ``path``. Never raises."""
    name = path.name.removesuffix(".py").removesuffix(".whl")
    try:
        name, version, parents = _read_declared(path)
        _check_artifact_name(name)
        version = version.replace(
            "+", "-"
        )  # a local version of Python is above its release, as a suffix is in CDAP
        ArtifactVersion(version)
        parents = ["".join(parent.split()) for parent in parents]
        check_parents(parents)
    except BadRequestError as error:
        return ArtifactIdentity(to_printable(name), "", error.full_message)
    except Exception as error:  # a document may contain any bytes
        return ArtifactIdentity(
            to_printable(name), "", f"{to_printable(path.name)}: {type(error).__name__}: {error}"
        )
    return ArtifactIdentity(name, version, parents=tuple(parents))


def get_sidecar(path: Path) -> Path | None:
    """Return the JSON file next to an artifact that may name its parents, as for a JAR in CDAP."""
    return path.with_suffix(".json") if path.suffix in (".py", ".whl") else None


def _check_artifact_name(name: str) -> None:
    if _NAME.fullmatch(name) is None:
        raise BadRequestError(
            f"'{to_printable(name):.300}' is not a valid name of an artifact.",
            "Use up to 255 letters, digits, dots, hyphens and underscores.",
        )


def _read_declared(path: Path) -> tuple[str, str, list[str]]:
    """Read the declared name, version and parents.

    :raises BadRequestError: when something is missing; the message says what.
    """
    if path.is_dir():
        return _read_project(path)
    if not path.is_file():
        raise BadRequestError(f"{path.name} is neither a file nor a folder.", "Remove it.")
    name, version = _read_wheel_name(path) if path.suffix == ".whl" else _split_name(path)
    beside = get_sidecar(path)
    if beside is not None and beside.is_file():
        return name, version, _read_parents(_read_json(beside), beside.name)
    if path.suffix == ".py":
        return name, version, _read_parents(_get_own_table(script_metadata(path)), path.name)
    return name, version, []


def _split_name(path: Path) -> tuple[str, str]:
    name, version = split_file_name(path.stem)
    if version is None or not name:
        raise BadRequestError(
            f"{path.name}: the file name has no version; name it like {path.stem}-1.0.0.py."
        )
    return name, version


def _read_project(folder: Path) -> tuple[str, str, list[str]]:
    file = folder / PROJECT_FILE
    if not file.is_file():
        raise BadRequestError(
            f"Folder '{to_printable(folder.name)}' is neither an artifact nor a namespace: an artifact has a "
            f"{PROJECT_FILE}, the name of a namespace has only letters, digits and underscores."
        )
    document = _parse_toml(_read_text(file), PROJECT_FILE)
    project = document.get("project")
    for key in ("name", "version"):
        if not isinstance(project, dict) or not isinstance(project.get(key), str):
            raise BadRequestError(f"{PROJECT_FILE}: [project] has no text '{key}'.")
    assert isinstance(project, dict)
    return (
        project["name"],
        project["version"],
        _read_parents(_get_own_table(document), PROJECT_FILE),
    )


def script_metadata(file: Path) -> dict[str, Any]:
    """Return the metadata in the ``# /// script`` block of a single file (PEP 723).

    :raises BadRequestError: when the block is not valid TOML.
    :raises OSError: when the file cannot be read.
    """
    with file.open("rb") as stream:
        text = stream.read(_MOST_BYTES).decode("utf-8", "replace")
    block = _SCRIPT_BLOCK.search(text)
    if block is None:
        return {}
    lines = block[1].splitlines(keepends=True)
    toml = "".join(line[2:] if line.startswith("# ") else line[1:] for line in lines)
    return _parse_toml(toml, file.name)


def _get_own_table(document: Mapping[str, Any]) -> Any:
    """Return the table ``[tool.localcdap]``."""
    tools = document.get("tool")
    return tools.get("localcdap", {}) if isinstance(tools, dict) else {}


def _read_parents(table: Any, where: str) -> list[str]:
    parents = table.get("parents", []) if isinstance(table, dict) else None
    if not isinstance(parents, list) or not all(isinstance(each, str) for each in parents):
        raise BadRequestError(
            f"{where}: 'parents' is not a list of texts.",
            'Write parents = ["cdap-data-pipeline[6.0.0,7.0.0)"].',
        )
    return parents


def _read_wheel_name(file: Path) -> tuple[str, str]:
    with zipfile.ZipFile(file) as wheel:
        for member in wheel.infolist():
            if re.fullmatch(r"[^/]+\.dist-info/METADATA", member.filename):
                if member.file_size > _MOST_BYTES:
                    raise BadRequestError(f"{file.name}: its METADATA is larger than 1 MiB.")
                headers = HeaderParser().parsestr(wheel.read(member).decode("utf-8"))
                for key in ("Name", "Version"):
                    if not headers[key]:
                        raise BadRequestError(f"{file.name}: its METADATA has no {key}.")
                return str(headers["Name"]), str(headers["Version"])
    raise BadRequestError(f"{file.name}: no METADATA inside; it is not a wheel.")


def _read_json(file: Path) -> Any:
    try:
        return json.loads(_read_text(file))
    except ValueError as error:
        raise BadRequestError(f"{file.name}: {error}.") from None


def _parse_toml(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise BadRequestError(f"{where}: {error}.") from None


def _read_text(file: Path) -> str:
    if file.stat().st_size > _MOST_BYTES:
        raise BadRequestError(f"{file.name} is larger than 1 MiB.")
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadRequestError(f"{file.name}: {error}.") from None
