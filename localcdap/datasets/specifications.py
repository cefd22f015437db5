"""What specifications of datasets say, for datasets of all types."""

from __future__ import annotations

from localcdap.api.dataset.declaration import DatasetChange, PropertyChange
from localcdap.api.dataset.definition import DatasetDefinition
from localcdap.api.dataset.schema_evolution import FieldChange, find_field_changes
from localcdap.api.dataset.specification import DatasetSpecification, StorageLayout
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.schema import Schema


def lay_out(specification: DatasetSpecification) -> StorageLayout:
    """Return where the data of a dataset is, with that of its embedded datasets.

    There is none for a type that is missing.
    """
    definition = BUILT_IN_TYPES.get(specification.type)
    layout = definition.lay_out(specification) if definition is not None else StorageLayout()
    tables = dict(layout.tables)
    for each in specification.embedded.values():
        tables |= lay_out(each).tables
    return StorageLayout(tables, layout.folder)


def compare(
    definition: DatasetDefinition, old: DatasetSpecification | None, new: DatasetSpecification
) -> DatasetChange:
    """Return what changes between two specifications; ``old`` is None for a new dataset."""
    before, after = get_given_properties(old) if old is not None else {}, get_given_properties(new)
    names = dict.fromkeys((*before, *after))
    properties = [
        PropertyChange(name, before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    ]
    warnings = definition.list_ignored(after)
    return DatasetChange(new.name, old is None, properties, _list_fields(old, new), warnings)


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


def get_given_properties(specification: DatasetSpecification) -> dict[str, str]:
    """Return the properties as they were given."""
    given = specification.original_properties
    return specification.properties if given is None else given
