"""Bringing the index up to date with the plugin directories."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from localcdap.api.errors import BadRequestError, PluginError
from localcdap.artifacts.copies import Copies
from localcdap.artifacts.index import ArtifactIndex, Content, Entry
from localcdap.artifacts.model import Inspection
from localcdap.artifacts.places import Identity, Place, digest, identify, signature

_FORMAT: Final = f"1-{sys.implementation.cache_tag}"
"""Changes when inspection tells something new, so that everything is inspected again."""


class Inspector(Protocol):
    """Who runs the code of an artifact to see what is in it."""

    def inspect(self, path: str, digest: str) -> Inspection:
        """:raises PluginError: when the code did not come to an end."""


class ArtifactState(msgspec.Struct):
    """The index in memory."""

    entries: dict[str, Entry]
    """By path, in the order in which the artifacts were found."""
    contents: dict[str, Content]
    """By digest."""


class Synchronizer:
    """Compares directories and index. A content is inspected once, however often it is found."""

    def __init__(self, index: ArtifactIndex, inspector: Inspector, copies: Copies) -> None:
        self._index = index
        self._inspector = inspector
        self._copies = copies

    def sync(
        self, places: Sequence[Place], old: ArtifactState, retry_errors: bool
    ) -> ArtifactState:
        """The state after the index was brought up to date; ``old`` itself when nothing changed."""
        work = _Work(self._inspector, self._copies, old, retry_errors)
        entries = {str(place.path): work.entry(place) for place in places}
        used = {d for entry in entries.values() for d in (entry.digest, entry.good_digest) if d}
        contents = {d: content for d, content in work.contents.items() if d in used}
        if entries != old.entries or contents != old.contents:
            self._index.save(
                changed=[e for path, e in entries.items() if old.entries.get(path) != e],
                removed=old.entries.keys() - entries.keys(),
                contents=[c for d, c in contents.items() if old.contents.get(d) != c],
                forgotten=old.contents.keys() - contents.keys(),
            )
            self._copies.prune(used)
        elif list(entries) == list(old.entries) and not work.copied:
            return old
        return ArtifactState(entries, contents)


class _Work:
    """One synchronization."""

    def __init__(
        self, inspector: Inspector, copies: Copies, old: ArtifactState, retry_errors: bool
    ) -> None:
        self.contents = dict(old.contents)
        self.copied = False
        """Whether a copy was made that look-ups do not know of."""
        self._old = old
        self._inspector = inspector
        self._copies = copies
        self._inspected_by = f"{_FORMAT} {_installed_packages()}"
        self._fresh: set[str] = set()
        self._retry_errors = retry_errors

    def entry(self, place: Place) -> Entry:
        old = self._old.entries.get(str(place.path))
        try:
            now = signature(place.path)
            if old is not None and now and self._is_current(old, place, now):
                return old
            identity = identify(place.path)
            if identity.problem:
                return self._broken(place, old, identity, now)
            found = self._content(place.path)
        except (OSError, BadRequestError) as error:
            return self._broken(place, old, Identity(place.path.stem, "", str(error)))
        if found.errors:
            return self._broken(place, old, identity, now, found.digest)
        return Entry(
            path=str(place.path),
            scope=place.scope,
            namespace=place.namespace,
            name=identity.name,
            version=identity.version,
            signature=now,
            digest=found.digest,
            good_digest=found.digest,
            problem=None,
        )

    def _is_current(self, old: Entry, place: Place, now: str) -> bool:
        return (
            old.signature == now
            and (old.scope, old.namespace) == (place.scope, place.namespace)
            and self._is_known(old.digest)
            and (not old.good_digest or self._copies.find(old.good_digest) is not None)
        )

    def _is_known(self, digest: str) -> bool:
        """Whether inspecting the content again would say the same."""
        content = self.contents.get(digest)
        if content is None or digest in self._fresh:
            return content is not None
        if content.errors:
            return not self._retry_errors and content.inspected_by == self._inspected_by
        return content.inspected_by.startswith(_FORMAT)

    def _content(self, path: Path) -> Content:
        found = digest(path)
        if not self._is_known(found) or self._copies.find(found) is None:
            found = self._copies.take(path)
            self.copied = True
        if not self._is_known(found):
            inspection = self._inspect(found)
            self.contents[found] = Content.of(found, inspection, self._inspected_by)
            self._fresh.add(found)
        return self.contents[found]

    def _inspect(self, digest: str) -> Inspection:
        try:
            return self._inspector.inspect(str(self._copies.find(digest)), digest)
        except PluginError as error:
            return Inspection([], [error.full_message])

    def _broken(
        self,
        place: Place,
        old: Entry | None,
        identity: Identity,
        signature: str = "",
        digest: str = "",
    ) -> Entry:
        """An entry for what cannot be used; what worked there before stays in use."""
        good = ""
        name, version = identity.name, identity.version
        if old is not None and self._copies.find(old.good_digest) is not None:
            good, name, version = old.good_digest, old.name, old.version
        return Entry(
            path=str(place.path),
            scope=place.scope,
            namespace=place.namespace,
            name=name,
            version=version,
            signature=signature,
            digest=digest,
            good_digest=good,
            problem=identity.problem,
        )


def _installed_packages() -> str:
    """Changes when packages are installed or removed, which may mend an import that failed."""
    state = hashlib.sha256()
    for folder in sys.path:
        try:
            state.update(f"{folder}\0{Path(folder).stat().st_mtime_ns}\0".encode(errors="replace"))
        except OSError:
            continue
    return state.hexdigest()[:16]
