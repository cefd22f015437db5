"""The files of installed Python packages and of the packages that they require, to be sent to a cluster."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution
from pathlib import Path
from typing import Final

from localcdap.api.errors import EngineError

_IN_SPARK: Final = frozenset(("numpy", "pandas", "pyarrow", "pyspark"))
"""Packages that every cluster has that runs Python stages."""
_NOT_SENT: Final = frozenset(("..", "__pycache__"))
_REQUIREMENT: Final = re.compile(r"[\w.-]+")


def find_package_files(names: Iterable[str]) -> dict[str, Path]:
    """Return the files of packages, by their paths relative to a folder of ``sys.path``.

    :param names: as they are installed or as they are imported: ``jsonschema-rs``, ``jsonschema_rs``. A
        package that can be imported but was not installed is taken from its folder.
    :raises EngineError: when one is not found.
    """
    files: dict[str, Path] = {}
    seen: set[str] = set()
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if (key := re.sub(r"[-_.]+", "-", name).lower()) in seen:
            continue
        seen.add(key)
        distributions = list(_find_distributions(name))
        wanted.extend(each for found in distributions for each in _list_requirements(found))
        installed = dict(each for found in distributions for each in _list_installed_files(found))
        files |= installed or dict(_list_source_files(name))
    return files


def _find_distributions(name: str) -> Iterator[Distribution]:
    try:
        yield importlib.metadata.distribution(name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        for found in importlib.metadata.packages_distributions().get(name, ()):
            yield importlib.metadata.distribution(found)


def _list_requirements(distribution: Distribution) -> Iterator[str]:
    """Yield unconditional requirements; users must name those that depend on extras or on the machine."""
    for requirement in distribution.requires or ():
        found = _REQUIREMENT.match(requirement)
        if found and ";" not in requirement and found[0].lower() not in _IN_SPARK:
            yield found[0]


def _list_installed_files(distribution: Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the importable files; none for a distribution that only links to its sources."""
    files = [file for file in distribution.files or () if not _NOT_SENT.intersection(file.parts)]
    if any(not _is_metadata(file.parts[0]) for file in files):
        for file in files:
            yield str(file), Path(str(distribution.locate_file(file)))


def _is_metadata(top: str) -> bool:
    return top.endswith((".dist-info", ".egg-info", ".pth")) or top.startswith("__editable__")


def _list_source_files(name: str) -> Iterator[tuple[str, Path]]:
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        raise EngineError(
            f"There is no Python package '{name}' here that could be sent to a cluster.",
            "Install it where localcdap is installed, or remove it from 'packages' of the profile.",
        )
    origin = Path(spec.origin)
    if not spec.submodule_search_locations:
        yield origin.name, origin
        return
    for file in sorted(origin.parent.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield str(file.relative_to(origin.parent.parent)), file
