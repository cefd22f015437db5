"""Parents: the applications that an artifact's plugins extend (CDAP 6 ``ArtifactRange``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.artifacts.model import SYSTEM_NAMESPACE
from localcdap.artifacts.version import ArtifactVersion, VersionRange

APP_VERSION: Final = ArtifactVersion("6.10.0")
"""The version of CDAP's applications that localcdap implements."""
APPS: Final = ("cdap-data-pipeline", "cdap-data-streams")
"""The applications of CDAP; both are system artifacts."""
_RANGE: Final = re.compile(r"(?:([^:\[(]*):)?([a-zA-Z0-9._-]+)([\[(].*)", re.DOTALL)


class ParentRange(msgspec.Struct, frozen=True):
    """A parent with a range of versions, such as ``system:cdap-data-pipeline[6.0.0,7.0.0)``."""

    name: str
    versions: VersionRange
    namespace: str = SYSTEM_NAMESPACE

    @staticmethod
    def parse(text: str) -> ParentRange:
        """Parse a parent.

        :raises BadRequestError: when the text is not a name with a range of versions.
        """
        match = _RANGE.fullmatch(text.strip())
        if match is None:
            raise BadRequestError(
                f"Invalid parent '{text:.200}'.",
                "Write one such as cdap-data-pipeline[6.0.0,7.0.0).",
            )
        namespace = SYSTEM_NAMESPACE if match[1] is None else match[1].strip().lower()
        return ParentRange(match[2], VersionRange.parse(match[3]), namespace)


def find_supported_apps(parents: Iterable[str]) -> frozenset[str]:
    """Return the applications of this instance that can use the plugins; all when there are no parents.

    :raises BadRequestError: when a parent is malformed.
    """
    ranges = [ParentRange.parse(parent) for parent in parents]
    if not ranges:
        return frozenset(APPS)
    return frozenset(
        parent.name
        for parent in ranges
        if parent.namespace == SYSTEM_NAMESPACE
        and parent.name in APPS
        and APP_VERSION in parent.versions
    )


def check_parents(parents: Iterable[str]) -> None:
    """Check that at least one of the parents exists in this instance.

    :raises BadRequestError: when a parent is malformed, or none of them exists.
    """
    given = list(parents)
    if not find_supported_apps(given):
        raise BadRequestError(
            f"None of its parents exists: {', '.join(given)}.",
            f"Existing parents are {' and '.join(APPS)}, both in version {APP_VERSION}.",
        )
