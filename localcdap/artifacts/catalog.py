"""The catalog: the artifacts and plugins in use, arranged for look-ups.

A dataset module is an artifact that has dataset types. A module has the types of its highest version. A
namespace uses its own types first, then those of the system.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

import msgspec

from localcdap.api.app.events import (
    ArtifactChange,
    ArtifactsChanged,
    EntityCreated,
    EntityDeleted,
    EntityEvent,
    EntityUpdated,
)
from localcdap.api.failures import ArtifactId
from localcdap.api.metadata import MetadataEntity
from localcdap.artifacts.capabilities import CapabilityRequirement, CapabilityVocabulary
from localcdap.artifacts.directories.content_cache import ContentCache
from localcdap.artifacts.directories.sync import ArtifactIndexState
from localcdap.artifacts.index import ArtifactEntry
from localcdap.artifacts.model import (
    SYSTEM_NAMESPACE,
    ApplicationRef,
    ArtifactDetail,
    DatasetModule,
    DatasetTypeClass,
    DatasetTypeRef,
    HiddenPlugin,
    PluginClass,
    PluginRef,
    SyncReport,
)
from localcdap.artifacts.selection import Candidate, artifact_order
from localcdap.artifacts.version import ArtifactVersion, find_supported_apps
from localcdap.messaging.topics import Topics
from localcdap.store.store import Transaction

TYPE_OF_DATASETS = "dataset"
"""The plugin type in references to dataset types."""


class ModuleCatalog:
    """The dataset modules in use; it does not change.

    :param details: all artifacts.
    :param forced: the paths of artifacts that may take types from other modules.
    """

    def __init__(
        self, details: Iterable[ArtifactDetail], forced: Iterable[str], copies: ContentCache
    ) -> None:
        self._copies = copies
        self._forced = frozenset(forced)
        newest: dict[tuple[str, str], ArtifactDetail] = {}
        for each in details:
            key = (each.namespace, each.name)
            held = newest.get(key)
            if each.digest and each.dataset_types and (held is None or _is_newer(each, held)):
                newest[key] = each
        self._modules = [newest[key] for key in sorted(newest)]

    def list_modules(self, namespace: str) -> list[DatasetModule]:
        """Return the modules that a namespace sees: those of the system, then its own, by name."""
        visible = [
            each
            for space in dict.fromkeys((SYSTEM_NAMESPACE, namespace))
            for each in self._modules
            if each.namespace == space
        ]
        uses = {each.path: self._list_used(namespace, each) for each in visible}
        return [
            DatasetModule(
                each.name,
                each.version,
                each.scope,
                each.namespace,
                each.path,
                each.dataset_types,
                uses[each.path],
                [other.name for other in visible if each.name in uses[other.path]],
            )
            for each in visible
        ]

    def list_types(self, namespace: str) -> list[DatasetTypeRef]:
        """Return the types that a namespace uses, by name."""
        names = {
            each.name
            for detail in self._modules
            if detail.namespace in (namespace, SYSTEM_NAMESPACE)
            for each in detail.dataset_types
        }
        found = (self.find_type(namespace, name) for name in sorted(names))
        return [each for each in found if each is not None]

    def find_type(self, namespace: str, name: str) -> DatasetTypeRef | None:
        """Return the type of that name that a namespace uses; None when there is none."""
        found = self._find(namespace, name)
        if found is None:
            return None
        plugin = self._make_ref(namespace, *found, ())
        detail, type_ = found
        return None if plugin is None else DatasetTypeRef(plugin, type_.description, detail.path)

    def _find(self, namespace: str, name: str) -> tuple[ArtifactDetail, DatasetTypeClass] | None:
        for space in dict.fromkeys((namespace, SYSTEM_NAMESPACE)):
            found = [
                (detail, each)
                for detail in self._modules
                if detail.namespace == space
                for each in detail.dataset_types
                if each.name == name
            ]
            if found:
                return max(found, key=lambda pair: pair[0].path in self._forced)
        return None

    def _make_ref(
        self,
        namespace: str,
        detail: ArtifactDetail,
        type_: DatasetTypeClass,
        outer: Sequence[str],
    ) -> PluginRef | None:
        """Return the reference to a type, without types that are missing or embed each other."""
        copy = self._copies.find(detail.digest)
        if copy is None:
            return None
        uses = []
        for name in type_.uses:
            used = self._find(namespace, name)
            if used is not None and name not in (*outer, type_.name):
                made = self._make_ref(namespace, *used, (*outer, type_.name))
                uses += [] if made is None else [made]
        return PluginRef(
            detail.id,
            str(copy),
            detail.digest,
            TYPE_OF_DATASETS,
            type_.name,
            type_.class_name,
            tuple(uses),
        )

    def _list_used(self, namespace: str, detail: ArtifactDetail) -> list[str]:
        found = [self._find(namespace, name) for each in detail.dataset_types for name in each.uses]
        return sorted({each[0].name for each in found if each and each[0].path != detail.path})


def _is_newer(detail: ArtifactDetail, held: ArtifactDetail) -> bool:
    return ArtifactVersion(detail.version) > ArtifactVersion(held.version)


class Namespaces(Protocol):
    """The existing namespaces."""

    def require(self, name: str) -> None:
        """:raises NotFoundError: when the namespace does not exist; the message lists the namespaces."""

    def exists(self, name: str) -> bool: ...


class AnyNamespace:
    """Namespaces for tools that do not use them: every name exists."""

    def require(self, name: str) -> None: ...

    def exists(self, name: str) -> bool:
        return True


def list_orphaned_artifacts(catalog: Catalog, namespaces: Namespaces) -> Iterator[ArtifactDetail]:
    """Yield the artifacts in sub-folders that are not the name of a namespace, each with that error."""
    for detail in catalog.details:
        if not namespaces.exists(detail.namespace):
            error = (
                f"This artifact is not in use: there is no namespace '{detail.namespace}'. "
                f"Create it: localcdap namespaces create {detail.namespace}"
            )
            yield msgspec.structs.replace(
                detail, error="\n".join(text for text in (error, detail.error) if text)
            )


class Catalog:
    """An immutable catalog; a synchronization replaces it by a new one.

    :param required: what a plugin must be capable of to be in the catalog.
    :param vocabulary: the capabilities that plugins may declare; others give warnings.
    """

    def __init__(
        self,
        state: ArtifactIndexState,
        copies: ContentCache,
        required: CapabilityRequirement,
        vocabulary: CapabilityVocabulary,
    ) -> None:
        self._state = state
        self._required = required
        self.details: Final = list(_build_details(state, required, vocabulary))
        forced = [e.path for e in state.entries.values() if e.forced_digest == e.good_digest != ""]
        self.modules: Final = ModuleCatalog(self.details, forced, copies)
        self._plugins: dict[str, dict[str, dict[str, list[Candidate]]]] = {}
        self.applications: Final = _find_applications(self.details, copies)
        """The system applications by name; of several versions the highest."""
        for detail in self.details:
            copy = copies.find(detail.digest)
            apps = find_supported_apps(detail.parents)
            if copy is None or not apps:
                continue
            version = ArtifactVersion(detail.version)
            for plugin in detail.plugins:
                candidate = Candidate(detail.id, version, str(copy), detail.digest, plugin, apps)
                types = self._plugins.setdefault(detail.namespace, {})
                types.setdefault(plugin.type, {}).setdefault(plugin.name, []).append(candidate)

    def list_visible(self, namespace: str) -> list[ArtifactDetail]:
        """Return the artifacts that a namespace sees: its own and the system's, by name and version."""
        visible = [d for d in self.details if d.namespace in (namespace, SYSTEM_NAMESPACE)]
        return sorted(visible, key=_get_sort_key)

    def list_hidden(self, namespace: str) -> Iterator[HiddenPlugin]:
        """Yield the plugins that a namespace would see if they had all required capabilities, by artifact."""
        everything = CapabilityRequirement(), CapabilityVocabulary()
        for detail in sorted(_build_details(self._state, *everything), key=_get_sort_key):
            if detail.namespace not in (namespace, SYSTEM_NAMESPACE):
                continue
            for plugin in detail.plugins:
                if lacking := self._required.find_unmet(plugin.capabilities):
                    yield HiddenPlugin(
                        name=plugin.name,
                        type=plugin.type,
                        description=plugin.description,
                        class_name=plugin.class_name,
                        artifact=detail.id,
                        capabilities=plugin.capabilities,
                        lacking=lacking,
                    )

    def find_candidates(self, namespace: str, type: str, name: str) -> list[Candidate]:
        """Return the plugins of a type and name that a namespace sees."""
        return [
            candidate
            for names in self._find_visible(namespace, type)
            for candidate in names.get(name, ())
        ]

    def list_types(self, namespace: str) -> list[str]:
        """Return the plugin types that a namespace sees, in alphabetical order."""
        spaces = {namespace, SYSTEM_NAMESPACE}
        return sorted({type for space in spaces for type in self._plugins.get(space, ())})

    def list_names(self, namespace: str, type: str) -> list[str]:
        """Return names of the plugins of a type that a namespace sees, in alphabetical order."""
        return sorted({name for names in self._find_visible(namespace, type) for name in names})

    def _find_visible(self, namespace: str, type: str) -> Iterator[dict[str, list[Candidate]]]:
        for space in dict.fromkeys((SYSTEM_NAMESPACE, namespace)):
            yield self._plugins.get(space, {}).get(type, {})


