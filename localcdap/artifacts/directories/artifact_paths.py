"""Finding artifacts in plugin directories, including files that cannot be one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from localcdap.artifacts.directories.contents import is_content
from localcdap.artifacts.directories.identity import PROJECT_FILE
from localcdap.artifacts.model import DEFAULT_NAMESPACE, SYSTEM, SYSTEM_NAMESPACE, USER

ARTIFACT_SUFFIXES: Final = (".py", ".whl")
_NAMESPACE: Final = re.compile(r"[a-zA-Z0-9_]+")
_FOREIGN: Final = (".jar", ".zip", ".egg", ".tar.gz", ".tgz")


class ArtifactPath(msgspec.Struct, frozen=True):
    """A path in a plugin directory that is an artifact, or was meant to be one."""

    path: Path
    scope: str
    namespace: str
    problem: str | None = None
    """Why the path cannot be an artifact, if its name alone shows it."""


def find_system_artifacts(directory: Path) -> Iterator[ArtifactPath]:
    """Yield the artifacts that come with localcdap."""
    for entry in _list_entries(directory):
        if _is_artifact(entry):
            yield ArtifactPath(entry, SYSTEM, SYSTEM_NAMESPACE)


def find_user_artifacts(directory: Path) -> Iterator[ArtifactPath]:
    """Yield the artifacts of a plugin directory.

    Artifacts directly in it belong to the namespace ``default``; a sub-folder that is not an artifact itself
    holds the artifacts of the namespace of that name. A directory that does not exist counts as empty.
    """
    try:
        entries = _list_entries(directory)
    except OSError as error:
        yield ArtifactPath(
            directory, USER, DEFAULT_NAMESPACE, _describe_unreadable(directory, error)
        )
        return
    for entry in entries:
        if _is_artifact(entry) or _is_foreign(entry):
            yield _to_artifact_path(entry, DEFAULT_NAMESPACE)
        elif _is_folder(entry):
            if _NAMESPACE.fullmatch(entry.name):
                yield from _find_in_namespace(entry)
            else:
                yield ArtifactPath(entry, USER, DEFAULT_NAMESPACE)


def _find_in_namespace(folder: Path) -> Iterator[ArtifactPath]:
    try:
        entries = _list_entries(folder)
    except OSError as error:
        yield ArtifactPath(folder, USER, folder.name, _describe_unreadable(folder, error))
        return
    for entry in entries:
        if _is_artifact(entry) or _is_foreign(entry):
            yield _to_artifact_path(entry, folder.name)


def _to_artifact_path(entry: Path, namespace: str) -> ArtifactPath:
    if not _is_foreign(entry):
        return ArtifactPath(entry, USER, namespace)
    problem = (
        f"{entry.name} is not an artifact: an artifact is a Python file, a folder with a {PROJECT_FILE}, or "
        "a wheel. Plugins in Java do not run here."
    )
    return ArtifactPath(entry, USER, namespace, problem)


def _list_entries(directory: Path) -> list[Path]:
    """List a folder.

    :raises OSError: when it exists and is not a folder that can be read.
    """
    try:
        entries = list(directory.iterdir())
    except FileNotFoundError:
        return []
    return sorted(entry for entry in entries if is_content(entry.name))


def _is_artifact(entry: Path) -> bool:
    if entry.suffix in ARTIFACT_SUFFIXES and not _is_folder(entry):
        return True
    # A package or a set-up script without a project file is a mistake to report, not a namespace.
    names = (PROJECT_FILE, "__init__.py", "setup.py")
    return any(os.path.isfile(entry / name) for name in names)  # noqa: PTH113


def _is_folder(entry: Path) -> bool:
    # Inside folders without permission os.path returns False, while pathlib raises.
    return os.path.isdir(entry)  # noqa: PTH112


def _is_foreign(entry: Path) -> bool:
    return entry.name.endswith(_FOREIGN)


def _describe_unreadable(folder: Path, error: OSError) -> str:
    return f"Folder '{folder.name}' cannot be read: {error.strerror}."
