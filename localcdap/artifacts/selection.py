"""Choosing the plugin that a stage means, when several artifacts have one.

Order and choice are those of CDAP 6: artifacts are ordered by name, version and scope (SYSTEM below USER),
and the last one that the selector accepts is chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ArtifactId
from localcdap.artifacts.model import (
    SYSTEM,
    USER,
    ArtifactSelector,
    PluginClass,
    PluginLookup,
    PluginRef,
)
from localcdap.artifacts.version import APPS, ArtifactVersion, VersionRange
from localcdap.text import nearest_names

_MOST_SUGGESTIONS: Final = 5


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """A plugin of an artifact in use, with the path of its content."""

    artifact: ArtifactId
    version: ArtifactVersion
    path: str
    digest: str
    plugin: PluginClass
    apps: frozenset[str] = frozenset(APPS)
    """The names of the applications that can use it; usually all."""

    @property
    def ref(self) -> PluginRef:
        plugin = self.plugin
        return PluginRef(
            self.artifact, self.path, self.digest, plugin.type, plugin.name, plugin.class_name
        )

    @property
    def order(self) -> Any:
        """The sort key; the last candidate is chosen."""
        return artifact_order(self.artifact, self.version)


def artifact_order(artifact: ArtifactId, version: ArtifactVersion) -> Any:
    """Return the sort key of an artifact: name, version, scope."""
    return (artifact.name, version, artifact.scope == USER)


def choose(candidates: Iterable[Candidate], selector: ArtifactSelector) -> Candidate | None:
    """Return the highest candidate that the selector accepts.

    :raises BadRequestError: when scope or version of the selector cannot be read.
    """
    return max(narrow(candidates, selector), key=lambda candidate: candidate.order, default=None)


def narrow(candidates: Iterable[Candidate], selector: ArtifactSelector) -> Iterator[Candidate]:
    """Yield the candidates that the selector accepts.

    :raises BadRequestError: when scope or version of the selector cannot be read.
    """
    return filter(_SelectorFilter(selector), candidates)


def filter_usable(app: str, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield the candidates that an application can use."""
    return (candidate for candidate in candidates if app in candidate.apps)


def look_up(
    candidates: Sequence[Candidate],
    names: Iterable[str],
    name: str,
    selector: ArtifactSelector,
) -> PluginLookup:
    """Choose among the plugins of one type and name.

    :param names: the names of all plugins of that type, for suggestions.
    :raises BadRequestError: when scope or version of the selector cannot be read.
    """
    chosen = choose(candidates, selector)
    if chosen is not None:
        return PluginLookup(chosen.ref)
    if candidates:
        return PluginLookup(None, suggested=max(candidates, key=_get_version_key).ref)
    return PluginLookup(None, nearest=nearest_names(name, names, _MOST_SUGGESTIONS))


class _SelectorFilter:
    """The condition that a selector puts on artifacts."""

    def __init__(self, selector: ArtifactSelector) -> None:
        self._scope = _parse_scope(selector.scope) if selector.scope else None
        self._name = selector.name or None
        self._range = VersionRange.parse(selector.version) if selector.version else None

    def __call__(self, candidate: Candidate) -> bool:
        artifact = candidate.artifact
        return (
            (self._scope is None or artifact.scope == self._scope)
            and (self._name is None or artifact.name == self._name)
            and (self._range is None or candidate.version in self._range)
        )


def _parse_scope(text: str) -> str:
    scope = text.strip().upper()
    if scope not in (SYSTEM, USER):
        raise BadRequestError(
            f"Could not parse '{text}' as a valid scope.", f"Use {SYSTEM} or {USER}."
        )
    return scope


def _get_version_key(candidate: Candidate) -> Any:
    return (candidate.version, candidate.artifact.name, candidate.artifact.scope == USER)
