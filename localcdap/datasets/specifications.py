"""What specifications of datasets say, for datasets of all types."""

from __future__ import annotations

from collections.abc import Sequence

from localcdap.api.dataset.definition import DatasetChange, PropertyChange
from localcdap.api.dataset.schema_evolution import FieldChange, find_field_changes
from localcdap.api.dataset.specification import (
    DatasetSpecification,
    FolderLayout,
    StorageLayout,
    decode_layout,
)
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.dataset.types.external import EXTERNAL_TYPE, TABLE
from localcdap.api.schema import Schema


def lay_out(specification: DatasetSpecification) -> StorageLayout:
    """Return where the data of a dataset is, with that of its embedded datasets.

    For a type of a module it is what its code said when the specification was made.
    """
    layout = _lay_out_own(specification)
    tables = dict(layout.tables)
    for each in specification.embedded.values():
        tables |= lay_out(each).tables
    return StorageLayout(tables, layout.folder)


def _lay_out_own(specification: DatasetSpecification) -> StorageLayout:
    if specification.origin is not None:
        return decode_layout(specification.origin.layout)
    definition = BUILT_IN_TYPES.get(specification.type)
    return StorageLayout() if definition is None else definition.lay_out(specification)


def list_folders(specification: DatasetSpecification) -> list[FolderLayout]:
    """Return the folders of a dataset and of its embedded datasets."""
    own = _lay_out_own(specification).folder
    inner = [each for part in specification.embedded.values() for each in list_folders(part)]
    return inner if own is None else [own, *inner]


def compare(
    old: DatasetSpecification | None, new: DatasetSpecification, ignored: Sequence[str] = ()
) -> DatasetChange:
    """Return what changes between two specifications.

    :param old: None for a new dataset.
    :param ignored: a sentence for each property without effect.
    """
    before, after = get_given_properties(old) if old is not None else {}, get_given_properties(new)
    names = dict.fromkeys((*before, *after))
    properties = [
        PropertyChange(name, before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    ]
    return DatasetChange(new.name, old is None, properties, _list_fields(old, new), list(ignored))


def _list_fields(old: DatasetSpecification | None, new: DatasetSpecification) -> list[FieldChange]:
    before = None if old is None else get_row_schema(old, lay_out(old))
    after = get_row_schema(new, lay_out(new))
    if before is None or after is None:
        return []
    return find_field_changes(before, after)


def get_row_schema(specification: DatasetSpecification, layout: StorageLayout) -> Schema | None:
    """Return the schema of the dataset's own table, or that of its files."""
    own = layout.tables.get(specification.name)
    return own.schema if own is not None else specification.get_schema()


def holds_nothing(specification: DatasetSpecification) -> bool:
    """Return whether a dataset is only the name of data elsewhere, as a run has created it.

    A table or dataset of that name takes its place.
    """
    return specification.type == EXTERNAL_TYPE and TABLE not in specification.properties


def get_given_properties(specification: DatasetSpecification) -> dict[str, str]:
    """Return the properties as they were given."""
    given = specification.original_properties
    return specification.properties if given is None else given
