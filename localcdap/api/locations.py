"""Where the paths of a pipeline document lie: on this machine, or on the cluster of a run."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from localcdap.api.errors import StageError

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


class Locations(msgspec.Struct, frozen=True):
    """Turns paths of a document into paths of this machine."""

    mapping: dict[str, str]
    """Of the settings or the compute profile: prefix of a foreign path, folder. The longest wins."""
    base: str
    """What relative paths are relative to, an absolute directory."""
    remote: bool = False
    """Whether the run is on a cluster, where ``gs://…`` and the like mean themselves."""

    def resolve(self, path: str) -> str:
        """The local form of a path; wildcards stay as they are.

        :raises StageError: (without a stage) for a foreign path that no location is given for.
        """
        path = path.strip()
        for written in sorted(self.mapping, key=len, reverse=True):
            prefix, target = written.rstrip("/"), self.mapping[written]
            if path == prefix or path.startswith(f"{prefix}/"):
                return self._local(target + path[len(prefix) :])
        scheme = _SCHEME.match(path)
        if scheme is None or scheme.group(1).lower() == "file":
            return self._local(_without_file(path))
        if self.remote:
            return path
        bucket = "/".join(path.split("/")[:3])
        raise StageError(
            f"'{path}' does not lie on this machine.",
            f'Say where it is under [locations] in localcdap.toml: "{bucket}" = "data/folder"',
        )

    def _local(self, path: str) -> str:
        if _SCHEME.match(path):
            return path
        if self.remote and not path.startswith("/"):
            raise StageError(
                f"'{path}' is relative, and a cluster has no folder that it could be relative to.",
                "Name a path of the cluster: one that begins with '/', or a URL.",
            )
        # Not normalised by pathlib: a trailing slash or a pattern may mean something to a plugin.
        return path if path.startswith("/") else f"{self.base}/{path}"


def _without_file(path: str) -> str:
    if not path.lower().startswith("file:"):
        return path
    rest = path[len("file:") :]
    return "/" + rest.lstrip("/") if rest.startswith("/") else rest
