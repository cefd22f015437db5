"""Where the paths of a pipeline document lie on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from localcdap.api.errors import StageError

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


class Locations:
    """Turns paths of a document into paths of this machine.

    :param mapping: the ``[locations]`` of the settings: prefix of a foreign path, local folder.
    :param base: what relative paths are relative to, an absolute directory.
    :param remote: whether the run is on a cluster, where ``gs://…`` and the like mean themselves.
    """

    def __init__(self, mapping: Mapping[str, str], base: Path, *, remote: bool = False) -> None:
        longest_first = sorted(mapping.items(), key=lambda pair: -len(pair[0]))
        self._mapping: Final = [(p.rstrip("/"), target) for p, target in longest_first]
        self._base: Final = base
        self._remote: Final = remote

    def resolve(self, path: str) -> str:
        """The local form of a path; wildcards stay as they are.

        :raises StageError: (without a stage) for a foreign path that no location is given for.
        """
        path = path.strip()
        for prefix, target in self._mapping:
            if path == prefix or path.startswith(f"{prefix}/"):
                return self._local(target + path[len(prefix) :])
        scheme = _SCHEME.match(path)
        if scheme is None or scheme.group(1).lower() == "file":
            return self._local(_without_file(path))
        if self._remote:
            return path
        bucket = "/".join(path.split("/")[:3])
        raise StageError(
            f"'{path}' does not lie on this machine.",
            f'Say where it is under [locations] in localcdap.toml: "{bucket}" = "data/folder"',
        )

    def _local(self, path: str) -> str:
        if _SCHEME.match(path):
            return path
        # Not normalised by pathlib: a trailing slash or a pattern may mean something to a plugin.
        return path if path.startswith("/") else f"{self._base}/{path}"


def _without_file(path: str) -> str:
    if not path.lower().startswith("file:"):
        return path
    rest = path[len("file:") :]
    return "/" + rest.lstrip("/") if rest.startswith("/") else rest
