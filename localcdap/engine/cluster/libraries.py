"""The files of installed Python packages, with those of the packages that they require."""

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
"""What every cluster has that runs Python stages."""
_NOT_SENT: Final = frozenset(("..", "__pycache__"))
_REQUIREMENT: Final = re.compile(r"[\w.-]+")


def library_files(names: Iterable[str]) -> dict[str, Path]:
    """Where the files of packages lie, by their paths below a folder of ``sys.path``.

    :param names: as they are installed or as they are imported: ``jsonschema-rs``, ``jsonschema_rs``. One
        that was not installed, but is found, is taken as it lies.
    :raises EngineError: when one is not there.
    """
    files: dict[str, Path] = {}
    seen: set[str] = set()
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if (key := re.sub(r"[-_.]+", "-", name).lower()) in seen:
            continue
        seen.add(key)
        distributions = list(_distributions(name))
        wanted.extend(each for found in distributions for each in _required(found))
        installed = dict(each for found in distributions for each in _installed(found))
        files |= installed or dict(_lying(name))
    return files


def _distributions(name: str) -> Iterator[Distribution]:
    try:
        yield importlib.metadata.distribution(name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        for found in importlib.metadata.packages_distributions().get(name, ()):
            yield importlib.metadata.distribution(found)


def _required(distribution: Distribution) -> Iterator[str]:
    """What it needs in any case; what hangs on extras or on the machine is left to its user to name."""
    for requirement in distribution.requires or ():
        found = _REQUIREMENT.match(requirement)
        if found and ";" not in requirement and found[0].lower() not in _IN_SPARK:
            yield found[0]


def _installed(distribution: Distribution) -> Iterator[tuple[str, Path]]:
    """Files that can be imported; none of a distribution that only links to its sources."""
    files = [file for file in distribution.files or () if not _NOT_SENT.intersection(file.parts)]
    if any(not _is_about_it(file.parts[0]) for file in files):
        for file in files:
            yield str(file), Path(str(distribution.locate_file(file)))


def _is_about_it(top: str) -> bool:
    return top.endswith((".dist-info", ".egg-info", ".pth")) or top.startswith("__editable__")


def _lying(name: str) -> Iterator[tuple[str, Path]]:
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        raise EngineError(
            f"There is no Python package '{name}' here that could be sent to a cluster.",
            "Install it beside localcdap, or take it out of the 'packages' of the profile.",
        )
    place = Path(spec.origin)
    if not spec.submodule_search_locations:
        yield place.name, place
        return
    for file in sorted(place.parent.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield str(file.relative_to(place.parent.parent)), file
