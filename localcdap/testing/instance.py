"""A temporary instance for a test: its folder, its plugin folder and its host in this process.

New databases and instances are each made once in a process, and copied then. A dataset type is tested with
one dataset of it in such an instance.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from localcdap.api.app.transactions import TransactionKind
from localcdap.api.dataset.definition import DatasetChange
from localcdap.api.errors import IncompatibleUpdateError, PluginError
from localcdap.artifacts.model import PluginRef
from localcdap.datasets.model import DatasetDetail, DatasetRequest, DatasetUpdate
from localcdap.files.atomic import write_file
from localcdap.home import Home
from localcdap.host import Cdap, open_in_process
from localcdap.runs.model import Run, RunRequest
from localcdap.sandbox.dataset_calls import LoadedTypes
from localcdap.store.store import Store
from localcdap.transactions.client import HostTransactionRunner

_NAME: Final = "new.duckdb"


def open_new_store(path: Path) -> Store:
    """Open a store in a file that does not exist yet, with the tables of a new instance."""
    put_new_database(path)
    return Store(path)


def put_new_database(path: Path) -> None:
    """Put a database with the tables of a new instance at a path, unless there is a file.

    To make the tables takes more than half of the time in which a store is opened.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        shutil.copy(_make_new_database(), path)


def copy_known_instance(folder: Path) -> None:
    """Make a folder that of an instance that has indexed the shipped plugins, unless it has a database.

    Indexing takes a second of the processor. The instances of a process share the contents of these plugins,
    and what Python has compiled of them.
    """
    home, known = Home(folder), _make_known_instance()
    if home.database.exists():
        return
    home.artifact_cache.mkdir(parents=True, exist_ok=True)
    for content in known.artifact_cache.iterdir():
        (home.artifact_cache / content.name).symlink_to(content)
    shutil.copy(known.database, home.database)


@functools.cache
def _make_known_instance() -> Home:
    from localcdap.host import open_in_process

    home = Home(_make_folder())
    with open_in_process(home) as cdap:
        cdap.artifacts.list_plugins("default")
    return home


@functools.cache
def _make_new_database() -> Path:
    path = _make_folder() / _NAME
    Store(path).close()
    return path


