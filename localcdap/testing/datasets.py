"""Tests of dataset types: one dataset of the type, in a temporary instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from localcdap.api.app.transactions import TransactionKind
from localcdap.api.dataset.declaration import DatasetChange
from localcdap.api.errors import IncompatibleUpdateError, PluginError
from localcdap.artifacts.model import PluginRef
from localcdap.datasets.model import DatasetDetail, DatasetRequest, DatasetUpdate
from localcdap.sandbox.dataset_calls import LoadedTypes
from localcdap.testing.instance import TemporaryInstance
from localcdap.transactions.client import HostTransactionRunner

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
