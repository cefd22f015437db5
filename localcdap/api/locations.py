"""Resolves the paths of pipeline documents to paths on this machine, or on the cluster of a run."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from localcdap.api.errors import StageError

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


class Locations(msgspec.Struct, frozen=True):
    """The locations of foreign paths: resolves the paths of a document."""

    mapping: dict[str, str]
    """Folders by prefixes of foreign paths, from the settings or the compute profile; the longest prefix
    applies."""
    base: str
    """The absolute directory that relative paths are relative to."""
    remote: bool = False
    """Whether the run is on a cluster, where foreign paths such as ``gs://…`` are kept."""

    def resolve(self, path: str) -> str:
        """Return the path on this machine or cluster; wildcards stay unchanged.

        :raises StageError: (without a stage) for a foreign path without a location.
        """
        # file:///a, file:/a and /a are the same path, in the settings and in a document.
        path = _remove_file_scheme(path.strip())
        prefixes = {_remove_file_scheme(each).rstrip("/"): each for each in self.mapping}
        for prefix in sorted(prefixes, key=len, reverse=True):
            if path == prefix or path.startswith(f"{prefix}/"):
                return self._resolve_local(self.mapping[prefixes[prefix]] + path[len(prefix) :])
        if _SCHEME.match(path) is None:
            return self._resolve_local(path)
        if self.remote:
            return path
        bucket = "/".join(path.split("/")[:3])
        raise StageError(
            f"'{path}' does not lie on this machine.",
            f'Say where it is under [locations] in localcdap.toml: "{bucket}" = "data/folder"',
        )

    def _resolve_local(self, path: str) -> str:
        if _SCHEME.match(path):
            return path
        if self.remote and not path.startswith("/"):
            raise StageError(
                f"'{path}' is relative, and a cluster has no folder that it could be relative to.",
                "Name a path of the cluster: one that begins with '/', or a URL.",
            )
        # Not normalised with pathlib, because a trailing slash or a pattern may have a meaning for a plugin.
        return path if path.startswith("/") else f"{self.base}/{path}"


def is_inside(path: str, folder: str) -> bool:
    """Return whether a resolved path is a folder, or lies below it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _remove_file_scheme(path: str) -> str:
    """Return a path without ``file:``, with one slash at its start; other paths stay as they are."""
    if not path.lower().startswith("file:"):
        return path
    rest = path[len("file:") :]
    return "/" + rest.lstrip("/") if rest.startswith("/") else rest
