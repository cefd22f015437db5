"""Artifacts as they lie on disk: where they are, what they call themselves, what is in them."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.artifacts.model import DEFAULT_NAMESPACE, SYSTEM, SYSTEM_NAMESPACE, USER
from localcdap.artifacts.version import ArtifactVersion, split_file_name

PROJECT_FILE: Final = "pyproject.toml"
_NAMESPACE: Final = re.compile(r"[a-zA-Z0-9_]+")
_NOT_CONTENT: Final = frozenset(("__pycache__", "build", "dist", "node_modules", "tests"))
_SETTLED_AFTER_NS: Final = 2_000_000_000
"""The coarsest clock of a usual file system: a younger file may change without a trace."""


class Place(msgspec.Struct, frozen=True):
    """Something in a plugin directory that is an artifact, or was meant to be one."""

    path: Path
    scope: str
    namespace: str


class Identity(msgspec.Struct, frozen=True):
    """What an artifact calls itself. ``version`` is empty and ``problem`` set when that is wrong."""

    name: str
    version: str
    problem: str | None = None


def find_system(directory: Path) -> Iterator[Place]:
    """The artifacts that come with localcdap."""
    for entry in _entries(directory):
        if _is_artifact(entry):
            yield Place(entry, SYSTEM, SYSTEM_NAMESPACE)


def find_user(directory: Path) -> Iterator[Place]:
    """The artifacts of a plugin directory.

    What lies in it directly belongs to the namespace ``default``; a sub-folder that is not an artifact
    itself is the namespace of that name. A directory that does not exist is empty.
    """
    for entry in _entries(directory):
        if _is_artifact(entry) or (entry.is_dir() and not _NAMESPACE.fullmatch(entry.name)):
            yield Place(entry, USER, DEFAULT_NAMESPACE)
        elif entry.is_dir():
            for inner in _entries(entry):
                if _is_artifact(inner):
                    yield Place(inner, USER, entry.name)


def identify(path: Path) -> Identity:
    """Name and version of the artifact at ``path``, read without running any of its code."""
    try:
        name, version = _declared(path)
    except (OSError, ValueError, zipfile.BadZipFile, BadRequestError) as error:
        return Identity(path.stem if path.is_file() else path.name, "", str(error))
    try:
        ArtifactVersion(version)
    except BadRequestError as error:
        return Identity(name, "", error.full_message)
    return Identity(name, version)


def signature(path: Path) -> str:
    """A fingerprint of names, sizes and times of the content, without reading it.

    Empty, and so equal to no stored one, while a file is so young that it may change unnoticed.
    """
    import time

    state = hashlib.sha256()
    newest = 0
    for inner, file in content(path):
        stat = file.stat()
        newest = max(newest, stat.st_mtime_ns)
        state.update(f"{inner}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode(errors="replace"))
    return "" if newest > time.time_ns() - _SETTLED_AFTER_NS else state.hexdigest()


def digest(path: Path) -> str:
    """SHA-256 of the content, names included."""
    state = hashlib.sha256()
    for inner, file in content(path):
        data = file.read_bytes()
        state.update(f"{inner}\0{len(data)}\0".encode(errors="replace"))
        state.update(data)
    return state.hexdigest()


def content(path: Path) -> Iterator[tuple[str, Path]]:
    """The files of an artifact, each with its name inside it, in a fixed order.

    Hidden files, tests and what builds leave behind do not belong to it; linked folders are not
    followed.
    """
    if path.is_file():
        yield path.name, path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if _is_content(name))
        for name in sorted(files):
            if _is_content(name):
                file = Path(folder, name)
                yield file.relative_to(path).as_posix(), file


def _is_content(name: str) -> bool:
    return not (
        name.startswith(".") or name in _NOT_CONTENT or name.endswith((".pyc", ".egg-info"))
    )


def _entries(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return sorted(entry for entry in directory.iterdir() if _is_content(entry.name))


def _is_artifact(entry: Path) -> bool:
    if entry.is_dir():
        # A package or a set-up script without a project file is a mistake to be told, no namespace.
        return any((entry / name).is_file() for name in (PROJECT_FILE, "__init__.py", "setup.py"))
    return entry.suffix in (".py", ".whl")


def _declared(path: Path) -> tuple[str, str]:
    """:raises BadRequestError: saying what is missing."""
    if path.is_dir():
        return _declared_by_project(path)
    if path.suffix == ".whl":
        return _declared_by_wheel(path)
    name, version = split_file_name(path.stem)
    if version is None or not name:
        raise BadRequestError(
            f"{path.name}: the file name holds no version; name it like {path.stem}-1.0.0.py."
        )
    return name, version


def _declared_by_project(folder: Path) -> tuple[str, str]:
    file = folder / PROJECT_FILE
    if not file.is_file():
        raise BadRequestError(
            f"Folder '{folder.name}' is neither an artifact nor a namespace: an artifact has a "
            f"{PROJECT_FILE}, the name of a namespace has only letters, digits and underscores."
        )
    try:
        document: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadRequestError(f"{PROJECT_FILE}: {error}.") from None
    project = document.get("project")
    for key in ("name", "version"):
        if not isinstance(project, dict) or not isinstance(project.get(key), str):
            raise BadRequestError(f"{PROJECT_FILE}: [project] has no text '{key}'.")
    assert isinstance(project, dict)
    return project["name"], project["version"]


def _declared_by_wheel(file: Path) -> tuple[str, str]:
    with zipfile.ZipFile(file) as wheel:
        for name in wheel.namelist():
            if re.fullmatch(r"[^/]+\.dist-info/METADATA", name):
                headers = HeaderParser().parsestr(wheel.read(name).decode("utf-8"))
                return str(headers["Name"]), str(headers["Version"])
    raise BadRequestError(f"{file.name}: no METADATA inside; it is not a wheel.")