def _build_details(
    state: ArtifactIndexState, required: CapabilityRequirement, vocabulary: CapabilityVocabulary
) -> Iterator[ArtifactDetail]:
    taken: dict[tuple[str, str, str], str] = {}
    for entry in state.entries.values():
        errors = list(_list_errors(entry, state))
        digest = entry.good_digest
        if digest:
            first = taken.setdefault((entry.namespace, entry.name, entry.version), entry.path)
            if first != entry.path:
                errors.append(
                    f"{entry.name} {entry.version} is already provided by {first}, which is used. "
                    "Remove one of the two or change its version."
                )
                digest = ""
            elif errors:
                errors.append(f"The last good content, version {entry.version}, stays in use.")
        all_plugins = state.contents[digest].plugins if digest else []
        plugins = [each for each in all_plugins if required.is_met_by(each.capabilities)]
        applications = state.contents[digest].applications if digest else []
        dataset_types = state.contents[digest].dataset_types if digest else []
        yield ArtifactDetail(
            name=entry.name,
            version=entry.version,
            scope=entry.scope,
            namespace=entry.namespace,
            path=entry.path,
            digest=digest,
            error="\n".join(errors) or None,
            plugins=plugins,
            parents=entry.parents.split(),
            applications=applications,
            warnings=[
                *(state.contents[digest].warnings if digest else ()),
                *list_capability_warnings(plugins, vocabulary),
            ],
            dataset_types=dataset_types,
        )


