"""The service for the artifacts of an instance and the plugins in them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.api.capability import SYSTEM_CAPABILITIES, normalize_capability
from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission
from localcdap.artifacts.capabilities import CapabilityRequirement, CapabilityVocabulary
from localcdap.artifacts.catalog import (
    AnyNamespace,
    Catalog,
    Namespaces,
    compare_catalogs,
    list_capability_warnings,
    list_orphaned_artifacts,
)
from localcdap.artifacts.directories.artifact_paths import (
    ArtifactPath,
    find_system_artifacts,
    find_user_artifacts,
)
from localcdap.artifacts.directories.content_cache import ContentCache
from localcdap.artifacts.directories.sync import (
    ArtifactIndexState,
    ArtifactInspector,
    ArtifactSynchronizer,
    Deployer,
)
from localcdap.artifacts.directories.trash import move_to_trash, put_back
from localcdap.artifacts.index import ArtifactIndex
from localcdap.artifacts.inspection import read_documentation
from localcdap.artifacts.model import (
    DEFAULT_NAMESPACE,
    USER,
    ApplicationRef,
    ArtifactDetail,
    ArtifactSelector,
    CapabilityCount,
    DatasetModule,
    DatasetTypeRef,
    HiddenPlugin,
    PluginInfo,
    PluginLookup,
    PluginSummary,
    SyncReport,
)
from localcdap.artifacts.selection import Candidate, choose, filter_usable, look_up, narrow
from localcdap.artifacts.version import APP_VERSION, APPS, VersionRange
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import Target, of_namespace, open_to_all, requires
from localcdap.store.store import Store, Transaction

_OF_PATH: Final = Target(
    "namespace of {path}",
    lambda service, given: [MetadataEntity.of_namespace(service.get_path_namespace(given["path"]))],
)


class ArtifactService:
    """Keeps the index of artifacts and answers from it. Threads may share it.

    Look-ups are answered from memory, also during a synchronization. Until the first :meth:`sync` they use
    the index that the last process stored.

    :param system_directory: the folder of the artifacts that come with localcdap (SYSTEM scope).
    :param plugin_directories: plugin folders (USER scope); if two contain the same artifact, the first one
        is used.
    :param cache: the folder for copies of artifact contents; code is only loaded from there.
    :param required_capabilities: capabilities or expressions of capabilities; a plugin that does not meet
        all of them is left out everywhere.
    :param known_capabilities: the capabilities that plugins may declare besides those of the system; empty:
        any. A plugin that declares another one gives a warning.
    :param namespaces: the existing namespaces; None to accept any name.
    :param deployer: deploys system applications; None to ignore them.
    :param trash: the folder for removed artifacts; None when artifacts cannot be removed.
    :param on_change: called in the transaction that stores a changed index.
    """

    def __init__(
        self,
        store: Store,
        inspector: ArtifactInspector,
        *,
        system_directory: Path,
        plugin_directories: Sequence[Path],
        cache: Path,
        required_capabilities: Iterable[str] = (),
        known_capabilities: Iterable[str] = (),
        on_change: Callable[[Transaction, SyncReport], None] | None = None,
        namespaces: Namespaces | None = None,
        deployer: Deployer | None = None,
        trash: Path | None = None,
    ) -> None:
        self._inspector = inspector
        self._trash = trash
        self._index = ArtifactIndex(store)
        self._copies = ContentCache(cache.absolute())
        self._synchronizer = ArtifactSynchronizer(self._index, inspector, self._copies, deployer)
        self._system_directory = system_directory.absolute()
        self._plugin_directories = [folder.absolute() for folder in plugin_directories]
        self._required = CapabilityRequirement.parse(required_capabilities)
        self._vocabulary = CapabilityVocabulary(known_capabilities)
        self._on_change = on_change
        self._namespaces = namespaces or AnyNamespace()
        self._changing = threading.Lock()
        self._state: ArtifactIndexState | None = None
        self._current: Catalog | None = None

    @open_to_all("the index follows the folders in any case")
    def sync(
        self,
        retry_errors: bool = False,
        touched: Sequence[str] | None = None,
        unfinished: Sequence[str] = (),
        forced: Sequence[str] = (),
    ) -> SyncReport:
        """Synchronize the index with the plugin directories.

        :param retry_errors: inspect broken artifacts again, even if they did not change.
        :param touched: the paths of artifacts that may have changed; of the others only new and missing ones
            are processed. None for all artifacts.
        :param unfinished: the paths of artifacts that are being written; their entries stay unchanged.
        :param forced: the paths of artifacts that may take dataset types from other modules.
        """
        self._get_catalog()
        with self._changing:
            old, before = self._state, self._current
            assert old is not None
            assert before is not None
            state = self._synchronizer.compare(
                list(self._find_paths()),
                old,
                retry_errors=retry_errors,
                touched=None if touched is None else frozenset(touched),
                unfinished=frozenset(unfinished),
                forced=frozenset(forced),
            )
            if state is old:
                return SyncReport([])
            after = Catalog(state, self._copies, self._required, self._vocabulary)
            report = SyncReport(compare_catalogs(before, after))

            def announce(tx: Transaction) -> None:
                # A reader that is notified of the change must find the new catalog.
                tx.on_commit(lambda: self._install(state, after))
                if report.changes and self._on_change is not None:
                    self._on_change(tx, report)

            self._synchronizer.save(state, old, announce)
            return report

    @requires(of_namespace())
    def list_artifacts(
        self, namespace: str, scope: str | None = None, errors: bool = False
    ) -> list[ArtifactDetail]:
        """Return the artifacts that a namespace sees, by name, version and scope.

        Artifacts in sub-folders that are not the name of a namespace are included, with that error.

        :param errors: only artifacts with errors.
        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        catalog = self._get_catalog()
        return [
            detail
            for detail in (
                *catalog.list_visible(namespace),
                *list_orphaned_artifacts(catalog, self._namespaces),
            )
            if (scope is None or detail.scope == scope.upper()) and (detail.error or not errors)
        ]

    @requires(of_namespace())
    def list_plugins(
        self,
        namespace: str,
        type: str | None = None,
        capabilities: Sequence[str] = (),
        all_versions: bool = False,
        artifact: ArtifactSelector | None = None,
    ) -> list[PluginSummary]:
        """Return the plugins that a namespace sees, by type and name.

        :param capabilities: only plugins that have all of these. If the instance requires capabilities, a
            capability that is not among them gives an empty result.
        :param all_versions: the plugins of all artifacts, lowest first, instead of only the plugin that a
            stage with the same selector gets.
        :param artifact: only plugins of these artifacts; or, when it names an application such as
            ``cdap-data-pipeline``, the plugins that the application can use.
        :raises BadRequestError: when scope or version of the selector is malformed.
        """
        self._namespaces.require(namespace)
        asked = {normalize_capability(value) for value in capabilities}
        if self._required and not asked <= self._required.names:
            return []
        return [
            _to_summary(candidate)
            for candidates in self._group_candidates(
                namespace, type, artifact or ArtifactSelector()
            )
            for candidate in (candidates if all_versions else candidates[-1:])
            if asked <= set(candidate.plugin.capabilities)
        ]

    @requires(of_namespace())
    def list_capabilities(self, namespace: str) -> list[CapabilityCount]:
        """Return the capabilities in alphabetical order: the system's, those that the settings list, and
        those of visible plugins.

        Each plugin counts once, with its newest version.
        """
        counts = dict.fromkeys((*SYSTEM_CAPABILITIES, *self._vocabulary.own), 0)
        for plugin in self.list_plugins(namespace):
            for capability in plugin.capabilities:
                counts[capability] = counts.get(capability, 0) + 1
        return [
            CapabilityCount(
                capability,
                counts[capability],
                capability in SYSTEM_CAPABILITIES,
                self._vocabulary.is_known(capability),
            )
            for capability in sorted(counts)
        ]

    @requires(of_namespace())
    def get_plugin(
        self, namespace: str, type: str, name: str, selector: ArtifactSelector | None = None
    ) -> PluginInfo:
        """Return the plugin that a stage with this selector gets.

        :raises NotFoundError: when there is no such plugin; the message lists similar names.
        :raises BadRequestError: when the selector is malformed.
        """
        self._namespaces.require(namespace)
        candidates = self._get_catalog().find_candidates(namespace, type, name)
        chosen = choose(candidates, selector or ArtifactSelector())
        if chosen is None:
            raise self._make_not_found_error(namespace, type, name, selector)
        plugin = chosen.plugin
        return PluginInfo(
            name=plugin.name,
            type=plugin.type,
            description=plugin.description,
            class_name=plugin.class_name,
            artifact=chosen.artifact,
            capabilities=plugin.capabilities,
            properties={declared.name: declared for declared in plugin.properties},
            grain=plugin.grain,
            methods=plugin.methods,
        )

    @requires(of_namespace())
    def find_plugin(
        self, namespace: str, type: str, name: str, selector: ArtifactSelector | None = None
    ) -> PluginLookup:
        """Find the plugin that a stage with this selector gets, as a reference for loading it, or
        suggestions.

        :raises BadRequestError: when the selector is malformed.
        """
        catalog = self._get_catalog()
        candidates = catalog.find_candidates(namespace, type, name)
        names = catalog.list_names(namespace, type) if not candidates else []
        return look_up(candidates, names, name, selector or ArtifactSelector())

    @requires(of_namespace())
    def read_documentation(
        self, namespace: str, type: str, name: str, selector: ArtifactSelector | None = None
    ) -> str | None:
        """Return the Markdown documentation of a plugin, or None; see :func:`read_documentation`.

        :raises NotFoundError: as for :meth:`get_plugin`.
        """
        found = choose(
            self._get_catalog().find_candidates(namespace, type, name),
            selector or ArtifactSelector(),
        )
        if found is None:
            raise self._make_not_found_error(namespace, type, name, selector)
        return read_documentation(Path(found.path), type, name)

    @open_to_all("they are those of the whole instance")
    def list_required_capabilities(self) -> list[str]:
        """Return the capabilities and expressions that the instance requires, in alphabetical order."""
        return sorted(self._required.texts)

    @requires(of_namespace())
    def list_capability_warnings(self, namespace: str) -> list[str]:
        """Return a warning for each use of a capability that the instance does not know.

        What the instance requires comes first, then the plugins that the namespace sees, by artifact.
        """
        warning = self._vocabulary.find_warning(
            "'plugin.required.capabilities' names", self._required.names
        )
        plugins = [
            plugin for artifact in self.list_artifacts(namespace) for plugin in artifact.plugins
        ]
        return [
            *([warning] if warning else ()),
            *list_capability_warnings(plugins, self._vocabulary),
        ]

    @requires(of_namespace())
    def list_hidden(self, namespace: str) -> list[HiddenPlugin]:
        """Return the plugins that are hidden because they lack required capabilities."""
        self._namespaces.require(namespace)
        return list(self._get_catalog().list_hidden(namespace))

    @requires(_OF_PATH)
    def trace(self, path: str) -> list[str]:
        """Inspect a broken artifact again; return the frames of its code, innermost last, and the exception.

        The result is empty when nothing was raised.

        :param path: the path at which the user placed it.
        :raises NotFoundError: when there is no such artifact.
        """
        self._get_catalog()
        entry = self._state.entries.get(path) if self._state is not None else None
        if entry is None:
            raise NotFoundError(f"There is no artifact at {path}.")
        copy = self._copies.find(entry.digest)
        if copy is None:
            return []
        return self._inspector.inspect(str(copy), entry.digest).trace

    @requires(of_namespace())
    def get_plugin_folder(self, namespace: str) -> str:
        """Return the absolute path of the plugin folder of a namespace, which need not exist yet.

        :raises NotFoundError: when there is no such namespace.
        :raises ConflictError: when the instance has no plugin folder.
        """
        self._namespaces.require(namespace)
        if not self._plugin_directories:
            raise ConflictError(
                "The instance has no plugin folder.",
                "Name one as plugin.directories in its settings.",
            )
        folder = self._plugin_directories[0]
        return str(folder if namespace == DEFAULT_NAMESPACE else folder / namespace)

    @requires(_OF_PATH, Permission.ADMIN)
    @non_idempotent
    def remove(self, path: str) -> str:
        """Move an artifact of a plugin folder to the trash; return its new path.

        :param path: the path at which the user placed it.
        :raises NotFoundError: when there is no such artifact.
        :raises ConflictError: when it comes with localcdap.
        :raises BadRequestError: when it cannot be moved.
        """
        details = [each for each in self._get_catalog().details if each.path == path]
        if not details:
            raise NotFoundError(f"There is no artifact at {path}.")
        if details[0].scope != USER or self._trash is None:
            raise ConflictError(
                f"Artifact '{details[0].name}' comes with localcdap and cannot be removed.",
                "Require a capability that it lacks, or add an artifact with a higher version.",
            )
        kept = move_to_trash(Path(path), self._trash)
        self.sync()
        return str(kept)

    @requires(_OF_PATH, Permission.ADMIN)
    @non_idempotent
    def put_back(self, kept: str, path: str) -> None:
        """Undo :meth:`remove`.

        :param kept: the result of :meth:`remove`.
        :raises NotFoundError: when the artifact is not in the trash any more.
        :raises ConflictError: when the path is in use.
        :raises BadRequestError: when it cannot be moved, or was not an artifact of this instance.
        """
        place = Path(path)
        inside = any(place.is_relative_to(folder) for folder in self._plugin_directories)
        if not inside or ".." in place.parts or Path(kept).parent != self._trash:
            raise BadRequestError(f"{kept} was not taken out of {path}.")
        put_back(Path(kept), place)
        self.sync()

    def get_path_namespace(self, path: str) -> str:
        """Return the namespace of an artifact by its path, whether or not there is one."""
        folder = Path(path).parent
        if folder in self._plugin_directories:
            return DEFAULT_NAMESPACE
        return folder.name if folder.parent in self._plugin_directories else SYSTEM_NAMESPACE

    @requires(of_namespace())
    def list_modules(self, namespace: str) -> list[DatasetModule]:
        """Return the dataset modules that a namespace sees: those of the system, then its own, by name.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        return self._get_catalog().modules.list_modules(namespace)

    @requires(of_namespace())
    def list_dataset_types(self, namespace: str) -> list[DatasetTypeRef]:
        """Return the dataset types of modules that a namespace uses, by name."""
        return self._get_catalog().modules.list_types(namespace)

    @requires(of_namespace())
    def find_dataset_type(self, namespace: str, name: str) -> DatasetTypeRef | None:
        """Return the type of a module that a namespace uses by that name; None when there is none."""
        return self._get_catalog().modules.find_type(namespace, name)

    @open_to_all("the system applications are those of the whole instance")
    def list_applications(self) -> list[ApplicationRef]:
        """Return the system applications in use, by name."""
        return list(self._get_catalog().applications.values())

    def _get_catalog(self) -> Catalog:
        if self._current is None:
            with self._changing:
                if self._current is None:
                    self._state = ArtifactIndexState(*self._index.load())
                    self._current = Catalog(
                        self._state, self._copies, self._required, self._vocabulary
                    )
        return self._current

    def _install(self, state: ArtifactIndexState, catalog: Catalog) -> None:
        self._state = state
        self._current = catalog

    def _find_paths(self) -> Iterator[ArtifactPath]:
        yield from find_system_artifacts(self._system_directory)
        for directory in dict.fromkeys(self._plugin_directories):
            yield from find_user_artifacts(directory)

    def _group_candidates(
        self, namespace: str, type: str | None, artifact: ArtifactSelector
    ) -> Iterator[list[Candidate]]:
        """Yield the plugins grouped by type and name, each group in order."""
        catalog = self._get_catalog()
        for each in [type] if type is not None else catalog.list_types(namespace):
            for name in catalog.list_names(namespace, each):
                candidates = _filter_candidates(
                    catalog.find_candidates(namespace, each, name), artifact
                )
                yield sorted(candidates, key=lambda candidate: candidate.order)

    def _make_not_found_error(
        self, namespace: str, type: str, name: str, selector: ArtifactSelector | None
    ) -> NotFoundError:
        found = self.find_plugin(namespace, type, name, selector)
        message = f"Plugin named '{name}' of type '{type}' not found."
        if found.suggested is not None:
            other = found.suggested.artifact
            return NotFoundError(
                message, f"Artifact {other.name} {other.version} ({other.scope}) has it."
            )
        if found.nearest:
            return NotFoundError(message, f"Similar names: {', '.join(found.nearest)}.")
        names = self._get_catalog().list_names(namespace, type)
        types = ", ".join(self._get_catalog().list_types(namespace)) or "none"
        known = f"Plugins of that type: {', '.join(names)}." if names else f"Types: {types}."
        return NotFoundError(message, known)


def _to_summary(candidate: Candidate) -> PluginSummary:
    plugin = candidate.plugin
    return PluginSummary(
        name=plugin.name,
        type=plugin.type,
        description=plugin.description,
        class_name=plugin.class_name,
        artifact=candidate.artifact,
        capabilities=plugin.capabilities,
    )


def _filter_candidates(
    candidates: Iterable[Candidate], artifact: ArtifactSelector
) -> Iterable[Candidate]:
    if artifact.name not in APPS:
        return narrow(candidates, artifact)
    if artifact.version and APP_VERSION not in VersionRange.parse(artifact.version):
        return ()
    return narrow(filter_usable(artifact.name, candidates), ArtifactSelector(artifact.scope))
