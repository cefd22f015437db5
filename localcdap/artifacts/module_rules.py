"""The rules for dataset modules, with the messages of CDAP 6 ``DatasetTypeManager``.

A type belongs to one module of a namespace, unless the user forces it. A module keeps the types that have
datasets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from localcdap.artifacts.directories.identity import ArtifactIdentity
from localcdap.artifacts.index import ArtifactContent, ArtifactEntry
from localcdap.artifacts.model import SYSTEM
from localcdap.artifacts.version import ArtifactVersion

FindDatasets = Callable[[str, Iterable[str]], list[str]]
"""Returns the datasets that a namespace has of some types, by name."""
_BEGINNINGS: Final = ("Attempt to add dataset module", "Attempt to remove", "Cannot update module")


def is_refusal(error: str) -> bool:
    """Return whether an error of an artifact is that of a rule for modules."""
    return error.startswith(_BEGINNINGS)


class ModuleRules:
    """The rules, for the artifacts of one synchronization.

    :param entries: the artifacts by path; the rules see each change of it.
    :param contents: the inspected contents by digest; the rules see each change of it.
    """

    def __init__(
        self,
        entries: Mapping[str, ArtifactEntry],
        contents: Mapping[str, ArtifactContent],
        find_datasets: FindDatasets,
    ) -> None:
        self._entries = entries
        self._contents = contents
        self._find_datasets = find_datasets

    def find_refusal(
        self,
        namespace: str,
        identity: ArtifactIdentity,
        found: ArtifactContent,
        *,
        is_forced: bool,
    ) -> str | None:
        """Return why an artifact cannot be a module with the types of a new content; None when it can.

        :param is_forced: whether it may take types from other modules.
        """
        return self._find_conflict(
            namespace, identity, found, is_forced=is_forced
        ) or self._find_loss(namespace, identity, found, is_forced=is_forced)

    def _find_conflict(
        self,
        namespace: str,
        identity: ArtifactIdentity,
        found: ArtifactContent,
        *,
        is_forced: bool,
    ) -> str | None:
        names = {each.name for each in found.dataset_types}
        for other in self._entries.values():
            if other.namespace != namespace or other.name == identity.name:
                continue
            if is_forced and other.scope != SYSTEM:
                continue
            for name in sorted(names & self._list_types(other)):
                return (
                    f"Attempt to add dataset module '{identity.name}' containing dataset type '{name}' that "
                    f"already exists in module '{other.name}'"
                )
        return None

    def _find_loss(
        self,
        namespace: str,
        identity: ArtifactIdentity,
        found: ArtifactContent,
        *,
        is_forced: bool,
    ) -> str | None:
        versions = [
            each
            for each in self._entries.values()
            if (each.namespace, each.name) == (namespace, identity.name) and self._list_types(each)
        ]
        if not versions:
            return None
        newest = max(versions, key=lambda each: ArtifactVersion(each.version))
        if ArtifactVersion(identity.version) < ArtifactVersion(newest.version):
            return None
        removed = self._list_types(newest) - {each.name for each in found.dataset_types}
        users = self._list_users(namespace, newest)
        if removed and users and not is_forced:
            return (
                f"Cannot update module '{identity.name}' to remove types {_format(removed)}: Modules "
                f"{_format(users)} may depend on it. Delete them first"
            )
        datasets = self._find_datasets(namespace, removed) if removed else []
        if datasets:
            return (
                f"Attempt to remove dataset types {_format(removed)} from module '{identity.name}' that have "
                f"existing instances: {_format(datasets)}. Delete them first."
            )
        return None

    def _list_types(self, entry: ArtifactEntry) -> set[str]:
        content = self._contents.get(entry.good_digest)
        return {each.name for each in content.dataset_types} if content is not None else set()

    def _list_users(self, namespace: str, module: ArtifactEntry) -> set[str]:
        """Return the other modules whose types embed one of a module's by its name."""
        types = self._list_types(module)
        return {
            other.name
            for other in self._entries.values()
            if other.namespace == namespace
            and other.name != module.name
            and other.good_digest in self._contents
            and any(
                types & set(each.uses) for each in self._contents[other.good_digest].dataset_types
            )
        }


def _format(names: Iterable[str]) -> str:
    return f"[{', '.join(sorted(names))}]"