def _make_folder() -> Path:
    """Return a new folder, which is removed with this process."""
    folder = tempfile.mkdtemp(prefix="localcdap-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


_POLL_S: Final = 5.0


class TemporaryInstance:
    """An instance for one test. The first access to its services opens it, so write settings before.

    >>> cdap_instance.drop("shout-plugins")                                     # doctest: +SKIP
    >>> [p.name for p in cdap_instance.cdap.artifacts.list_plugins("default")]  # doctest: +SKIP
    >>> cdap_instance.run(document, {"input": "in.csv"}).status                 # doctest: +SKIP

    :param folder: the folder of the instance, created when it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.home: Final = Home(folder)
        self.home.path.mkdir(parents=True, exist_ok=True)
        self._open = contextlib.ExitStack()
        self._cdap: Cdap | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def cdap(self) -> Cdap:
        """The services of the instance, as front ends use them."""
        if self._cdap is None:
            copy_known_instance(self.home.path)
            self._cdap = self._open.enter_context(open_in_process(self.home))
        return self._cdap

    def settings(self, text: str) -> None:
        """Write ``localcdap.toml``, which takes effect when the instance is opened next."""
        write_file(self.home.settings_file, text)

    def drop(self, artifact: str | Path, namespace: str = "default") -> Path:
        """Copy an artifact, a file or a folder, into the plugin folder, and return its new path.

        An artifact with the same file name is replaced.
        """
        source = Path(artifact).absolute()
        folder = self.home.path / "plugins"
        place = (folder if namespace == "default" else folder / namespace) / source.name
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.rmtree(place, ignore_errors=True)
            ignored = shutil.ignore_patterns("__pycache__", ".*")
            shutil.copytree(source, place, ignore=ignored)
        else:
            shutil.copyfile(source, place)
        if self._cdap is not None:
            self._cdap.artifacts.sync()
        return place

    def run(
        self,
        document: Mapping[str, Any] | str,
        arguments: Mapping[str, str] | None = None,
        namespace: str = "default",
    ) -> Run:
        """Run a pipeline document and wait for its end. Relative paths are relative to the instance's folder.

        :raises InvalidPipelineError: when the pipeline has failures.
        """
        text = document if isinstance(document, str) else json.dumps(dict(document))
        request = RunRequest(text, namespace, arguments=dict(arguments or {}))
        run = self.cdap.runs.start(request)
        while not run.status.is_end:
            run = self.cdap.runs.wait(run.run, run.version, timeout_s=_POLL_S)
        return run

    def close(self) -> None:
        """Close the instance; its runs continue. The next access to its services opens it again."""
        self._cdap = None
        self._open.close()


_T = TypeVar("_T")
_NAMESPACE: Final = "default"


class DatasetTester:
    """A dataset of a type of an artifact, whose code runs in a plugin worker as it does for users.

    >>> rates = DatasetTester(cdap_instance, folder, "rates", {"currency": "EUR"})  # doctest: +SKIP
    >>> rates.update({"notes": "true"}).describe()                                  # doctest: +SKIP
    >>> rates.list_reasons({"currency": "USD"})                                     # doctest: +SKIP
    >>> rates.run(lambda dataset: dataset.get_rate("2026-01-31"))                   # doctest: +SKIP

    :param artifact: a file or folder with the type; it is copied into the plugin folder.
    :param properties: of the new dataset.
    :param owner: the namespace of the artifact: ``system`` for one with an application.
    :raises PluginError: when the artifact is broken.
    :raises DatasetPropertiesError: when the properties are invalid.
    """

    def __init__(
        self,
        instance: TemporaryInstance,
        artifact: str | Path,
        type: str,
        properties: Mapping[str, str],
        name: str = "tested",
        owner: str = _NAMESPACE,
    ) -> None:
        place = instance.drop(artifact, owner)
        broken = instance.cdap.artifacts.list_artifacts(_NAMESPACE, errors=True)
        for each in broken:
            if each.path == str(place):
                raise PluginError(each.error or "The artifact is broken.")
        self.name: Final = name
        self._datasets = instance.cdap.datasets
        artifacts = instance.cdap.artifacts

        def find_reference(namespace: str, type: str) -> PluginRef | None:
            found = artifacts.find_dataset_type(namespace, type)
            return None if found is None else found.plugin

        self._runner = HostTransactionRunner(
            lambda: instance.cdap.transaction_service, find_type=LoadedTypes(find_reference).find
        )
        self._datasets.create(DatasetRequest(name, type, dict(properties)))

    @property
    def detail(self) -> DatasetDetail:
        """The dataset as it is now."""
        return self._datasets.describe(_NAMESPACE, self.name)

    @property
    def field_names(self) -> list[str]:
        """The columns of the dataset's table; empty when it has none."""
        schema = self.detail.schema
        return [] if schema is None else schema.field_names

    def update(self, properties: Mapping[str, str]) -> DatasetChange:
        """Change properties; the others stay. Return what has changed.

        :raises DatasetPropertiesError: when they are invalid.
        :raises IncompatibleUpdateError: when the dataset cannot get them.
        """
        return self._datasets.update(self._create_update(properties))

    def list_reasons(self, properties: Mapping[str, str]) -> list[str]:
        """Return why the dataset cannot get properties; empty when it can. Nothing is changed."""
        try:
            self._datasets.check_update(self._create_update(properties))
        except IncompatibleUpdateError as error:
            return list(error.reasons)
        return []

    def run(self, body: Callable[[Any], _T], kind: TransactionKind = TransactionKind.DEFAULT) -> _T:
        """Call a function with the opened dataset in a transaction, and return its result.

        The methods of the dataset class run in this process.
        """
        return self._runner.run(lambda tx: body(tx.dataset(self.name)), kind=kind)

    def upgrade(self) -> None:
        """Call the admin's ``upgrade``."""
        self._datasets.upgrade(_NAMESPACE, self.name)

    def truncate(self) -> None:
        """Remove the data."""
        self._datasets.truncate(_NAMESPACE, self.name)

    def drop(self) -> None:
        """Remove the dataset with its data."""
        self._datasets.drop(_NAMESPACE, self.name)

    def _create_update(self, properties: Mapping[str, str]) -> DatasetUpdate:
        return DatasetUpdate(self.name, dict(properties), replaces=False)
