"""The service ``dataset_modules``: adding, listing and deleting the artifacts that have dataset types."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError, PluginError
from localcdap.api.security import Permission
from localcdap.artifacts.model import SYSTEM_NAMESPACE, DatasetModule
from localcdap.artifacts.module_rules import is_refusal
from localcdap.artifacts.service import ArtifactService
from localcdap.files.atomic import FileReplacement
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import of_namespace, requires
from localcdap.store import dataset_catalog as catalog
from localcdap.store.backup import BackupReason
from localcdap.store.store import Store
from localcdap.text import format_available


class DatasetModuleService:
    """Dataset modules. Threads may share it.

    A file in the plugin folder of a namespace is a module too, without this service, when the rules of
    :mod:`localcdap.artifacts.module_rules` allow it.
    """

    def __init__(self, store: Store, artifacts: ArtifactService) -> None:
        self._store = store
        self._artifacts = artifacts

    @requires(of_namespace())
    def list_modules(self, namespace: str) -> list[DatasetModule]:
        """Return the modules that a namespace sees: those of the system, then its own, by name.

        :raises NotFoundError: when there is no such namespace.
        """
        return self._artifacts.list_modules(namespace)

    @requires(of_namespace(), Permission.ADMIN)
    @non_idempotent
    def add(self, namespace: str, path: str, force: bool = False) -> DatasetModule:
        """Copy an artifact into the plugin folder of a namespace; one of the same file name is replaced.

        When the artifact is refused or broken, the folder is as before.

        :param path: the absolute path of a ``.py`` file, a folder or a wheel.
        :param force: take types from other modules, and types that other modules may use. A backup of the
            database is made before.
        :raises NotFoundError: when there is no such file.
        :raises BadRequestError: when it cannot be copied, or has no dataset types.
        :raises ConflictError: when a rule for modules refuses it.
        :raises PluginError: when its code is broken.
        """
        source = Path(path)
        if not source.exists():
            raise NotFoundError(f"There is no file or folder {path}.")
        place = Path(self._artifacts.get_plugin_folder(namespace)) / source.name
        if source.resolve() == place.resolve():
            raise BadRequestError(
                f"{path} is in the plugin folder already.", "Add a file of another folder."
            )
        if force:
            self._store.back_up_before(BackupReason.FORCE)
        with _replace_file(source, place) as restore:
            self._artifacts.sync(touched=[str(place)], forced=[str(place)] if force else [])
            try:
                return self._check_added(namespace, place)
            except Exception:
                restore()
                self._artifacts.sync(touched=[str(place)])
                raise

    @requires(of_namespace(), Permission.ADMIN)
    @non_idempotent
    def delete(self, namespace: str, name: str) -> list[str]:
        """Move all versions of a module to the trash; return the paths at which they were.

        :raises NotFoundError: when the namespace has no such module.
        :raises BadRequestError: when it is a module of the system.
        :raises ConflictError: when other modules or datasets need it.
        """
        module = self._require_own(namespace, name)
        if module.used_by_modules:
            raise ConflictError(
                f"Cannot delete module {name}: other modules depend on it. Delete them first",
                f"They are: {', '.join(module.used_by_modules)}.",
            )
        used = self._list_datasets(namespace, [module])
        if used:
            raise ConflictError(
                f"Cannot delete module {name}: other instances depend on it. Delete them first",
                f"They are: {', '.join(used)}.",
            )
        return self._remove(namespace, {name})

    @requires(of_namespace(), Permission.ADMIN)
    @non_idempotent
    def delete_all(self, namespace: str) -> list[str]:
        """Move all modules of a namespace to the trash; return the paths at which they were.

        :raises BadRequestError: for the namespace ``system``.
        :raises ConflictError: when there are datasets of their types.
        """
        _refuse_system(namespace)
        own = [each for each in self.list_modules(namespace) if each.namespace == namespace]
        used = self._list_datasets(namespace, own)
        if used:
            raise ConflictError(
                "Cannot delete all modules: existing dataset instances depend on it. Delete them first",
                f"They are: {', '.join(used)}.",
            )
        return self._remove(namespace, {each.name for each in own})

    def _check_added(self, namespace: str, place: Path) -> DatasetModule:
        details = self._artifacts.list_artifacts(namespace)
        detail = next((each for each in details if each.path == str(place)), None)
        if detail is None:
            raise BadRequestError(
                f"{place.name} is not an artifact.", "Add a .py file, a folder or a wheel."
            )
        if detail.error is not None:
            problem, _, more = detail.error.partition("\n")
            if is_refusal(problem):
                raise ConflictError(problem)
            raise PluginError(f"{problem} {more}".strip())
        if not detail.dataset_types:
            raise BadRequestError(
                f"{place.name} has no dataset types.", "Decorate a class with @dataset_type."
            )
        modules = {each.name: each for each in self.list_modules(namespace)}
        found = modules.get(detail.name)
        if found is None or found.path != detail.path:
            raise ConflictError(
                f"Module '{detail.name}' has a version that is at least {detail.version} already.",
                "Give the new one a higher version.",
            )
        return found

    def _require_own(self, namespace: str, name: str) -> DatasetModule:
        _refuse_system(namespace)
        modules = self.list_modules(namespace)
        own = {each.name: each for each in modules if each.namespace == namespace}
        if name in own:
            return own[name]
        if any(each.name == name for each in modules):
            _refuse_system(SYSTEM_NAMESPACE)
        known = format_available(name, own)
        raise NotFoundError(
            f"There is no dataset module '{name}' in namespace '{namespace}'; available: {known}."
        )

    def _list_datasets(self, namespace: str, modules: list[DatasetModule]) -> list[str]:
        types = {each.name for module in modules for each in module.types}
        with self._store.snapshot() as tx:
            found = catalog.list_datasets(tx, namespace)
        return [each.name for each in found if each.specification.type in types]

    def _remove(self, namespace: str, names: set[str]) -> list[str]:
        details = self._artifacts.list_artifacts(namespace)
        paths = [
            each.path
            for each in details
            if each.namespace == namespace and each.name in names and each.dataset_types
        ]
        for path in paths:
            self._artifacts.remove(path)
        return paths


def _refuse_system(namespace: str) -> None:
    if namespace == SYSTEM_NAMESPACE:
        raise BadRequestError(f"Cannot delete modules from '{SYSTEM_NAMESPACE}' namespace.")


@contextlib.contextmanager
def _replace_file(source: Path, place: Path) -> Iterator[Callable[[], None]]:
    """Copy a file or folder to a place, and give a function that restores what was there.

    :raises BadRequestError: when it cannot be copied.
    """
    with tempfile.TemporaryDirectory() as kept_in:
        kept = Path(kept_in) / place.name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.is_dir():
                shutil.copytree(place, kept)
            elif place.exists():
                shutil.copy2(place, kept)
            _install(source, place)
        except OSError as error:
            raise BadRequestError(
                f"{source} cannot be copied into the plugin folder: {error.strerror or error}."
            ) from error

        def restore() -> None:
            if kept.exists():
                _install(kept, place)
            else:
                _remove_path(place)

        yield restore


def _install(source: Path, place: Path) -> None:
    """Copy to a hidden name beside the place first, so that nobody reads a half of it. A file that is
    replaced by one keeps its mode and its link.
    """
    if source.is_file() and not place.is_dir():
        with FileReplacement(place, is_synced=False) as replacement:
            shutil.copyfile(source, replacement.new_file)
        return
    hidden = place.with_name(f".{place.name}.new")
    _remove_path(hidden)
    _copy(source, hidden)
    if place.is_dir():
        _remove_path(place)
    hidden.replace(place)


def _copy(source: Path, target: Path) -> None:
    """Copy a file, or a folder without what is hidden, such as a virtual environment."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    else:
        shutil.copy2(source, target)


def _remove_path(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