def list_capability_warnings(
    plugins: Iterable[PluginClass], vocabulary: CapabilityVocabulary
) -> Iterator[str]:
    """Yield a warning for each plugin that declares capabilities which the instance does not know."""
    for plugin in plugins:
        who = f"Plugin '{plugin.name}' of type '{plugin.type}' declares"
        if warning := vocabulary.find_warning(who, plugin.capabilities):
            yield warning


def _find_applications(
    details: Iterable[ArtifactDetail], copies: ContentCache
) -> dict[str, ApplicationRef]:
    found: dict[str, ApplicationRef] = {}
    with_some = (detail for detail in details if detail.applications)
    for detail in sorted(with_some, key=lambda d: (ArtifactVersion(d.version), d.path)):
        copy = copies.find(detail.digest)
        if copy is not None:
            for each in detail.applications:
                found[each.name] = ApplicationRef(detail.id, str(copy), detail.digest, each)
    return {name: found[name] for name in sorted(found)}


def _list_errors(entry: ArtifactEntry, state: ArtifactIndexState) -> Iterable[str]:
    if entry.problem:
        yield entry.problem
    content = state.contents.get(entry.digest)
    yield from content.errors if content else ()


def _get_sort_key(detail: ArtifactDetail) -> Any:
    # An artifact without a readable version comes before all others of its name.
    version = ArtifactVersion(detail.version) if detail.version else ArtifactVersion("0")
    return (*artifact_order(detail.id, version), detail.path)


_MOST: Final = 500
"""The most changes in one event."""
_LONGEST_ERROR: Final = 2000
"""The most characters of an error in an event; the list of artifacts has the whole error."""


_ENTITY_EVENTS: Final[dict[str, type[EntityEvent]]] = {
    "added": EntityCreated,
    "updated": EntityUpdated,
    "removed": EntityDeleted,
}


def compare_catalogs(before: Catalog, after: Catalog) -> list[ArtifactChange]:
    """Return the changes of artifacts between two states."""
    old, new = _find_in_use(before), _find_in_use(after)
    known_errors = {(d.path, d.error) for d in before.details}
    return [
        *(_to_change("added", detail) for key, detail in new.items() if key not in old),
        *(
            _to_change("updated", detail)
            for key, detail in new.items()
            if key in old and old[key].digest != detail.digest
        ),
        *(_to_change("removed", detail) for key, detail in old.items() if key not in new),
        *(
            _to_change("failed", detail, detail.error)
            for detail in after.details
            if detail.error and (detail.path, detail.error) not in known_errors
        ),
    ]


def _find_in_use(catalog: Catalog) -> dict[tuple[str, ArtifactId], ArtifactDetail]:
    return {(d.namespace, d.id): d for d in catalog.details if d.digest}


def _to_change(change: str, detail: ArtifactDetail, error: str | None = None) -> ArtifactChange:
    return ArtifactChange(
        change, detail.name, detail.version, detail.scope, detail.namespace, detail.path, error
    )


def _get_entity(change: ArtifactChange) -> MetadataEntity:
    return MetadataEntity.of_artifact(change.name, change.version, change.namespace)


def make_change_publisher(topics: Topics) -> Callable[[Transaction, SyncReport], None]:
    """Return a function that publishes a report as system events, in the transaction of the changes."""

    def announce(tx: Transaction, report: SyncReport) -> None:
        now = time.time_ns() // 1_000_000
        changes = [
            msgspec.structs.replace(change, error=change.error and change.error[:_LONGEST_ERROR])
            for change in report.changes
        ]
        for start in range(0, len(changes), _MOST):
            topics.publish_event(tx, ArtifactsChanged(changes[start : start + _MOST], now))
        events = (
            (_ENTITY_EVENTS[each.change], _get_entity(each))
            for each in changes
            if each.change in _ENTITY_EVENTS
        )
        topics.publish_entity_events(tx, events)

    return announce
