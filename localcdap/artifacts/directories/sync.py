"""Synchronizing the index of artifacts with the plugin directories."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Protocol

import msgspec

from localcdap.api.app.application import ApplicationClass
from localcdap.api.errors import BadRequestError, HostLostError, LocalcdapError
from localcdap.artifacts.directories.artifact_paths import ArtifactPath
from localcdap.artifacts.directories.content_cache import ContentCache
from localcdap.artifacts.directories.contents import compute_digest, compute_signature, to_printable
from localcdap.artifacts.directories.identity import ArtifactIdentity, get_sidecar, read_identity
from localcdap.artifacts.index import ArtifactContent, ArtifactEntry, ArtifactIndex
from localcdap.artifacts.model import Inspection
from localcdap.artifacts.module_rules import ModuleRules
from localcdap.artifacts.version import APP_VERSION
from localcdap.moved import MOVED
from localcdap.store.store import Transaction

_LOG: Final = logging.getLogger(__name__)
_FORMAT: Final = f"6-{APP_VERSION}-{sys.implementation.cache_tag}"
"""Changes when inspection finds new information, so that everything is inspected again."""
_INSPECTIONS: Final = min(3, os.cpu_count() or 1)
"""Artifacts that are inspected at the same time. The pool of plugin workers has three for calls that may take
long."""
_PACKAGE: Final = Path(__file__).parents[2]
_BASE_PACKAGES: Final = ("api", "googlesql", "java", "plugin_lib")
"""The packages that plugins build on: with another version of these, a plugin may have other properties."""


class ArtifactInspector(Protocol):
    """Inspects artifacts by running their code; the pool of plugin workers."""

    def inspect(self, path: str, digest: str) -> Inspection:
        """:raises PluginError: when the code hung, crashed or took too much memory.
        :raises HostLostError: when the worker was closed meanwhile; then nothing is known of the code.
        """


class Deployer(Protocol):
    """Deploys the system applications of an artifact."""

    def deploy(self, namespace: str, applications: Sequence[ApplicationClass]) -> None:
        """Deploy applications; repeated calls have no further effect.

        :param namespace: the namespace of their artifact.
        :raises LocalcdapError: when they cannot be used; the artifact then counts as broken.
        """


class ArtifactIndexState(msgspec.Struct):
    """The index in memory."""

    entries: dict[str, ArtifactEntry]
    """The artifacts by path, in the order in which they were found."""
    contents: dict[str, ArtifactContent]
    """The inspected contents by digest."""


class ArtifactSynchronizer:
    """Compares directories with the index. Each content is inspected once, even if several artifacts have
    it.
    """

    def __init__(
        self,
        index: ArtifactIndex,
        inspector: ArtifactInspector,
        copies: ContentCache,
        deployer: Deployer | None = None,
    ) -> None:
        self._index = index
        self._inspector = inspector
        self._deployer = deployer
        self._copies = copies

    def compare(
        self,
        places: Sequence[ArtifactPath],
        old: ArtifactIndexState,
        *,
        retry_errors: bool = False,
        touched: Collection[str] | None = None,
        unfinished: Collection[str] = (),
        forced: Collection[str] = (),
    ) -> ArtifactIndexState:
        """Return the new state of the index; ``old`` itself when nothing has changed.

        :param touched: paths that may have changed; of the others only new ones are read. None for all.
        :param unfinished: paths that are being written; their entries stay unchanged.
        :param forced: paths of artifacts that may take dataset types from other modules.
        """
        work = _Synchronization(self._inspector, self._copies, old, self._deployer, retry_errors)
        work.forced = forced
        keys = [to_printable(place.path) for place in places]
        current = {key: old.entries[key] for key in keys if key in old.entries}
        work.rules = ModuleRules(current, work.contents, self._index.list_datasets)
        work.inspect_ahead(
            place.path
            for key, place in zip(keys, places, strict=True)
            if key not in current and place.problem is None and str(place.path) not in unfinished
        )
        entries: dict[str, ArtifactEntry] = {}
        for place in places:
            key = to_printable(place.path)
            known = old.entries.get(key)
            as_before = touched is not None and str(place.path) not in touched
            if str(place.path) in unfinished:
                if known is not None:
                    entries[key] = known
            elif known is not None and as_before and _has_same_scope(known, place):
                entries[key] = known
            else:
                entries[key] = current[key] = work.entry(key, place)
        used = _collect_digests(entries)
        contents = {d: content for d, content in work.contents.items() if d in used}
        state = ArtifactIndexState(entries, contents)
        if state == old and list(entries) == list(old.entries) and not work.copied:
            return old
        return state

    def save(
        self,
        state: ArtifactIndexState,
        old: ArtifactIndexState,
        also: Callable[[Transaction], None],
    ) -> None:
        """Write the new state into the index.

        :param also: called with the transaction, for further changes.
        """
        self._index.save(
            changed=[e for path, e in state.entries.items() if old.entries.get(path) != e],
            removed=old.entries.keys() - state.entries.keys(),
            contents=[c for d, c in state.contents.items() if old.contents.get(d) != c],
            forgotten=old.contents.keys() - state.contents.keys(),
            also=also,
        )
        self._copies.prune(_collect_digests(state.entries))


def _collect_digests(entries: Mapping[str, ArtifactEntry]) -> set[str]:
    return {d for entry in entries.values() for d in (entry.digest, entry.good_digest) if d}


class _Synchronization:
    """The work of one synchronization."""

    def __init__(
        self,
        inspector: ArtifactInspector,
        copies: ContentCache,
        old: ArtifactIndexState,
        deployer: Deployer | None,
        retry_errors: bool,
    ) -> None:
        self.contents = dict(old.contents)
        self.copied = False
        """Whether a content was copied that look-ups do not have yet."""
        self.rules: ModuleRules | None = None
        """The rules for dataset modules; None to accept all."""
        self.forced: Collection[str] = ()
        self._old = old
        self._deployer = deployer
        self._inspector = inspector
        self._copies = copies
        self._format = f"{_FORMAT}-{_hash_base_packages()}"
        self._inspected_by = f"{self._format} {_hash_installed_packages()}"
        self._fresh: set[str] = set()
        self._retry_errors = retry_errors

    def inspect_ahead(self, paths: Iterable[Path]) -> None:
        """Inspect the contents of new artifacts at the same time; what fails is left for :meth:`entry`.

        One after the other, they leave the second core idle most of the time.

        :raises HostLostError: when the inspector was closed meanwhile.
        """
        claimed: set[str] = set()
        lock = threading.Lock()

        def inspect(path: Path) -> None:
            try:
                digest = compute_digest(path)
                with lock:
                    is_first = digest not in claimed
                    claimed.add(digest)
                if is_first and not read_identity(path).problem:
                    self._read_content(path)
            except HostLostError:
                raise
            except Exception:
                _LOG.debug("%s", path, exc_info=True)

        with ThreadPoolExecutor(_INSPECTIONS, "inspection") as threads:
            list(threads.map(inspect, paths))

    def entry(self, key: str, place: ArtifactPath) -> ArtifactEntry:
        """Return the entry of an artifact.

        :param key: its path as in the index.
        """
        old = self._old.entries.get(key)
        name = to_printable(place.path.stem)
        if place.problem is not None:
            return self._make_broken_entry(
                key, place, old, ArtifactIdentity(name, "", place.problem)
            )
        try:
            now = compute_signature(place.path, get_sidecar(place.path))
            if old is not None and now and self._is_current(old, place, now):
                return old
            identity = read_identity(place.path)
            if identity.problem:
                return self._make_broken_entry(key, place, old, identity, now)
            found = self._read_content(place.path)
        except BadRequestError as error:
            return self._make_broken_entry(
                key, place, old, ArtifactIdentity(name, "", error.full_message)
            )
        except OSError as error:
            message = f"{to_printable(place.path.name)} cannot be read: {error.strerror or error}."
            return self._make_broken_entry(key, place, old, ArtifactIdentity(name, "", message))
        except HostLostError:
            raise
        except Exception as error:  # one artifact must not prevent the use of the others
            _LOG.exception("%s", key)
            return self._make_broken_entry(
                key, place, old, ArtifactIdentity(name, "", f"{type(error).__name__}: {error}")
            )
        if found.errors:
            return self._make_broken_entry(key, place, old, identity, now, found.digest)
        may_take = key in self.forced or (old is not None and old.forced_digest == found.digest)
        is_in_use = old is not None and old.good_digest == found.digest
        refusal = (
            None if is_in_use else self._check_types(place, identity, found, is_forced=may_take)
        ) or self._deploy(place, found)
        if refusal is not None:
            refused = msgspec.structs.replace(identity, problem=refusal)
            # No signature, so that the next synchronization tries to deploy it again.
            return self._make_broken_entry(key, place, old, refused, digest=found.digest)
        return ArtifactEntry(
            path=key,
            scope=place.scope,
            namespace=place.namespace,
            name=identity.name,
            version=identity.version,
            signature=now,
            digest=found.digest,
            good_digest=found.digest,
            problem=None,
            parents=" ".join(identity.parents),
            forced_digest=found.digest if may_take else "",
        )

    def _check_types(
        self,
        place: ArtifactPath,
        identity: ArtifactIdentity,
        found: ArtifactContent,
        *,
        is_forced: bool,
    ) -> str | None:
        """Return why the artifact cannot have the dataset types of a content; None when it can."""
        if self.rules is None:
            return None
        return self.rules.find_refusal(place.namespace, identity, found, is_forced=is_forced)

    def _is_current(self, old: ArtifactEntry, place: ArtifactPath, now: str) -> bool:
        return (
            old.signature == now
            and _has_same_scope(old, place)
            and self._is_known(old.digest)
            and (not old.good_digest or self._copies.find(old.good_digest) is not None)
        )

    def _is_known(self, digest: str) -> bool:
        """Return whether a new inspection of the content would have the same result."""
        content = self.contents.get(digest)
        if content is None or digest in self._fresh:
            return content is not None
        if content.errors:
            return not self._retry_errors and content.inspected_by == self._inspected_by
        return content.inspected_by.startswith(self._format)

    def _read_content(self, path: Path) -> ArtifactContent:
        found = compute_digest(path)
        if not self._is_known(found) or self._copies.find(found) is None:
            found = self._copies.take(path)
            self.copied = True
        if not self._is_known(found):
            inspection = self._inspect(found)
            self.contents[found] = ArtifactContent.of(found, inspection, self._inspected_by)
            self._fresh.add(found)
        return self.contents[found]

    def _deploy(self, place: ArtifactPath, found: ArtifactContent) -> str | None:
        """Return why the applications of a content cannot be deployed; None if they can or do not exist."""
        if not found.applications or self._deployer is None:
            return None
        try:
            self._deployer.deploy(place.namespace, found.applications)
        except LocalcdapError as error:
            return error.full_message
        return None

    def _inspect(self, digest: str) -> Inspection:
        try:
            return self._inspector.inspect(str(self._copies.find(digest)), digest)
        except HostLostError:
            raise
        except LocalcdapError as error:
            return Inspection([], [error.full_message])

    def _make_broken_entry(
        self,
        key: str,
        place: ArtifactPath,
        old: ArtifactEntry | None,
        identity: ArtifactIdentity,
        signature: str = "",
        digest: str = "",
    ) -> ArtifactEntry:
        """Return the entry of a broken artifact; its last good content stays in use."""
        good, parents = "", " ".join(identity.parents)
        name, version = identity.name, identity.version
        if old is not None and self._copies.find(old.good_digest) is not None:
            good, name, version, parents = old.good_digest, old.name, old.version, old.parents
        return ArtifactEntry(
            path=key,
            scope=place.scope,
            namespace=place.namespace,
            name=name,
            version=version,
            signature=signature,
            digest=digest,
            good_digest=good,
            problem=to_printable(identity.problem) if identity.problem else None,
            parents=parents,
            forced_digest=old.forced_digest if old is not None and good else "",
        )


def _has_same_scope(entry: ArtifactEntry, place: ArtifactPath) -> bool:
    return (entry.scope, entry.namespace) == (place.scope, place.namespace)


@functools.cache
def _hash_base_packages() -> str:
    """Compute a hash of the code that plugins build on; it changes with an update of localcdap."""
    state = hashlib.sha256(repr(MOVED).encode())
    folders = [str(_PACKAGE / name) for name in _BASE_PACKAGES]
    while folders:
        try:
            entries = sorted(os.scandir(folders.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir():
                folders.append(entry.path)
            elif entry.name.endswith(".py"):
                status = entry.stat()
                state.update(f"{entry.path}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return state.hexdigest()[:16]


def _hash_installed_packages() -> str:
    """Compute a hash that changes when packages are installed or removed, which may repair an import."""
    state = hashlib.sha256()
    for folder in sys.path:
        try:
            state.update(f"{folder}\0{Path(folder).stat().st_mtime_ns}\0".encode(errors="replace"))
        except OSError:
            continue
    return state.hexdigest()[:16]
