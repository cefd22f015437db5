"""The artifacts and plugins in use, arranged for look-ups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from localcdap.api.failures import ArtifactId
from localcdap.artifacts.copies import Copies
from localcdap.artifacts.index import Entry
from localcdap.artifacts.model import SYSTEM_NAMESPACE, ArtifactDetail
from localcdap.artifacts.selection import Candidate, artifact_order
from localcdap.artifacts.sync import ArtifactState
from localcdap.artifacts.version import ArtifactVersion


class Catalog:
    """Never changes; a new one takes its place.

    :param required: capabilities that a plugin must have to be in it at all.
    """

    def __init__(self, state: ArtifactState, copies: Copies, required: frozenset[str]) -> None:
        self.details: Final = list(_details(state))
        self._plugins: dict[str, dict[str, dict[str, list[Candidate]]]] = {}
        for detail in self.details:
            copy = copies.find(detail.digest)
            if copy is None:
                continue
            version = ArtifactVersion(detail.version)
            for plugin in detail.plugins:
                if required <= set(plugin.capabilities):
                    candidate = Candidate(detail.id, version, str(copy), detail.digest, plugin)
                    types = self._plugins.setdefault(detail.namespace, {})
                    types.setdefault(plugin.type, {}).setdefault(plugin.name, []).append(candidate)

    def visible_details(self, namespace: str) -> list[ArtifactDetail]:
        """The artifacts that a namespace sees: its own and those of the system, in order."""
        visible = [d for d in self.details if d.namespace in (namespace, SYSTEM_NAMESPACE)]
        return sorted(visible, key=_detail_order)

    def candidates(self, namespace: str, type: str, name: str) -> list[Candidate]:
        """The plugins of a type and name that a namespace sees."""
        return [
            candidate
            for names in self._visible(namespace, type)
            for candidate in names.get(name, ())
        ]

    def types(self, namespace: str) -> list[str]:
        """The plugin types that a namespace sees, in alphabetical order."""
        spaces = {namespace, SYSTEM_NAMESPACE}
        return sorted({type for space in spaces for type in self._plugins.get(space, ())})

    def names(self, namespace: str, type: str) -> list[str]:
        """Names of the plugins of a type that a namespace sees, in alphabetical order."""
        return sorted({name for names in self._visible(namespace, type) for name in names})

    def in_use(self) -> dict[tuple[str, ArtifactId], str]:
        """Digest of each artifact in use, by namespace and id."""
        return {(d.namespace, d.id): d.digest for d in self.details if d.digest}

    def problems(self) -> set[tuple[str, str]]:
        """Path and error of everything that has one."""
        return {(d.path, d.error) for d in self.details if d.error}

    def _visible(self, namespace: str, type: str) -> Iterator[dict[str, list[Candidate]]]:
        for space in dict.fromkeys((SYSTEM_NAMESPACE, namespace)):
            yield self._plugins.get(space, {}).get(type, {})


def _details(state: ArtifactState) -> Iterator[ArtifactDetail]:
    taken: dict[tuple[str, str, str], str] = {}
    for entry in state.entries.values():
        errors = list(_errors(entry, state))
        digest = entry.good_digest
        first = taken.setdefault((entry.namespace, entry.name, entry.version), entry.path)
        if digest and first != entry.path:
            errors.append(
                f"{entry.name} {entry.version} is already provided by {first}, which is used. "
                "Remove one of the two or change its version."
            )
            digest = ""
        elif digest and errors:
            errors.append(f"The last good content, version {entry.version}, stays in use.")
        yield ArtifactDetail(
            name=entry.name,
            version=entry.version,
            scope=entry.scope,
            namespace=entry.namespace,
            path=entry.path,
            digest=digest,
            error="\n".join(errors) or None,
            plugins=state.contents[digest].plugins if digest else [],
        )


def _errors(entry: Entry, state: ArtifactState) -> Iterable[str]:
    if entry.problem:
        yield entry.problem
    content = state.contents.get(entry.digest)
    yield from content.errors if content else ()


def _detail_order(detail: ArtifactDetail) -> Any:
    # An artifact without a readable version stands before all of its name.
    version = ArtifactVersion(detail.version) if detail.version else ArtifactVersion("0")
    return (*artifact_order(detail.id, version), detail.path)
