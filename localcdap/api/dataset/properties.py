"""Reading and comparing the properties of datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, overload

from localcdap.api.dataset.definition import DatasetDefinition
from localcdap.api.dataset.schema_evolution import (
    COMPATIBILITY_RULE,
    find_field_changes,
    list_reasons,
)
from localcdap.api.dataset.specification import DatasetSpecification
from localcdap.api.errors import DatasetPropertiesError, IncompatibleUpdateError, SchemaError
from localcdap.api.schema import Schema, Type

_LONG: Final = range(-(2**63), 2**63)


class PropertyReader:
    """Reads the properties of a dataset as Java does."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties: Final = properties

    @overload
    def get(self, name: str) -> str | None: ...
    @overload
    def get(self, name: str, default: str) -> str: ...
    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the value of a property."""
        return self.properties.get(name, default)

    def read_flag(self, name: str) -> bool:
        """Return whether a property is ``true``, in any case."""
        return (self.get(name) or "").lower() == "true"

    def read_whole_number(self, name: str, default: int = 0) -> int:
        """Return a property that is a long.

        :raises DatasetPropertiesError: when it is not.
        """
        text = self.get(name)
        if text is None:
            return default
        try:
            number = int(text)
        except ValueError:
            number = None
        if number is None or number not in _LONG or text != text.strip() or "_" in text:
            raise DatasetPropertiesError(
                f"Property '{name}' must be a whole number, not '{text}'.", property=name
            )
        return number

    def read_choice(self, name: str, choices: Sequence[str], what: str) -> str | None:
        """Return a property that has one of some values; None when it is not set.

        :raises DatasetPropertiesError: when it has another value.
        """
        text = self.get(name)
        if text is not None and text not in choices:
            raise DatasetPropertiesError(
                f"Invalid {what}: {text}", f"Set '{name}' to {', '.join(choices)}.", property=name
            )
        return text


def parse_record_property(properties: PropertyReader, name: str) -> Schema | None:
    """Return a property that is the schema of a record; None when it is not set.

    :raises DatasetPropertiesError: when it is not such a schema.
    """
    text = properties.get(name)
    if text is None:
        return None
    try:
        schema = Schema.parse(text)
    except SchemaError as error:
        raise DatasetPropertiesError(
            f"Property '{name}' is not a schema: {error}", property=name
        ) from error
    if schema.type is not Type.RECORD or not schema.field_names:
        raise DatasetPropertiesError(
            f"Property '{name}' must be the schema of a record with at least one field.",
            property=name,
        )
    return schema


def compare_layouts(
    definition: DatasetDefinition, old: DatasetSpecification, new: DatasetSpecification
) -> list[str]:
    """Return why a change of the tables' schemas is refused; see :mod:`.schema_evolution` for the rules."""
    before, after = definition.lay_out(old).tables, definition.lay_out(new).tables
    reasons = []
    for name, table in before.items():
        if name in after:
            changes = find_field_changes(table.schema, after[name].schema)
            reasons += list_reasons(changes, name)
    return reasons


def refuse_changes(*reasons: Sequence[str], property: str | None = None) -> None:
    """Raise an error with all reasons, if there are any.

    :raises IncompatibleUpdateError: when there are.
    """
    found = [each for some in reasons for each in some]
    if found:
        of_schema = any("field '" in each for each in found)
        raise IncompatibleUpdateError(
            reasons=found,
            corrective_action=COMPATIBILITY_RULE if of_schema else None,
            property=property,
        )
