"""The artifacts of an instance and the plugins in them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from localcdap.api.capability import SYSTEM_CAPABILITIES, normalize_capability
from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.artifacts.catalog import (
    AnyNamespace,
    Catalog,
    Namespaces,
    list_orphaned_artifacts,
)
from localcdap.artifacts.changes import compare_catalogs
from localcdap.artifacts.directories.artifact_paths import (
    ArtifactPath,
    find_system_artifacts,
    find_user_artifacts,
)
from localcdap.artifacts.directories.content_cache import ContentCache
from localcdap.artifacts.directories.sync import (
    ArtifactIndexState,
    ArtifactSynchronizer,
    Deployer,
    Inspector,
)
from localcdap.artifacts.directories.trash import move_to_trash, put_back
from localcdap.artifacts.documentation import read_documentation
from localcdap.artifacts.index import ArtifactIndex
from localcdap.artifacts.model import (
    DEFAULT_NAMESPACE,
    USER,
    ApplicationRef,
    ArtifactDetail,
    ArtifactSelector,
    CapabilityCount,
    HiddenPlugin,
    PluginInfo,
    PluginLookup,
    PluginSummary,
    SyncReport,
)
from localcdap.artifacts.parents import APP_VERSION, APPS
from localcdap.artifacts.selection import Candidate, choose, filter_usable, look_up, narrow
from localcdap.artifacts.version import VersionRange
from localcdap.rpc.methods import non_idempotent
from localcdap.store.store import Store, Transaction


class ArtifactService:
    """Keeps the index of artifacts and answers from it. Threads may share it.

    Questions are answered from memory, during a synchronization too. Until the first :meth:`sync` they
    are answered from what the last process left in the store.

    :param system_directory: the artifacts that come with localcdap (SYSTEM scope).
    :param plugin_directories: drop-in folders (USER scope); where two hold the same artifact, the first
        is used.
    :param cache: folder for copies of artifact contents; nothing is ever loaded from anywhere else.
    :param required_capabilities: a plugin without one of these does not exist for anybody.
    :param namespaces: which there are; None where any is as good as another.
    :param deployer: makes system applications ready for use; None where they do not matter.
    :param trash: folder for artifacts that are removed; None where none can be.
    :param on_change: called in the transaction that changes the index for pipelines or their authors.
    """

    def __init__(
        self,
        store: Store,
        inspector: Inspector,
        *,
        system_directory: Path,
        plugin_directories: Sequence[Path],
        cache: Path,
        required_capabilities: Iterable[str] = (),
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
        self._required = frozenset(normalize_capability(value) for value in required_capabilities)
        self._on_change = on_change
        self._namespaces = namespaces or AnyNamespace()
        self._changing = threading.Lock()
        self._state: ArtifactIndexState | None = None
        self._current: Catalog | None = None

    def sync(
        self,
        retry_errors: bool = False,
        touched: Sequence[str] | None = None,
        unfinished: Sequence[str] = (),
    ) -> SyncReport:
        """Bring the index up to date with the directories.

        :param retry_errors: inspect broken artifacts again though they did not change.
        :param touched: paths of artifacts that may have changed; others are looked at only when they are
            new or gone. None: all are.
        :param unfinished: paths of artifacts that are being written; they are left as they are.
        """
        self._catalog()
        with self._changing:
            old, before = self._state, self._current
            assert old is not None
            assert before is not None
            state = self._synchronizer.compare(
                list(self._places()),
                old,
                retry_errors=retry_errors,
                touched=None if touched is None else frozenset(touched),
                unfinished=frozenset(unfinished),
            )
            if state is old:
                return SyncReport([])
            after = Catalog(state, self._copies, self._required)
            report = SyncReport(compare_catalogs(before, after))

            def announce(tx: Transaction) -> None:
                # Who hears of the change finds it here.
                tx.on_commit(lambda: self._install(state, after))
                if report.changes and self._on_change is not None:
                    self._on_change(tx, report)

            self._synchronizer.save(state, old, announce)
            return report

    def list_artifacts(
        self, namespace: str, scope: str | None = None, errors: bool = False
    ) -> list[ArtifactDetail]:
        """Return the artifacts that a namespace sees, by name, version and scope; and those in
        sub-folders that
        are no namespace, which nobody sees, with that error.

        :param errors: only those that something is wrong with.
        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        catalog = self._catalog()
        return [
            detail
            for detail in (
                *catalog.list_visible(namespace),
                *list_orphaned_artifacts(catalog, self._namespaces),
            )
            if (scope is None or detail.scope == scope.upper()) and (detail.error or not errors)
        ]

    def list_plugins(
        self,
        namespace: str,
        type: str | None = None,
        capabilities: Sequence[str] = (),
        all_versions: bool = False,
        artifact: ArtifactSelector | None = None,
    ) -> list[PluginSummary]:
        """Return the plugins that a namespace sees, by type and name.

        :param capabilities: only plugins that have all of these. One that is not among the required
            capabilities of the instance, when it has any, leaves nothing.
        :param all_versions: the plugins of all artifacts, lowest first, instead of the one of each name
            that a stage with the same selector gets.
        :param artifact: only plugins of these artifacts; or, when it names an application such as
            ``cdap-data-pipeline``, those that the application can use.
        :raises BadRequestError: when scope or version of the selector cannot be read.
        """
        self._namespaces.require(namespace)
        asked = {normalize_capability(value) for value in capabilities}
        if self._required and not asked <= self._required:
            return []
        return [
            _summary(candidate)
            for candidates in self._groups(namespace, type, artifact or ArtifactSelector())
            for candidate in (candidates if all_versions else candidates[-1:])
            if asked <= set(candidate.plugin.capabilities)
        ]

    def list_capabilities(self, namespace: str) -> list[CapabilityCount]:
        """Return the capabilities that are known, in alphabetical order: those of the system, and what
        the plugins
        that the namespace sees declare besides. Each plugin counts once, with its newest version.
        """
        counts = dict.fromkeys(SYSTEM_CAPABILITIES, 0)
        for plugin in self.list_plugins(namespace):
            for capability in plugin.capabilities:
                counts[capability] = counts.get(capability, 0) + 1
        return [
            CapabilityCount(capability, counts[capability], capability in SYSTEM_CAPABILITIES)
            for capability in sorted(counts)
        ]

    def get_plugin(
        self, namespace: str, type: str, name: str, selector: ArtifactSelector | None = None
    ) -> PluginInfo:
        """Return the plugin that a stage with this selector gets.

        :raises NotFoundError: when there is none; the message lists the nearest names.
        :raises BadRequestError: when the selector cannot be read.
        """
        self._namespaces.require(namespace)
        candidates = self._catalog().find_candidates(namespace, type, name)
        chosen = choose(candidates, selector or ArtifactSelector())
        if chosen is None:
            raise self._not_found(namespace, type, name, selector)
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

    def find_plugin(
        self, namespace: str, type: str, name: str, selector: ArtifactSelector | None = None
    ) -> PluginLookup:
        """Like :meth:`get_plugin`, for who wants to load it, or to say why there is none.

        :raises BadRequestError: when the selector cannot be read.
        """
        catalog = self._catalog()
        candidates = catalog.find_candidates(namespace, type, name)
        names = catalog.list_names(namespace, type) if not candidates else []
        return look_up(candidates, names, name, selector or ArtifactSelector())

    def read_documentation(
        self, namespace: str, type: str, name: str, selector: ArtifactSelector | None = None
    ) -> str | None:
        """Return the Markdown that the artifact has about a plugin, in ``docs/NAME-TYPE.md``; None
        without any.

        :raises NotFoundError: as :meth:`get_plugin`.
        """
        found = choose(
            self._catalog().find_candidates(namespace, type, name), selector or ArtifactSelector()
        )
        if found is None:
            raise self._not_found(namespace, type, name, selector)
        return read_documentation(Path(found.path), type, name)

    def list_required_capabilities(self) -> list[str]:
        """Return what a plugin must have to exist for anybody, in alphabetical order; empty: nothing."""
        return sorted(self._required)

    def list_hidden(self, namespace: str) -> list[HiddenPlugin]:
        """Return the plugins that the namespace would see if the instance required nothing, with what
        they lack.

        For whoever wonders where a plugin is; nothing else knows of them.
        """
        self._namespaces.require(namespace)
        return list(self._catalog().list_hidden(namespace))

    def trace(self, path: str) -> list[str]:
        """Return where the code of a broken artifact fails: frames in it, innermost last, and what was
        raised.

        The artifact is inspected once more. Empty when nothing was raised.

        :param path: where its user put it.
        :raises NotFoundError: when there is no such artifact.
        """
        self._catalog()
        entry = self._state.entries.get(path) if self._state is not None else None
        if entry is None:
            raise NotFoundError(f"There is no artifact at {path}.")
        copy = self._copies.find(entry.digest)
        if copy is None:
            return []
        return self._inspector.inspect(str(copy), entry.digest).trace

    def get_plugin_folder(self, namespace: str) -> str:
        """Return where artifacts of a namespace are dropped in: an absolute path, which need not exist yet.

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

    @non_idempotent
    def remove(self, path: str) -> str:
        """Put an artifact of a plugin folder away; where it is kept.

        :param path: where its user put it.
        :raises NotFoundError: when there is no such artifact.
        :raises ConflictError: when it comes with localcdap.
        :raises BadRequestError: when it cannot be moved.
        """
        details = [each for each in self._catalog().details if each.path == path]
        if not details:
            raise NotFoundError(f"There is no artifact at {path}.")
        if details[0].scope != USER or self._trash is None:
            raise ConflictError(
                f"Artifact '{details[0].name}' comes with localcdap and stays.",
                "Require a capability that it lacks, or put an artifact of your own above it.",
            )
        kept = move_to_trash(Path(path), self._trash)
        self.sync()
        return str(kept)

    @non_idempotent
    def put_back(self, kept: str, path: str) -> None:
        """Undo :meth:`remove`.

        :param kept: its answer.
        :raises NotFoundError: when it is not kept any more.
        :raises ConflictError: when something else is in its place.
        :raises BadRequestError: when it cannot be moved, or never was an artifact of this instance.
        """
        place = Path(path)
        inside = any(place.is_relative_to(folder) for folder in self._plugin_directories)
        if not inside or ".." in place.parts or Path(kept).parent != self._trash:
            raise BadRequestError(f"{kept} was not taken out of {path}.")
        put_back(Path(kept), place)
        self.sync()

    def list_applications(self) -> list[ApplicationRef]:
        """Return the system applications in use, by name."""
        return list(self._catalog().applications.values())

    def _catalog(self) -> Catalog:
        if self._current is None:
            with self._changing:
                if self._current is None:
                    self._state = ArtifactIndexState(*self._index.load())
                    self._current = Catalog(self._state, self._copies, self._required)
        return self._current

    def _install(self, state: ArtifactIndexState, catalog: Catalog) -> None:
        self._state = state
        self._current = catalog

    def _places(self) -> Iterator[ArtifactPath]:
        yield from find_system_artifacts(self._system_directory)
        for directory in dict.fromkeys(self._plugin_directories):
            yield from find_user_artifacts(directory)

    def _groups(
        self, namespace: str, type: str | None, artifact: ArtifactSelector
    ) -> Iterator[list[Candidate]]:
        """Return the plugins of one type and name after the other, those of each in order."""
        catalog = self._catalog()
        for each in [type] if type is not None else catalog.list_types(namespace):
            for name in catalog.list_names(namespace, each):
                candidates = _narrowed(catalog.find_candidates(namespace, each, name), artifact)
                yield sorted(candidates, key=lambda candidate: candidate.order)

    def _not_found(
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
        names = self._catalog().list_names(namespace, type)
        types = ", ".join(self._catalog().list_types(namespace)) or "none"
        known = f"Plugins of that type: {', '.join(names)}." if names else f"Types: {types}."
        return NotFoundError(message, known)


def _summary(candidate: Candidate) -> PluginSummary:
    plugin = candidate.plugin
    return PluginSummary(
        name=plugin.name,
        type=plugin.type,
        description=plugin.description,
        class_name=plugin.class_name,
        artifact=candidate.artifact,
        capabilities=plugin.capabilities,
    )


def _narrowed(candidates: Iterable[Candidate], artifact: ArtifactSelector) -> Iterable[Candidate]:
    if artifact.name not in APPS:
        return narrow(candidates, artifact)
    if artifact.version and APP_VERSION not in VersionRange.parse(artifact.version):
        return ()
    return narrow(filter_usable(artifact.name, candidates), ArtifactSelector(artifact.scope))
