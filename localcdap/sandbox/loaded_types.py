"""The dataset types that a process opens datasets with: built-in ones, and those of modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from localcdap.api.dataset.definition import DatasetDefinition
from localcdap.api.dataset.specification import DatasetSpecification
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.errors import NotFoundError
from localcdap.artifacts.model import PluginRef
from localcdap.sandbox.dataset_calls import make_definition


class LoadedTypes:
    """Finds types, and loads the code of modules: for processes that may run it.

    :param find_reference: returns what is needed to load a type by namespace and name; None when there is
        no such type.
    """

    def __init__(self, find_reference: Callable[[str, str], PluginRef | None]) -> None:
        self._find_reference: Final = find_reference
        self._loaded: dict[tuple[str, str], tuple[PluginRef, DatasetDefinition]] = {}

    def find(self, namespace: str, specification: DatasetSpecification) -> DatasetDefinition:
        """Return the type of a dataset, of its newest version.

        :raises NotFoundError: when it is missing; the message names its file.
        :raises PluginError: when its code raises.
        """
        name = specification.type
        built_in = BUILT_IN_TYPES.get(name)
        if built_in is not None:
            return built_in
        reference = self._find_reference(namespace, name)
        if reference is None:
            raise _make_missing_error(specification)
        known = self._loaded.get((namespace, name))
        if known is None or known[0] != reference:
            known = self._loaded[namespace, name] = reference, make_definition(reference)
        return known[1]


def _make_missing_error(specification: DatasetSpecification) -> NotFoundError:
    origin, where, advice = specification.origin, "", None
    if origin is not None:
        where = f"; its artifact {origin.artifact} was {origin.path}"
        advice = "Put the file there again, or read the tables of the dataset with SQL."
    return NotFoundError(
        f"Dataset '{specification.name}' cannot be opened: its type '{specification.type}' is missing"
        f"{where}.",
        advice,
    )
