"""Dataset modules: the artifacts that have dataset types, and which of them a namespace uses.

A module has the types of its highest version. A namespace uses its own types first, then those of the system.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from localcdap.artifacts.directories.content_cache import ContentCache
from localcdap.artifacts.model import (
    SYSTEM_NAMESPACE,
    ArtifactDetail,
    DatasetModule,
    DatasetTypeClass,
    DatasetTypeRef,
    PluginRef,
)
from localcdap.artifacts.version import ArtifactVersion

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
