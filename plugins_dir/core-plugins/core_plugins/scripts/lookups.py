"""Lookup tables of scripts, which the property 'lookup' declares.

As in CDAP, a lookup in a key-value table returns a text, and a lookup in any other table returns an object
with the columns of the row except the key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from localcdap.api import Lookup, StageConfigurer

from .coercion import ScriptValueError

PROPERTY: Final = "lookup"
DESCRIPTION: Final = (
    'Tables of this namespace for lookups, as {"tables": {"jobs": {"type": "DATASET"}}}. '
    "context.getLookup('jobs').lookup(key) returns the value of a key-value table (columns 'key' and "
    "'value'), an object with the columns of any other table, or null; for several keys, an object with the "
    "entries that exist."
)
_TYPE: Final = "DATASET"


class LookupConfigError(Exception):
    """The property 'lookup' is invalid; the message says why."""

    def __init__(self, message: str, corrective_action: str) -> None:
        super().__init__(message)
        self.message = message
        self.corrective_action = corrective_action


def parse_declared_tables(text: str | None) -> list[str]:
    """Return the names of the tables that the property declares.

    The form of older manuals of CDAP, without 'tables' around the tables, is accepted too. The properties of
    a table have no effect.

    :raises LookupConfigError: when the property is invalid.
    """
    if not text or not text.strip():
        return []
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    tables = given.get("tables", given) if isinstance(given, dict) else None
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise LookupConfigError(
            "Invalid lookup config.",
            'Expected a JSON object such as {"tables": {"jobs": {"type": "DATASET"}}}.',
        )
    for name, table in tables.items():
        if table.get("type", _TYPE) != _TYPE:
            raise LookupConfigError(
                f"Lookup table '{name}' has the unknown type '{table['type']}'.",
                f"Use the type '{_TYPE}'.",
            )
    return list(tables)


def check_declared(stage: StageConfigurer, text: str | None) -> None:
    """Add a failure for an invalid property."""
    try:
        parse_declared_tables(text)
    except LookupConfigError as error:
        stage.failures.add(error.message, error.corrective_action).with_config_property(PROPERTY)


def check_tables(stage: StageConfigurer, text: str | None) -> None:
    """Add failures for tables that do not exist or have no key. The property must be valid."""
    for name in parse_declared_tables(text):
        shape = stage.find_table(name)
        if shape is None:
            problem = f"There is no table '{name}' to look values up in."
            action = "Write it first; 'localcdap tables' lists all tables."
        elif shape.found is None:
            problem = f"Table '{name}' has no key by which values could be looked up."
            action = "Write it with a key, or with the columns 'key' and 'value'."
        else:
            continue
        stage.failures.add(problem, action).with_config_property(PROPERTY, element=name)


def describe_undeclared(name: Any) -> str:
    """Return the message for a script that looks into an undeclared table."""
    return f"table '{name}' is not declared; name it in the property '{PROPERTY}'"


class ScriptLookup:
    """The lookup object of a Python script."""

    def __init__(self, table: Lookup) -> None:
        self._table = table
        self._is_key_value = table.shape.is_key_value

    def lookup(self, *keys: Any) -> Any:
        """Return the value of a key, or None; for several keys or a list, the values that exist, by key."""
        if len(keys) != 1:
            return self._look_up_several(keys)
        (key,) = keys
        return (
            self._look_up_several(key)
            if isinstance(key, list | tuple | set)
            else self._look_up_one(key)
        )

    def _look_up_several(self, keys: Iterable[Any]) -> dict[Any, Any]:
        found = ((key, self._look_up_one(key)) for key in keys)
        return {key: value for key, value in found if value is not None}

    def _look_up_one(self, key: Any) -> Any:
        if key is None:
            return None
        row = self._table.get(key if isinstance(key, str) else str(key))
        if row is None or not self._is_key_value:
            return row and dict(row)
        (value,) = row.values()
        return format_table_value(value)


class ScriptLookups:
    """The lookups of a Python script, by table."""

    def __init__(self, tables: Iterable[Lookup]) -> None:
        self._lookups = {table.name: ScriptLookup(table) for table in tables}

    def get(self, name: str) -> ScriptLookup:
        """Return the lookup of a table.

        :raises ScriptValueError: when the table is not declared.
        """
        if name not in self._lookups:
            raise ScriptValueError(describe_undeclared(name))
        return self._lookups[name]


def format_table_value(value: Any) -> str | None:
    """Format a value of a key-value table as text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)
