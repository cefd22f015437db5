"""The specification of a structured table, and the types of its fields."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from localcdap.api.errors import InvalidTableFieldError, TableUsageError
from localcdap.api.serialization.value_types import is_unicode

_LARGEST_FLOAT: Final = 3.4028234663852886e38


class FieldType(StrEnum):
    """The type of a field; a field that is not part of the primary key may also be None."""

    INTEGER = "INTEGER"
    """``int`` of 32 bits."""
    LONG = "LONG"
    """``int`` of 64 bits."""
    FLOAT = "FLOAT"
    """``float`` of 32 bits, to which written values are rounded."""
    DOUBLE = "DOUBLE"
    """``float``."""
    STRING = "STRING"
    """``str``, ordered by code points, which is also the order of UTF-8 bytes."""
    BYTES = "BYTES"
    """``bytes``."""
    BOOLEAN = "BOOLEAN"
    """``bool``, which is not an ``int`` here."""

    @classmethod
    def of(cls, value: Any) -> FieldType | None:
        """Return the narrowest type of a value; None when no field can hold it.

        An ``int`` is never a float: as in CDAP, 3 is rejected where 3.0 is expected.
        """
        match value:
            case bool():
                return cls.BOOLEAN
            case int():
                if -(2**31) <= value < 2**31:
                    return cls.INTEGER
                return cls.LONG if -(2**63) <= value < 2**63 else None
            case float():
                fits = not _LARGEST_FLOAT < abs(value) < float("inf")
                return cls.FLOAT if fits else cls.DOUBLE
            case str():
                return cls.STRING if is_unicode(value) else None
            case bytes():
                return cls.BYTES
            case _:
                return None

    def accepts(self, actual: FieldType | None) -> bool:
        """Return whether a field can hold all values of another type: LONG of INTEGER, DOUBLE of FLOAT.

        CDAP ``FieldType.Type.isCompatible``.
        """
        return actual is self or (self, actual) in _WIDENINGS


_WIDENINGS: Final = {
    (FieldType.LONG, FieldType.INTEGER),
    (FieldType.DOUBLE, FieldType.FLOAT),
}
KEY_TYPES: Final = (FieldType.INTEGER, FieldType.LONG, FieldType.STRING)
"""The types of fields in a primary key."""
INDEX_TYPES: Final = (*KEY_TYPES, FieldType.BOOLEAN)
"""The types of indexed fields."""


_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")
_RULE: Final = "Only alphanumeric and _ characters allowed, and should begin with an alphabet"


class StructuredTableSpecification(msgspec.Struct, frozen=True):
    """The name, fields, primary key and indexes of a table.

    The rules and their order are those of CDAP's ``StructuredTableSpecification.Builder``. Beyond them,
    field names must differ in more than case.

    :raises TableUsageError: when a name is invalid, or there is no field or no key.
    :raises InvalidTableFieldError: when a field of the key or an index does not exist or has an unsupported
        type.
    """

    table: str
    """The id of the table, which is ``app_<table>`` in DuckDB."""
    fields: Mapping[str, FieldType]
    primary_key: Sequence[str]
    """Fields of type INTEGER, LONG or STRING, in the order by which rows are sorted."""
    indexes: Collection[str] = ()
    """Fields for filters and sorting, of the types of keys or BOOLEAN."""

    def __post_init__(self) -> None:
        # Specifications that differ only in the types of collections must be equal.
        msgspec.structs.force_setattr(self, "fields", dict(self.fields))
        msgspec.structs.force_setattr(self, "primary_key", tuple(self.primary_key))
        msgspec.structs.force_setattr(self, "indexes", tuple(sorted(set(self.indexes))))
        self._check_names()
        self._check_keys()
        self._check_indexes()

    def _check_names(self) -> None:
        if not self.table:
            raise TableUsageError("StructuredTableId cannot be empty")
        if not _NAME.fullmatch(self.table):
            raise TableUsageError(f"Invalid table name {self.table}. {_RULE}")
        if not self.fields:
            raise TableUsageError(f"No fieldTypes specified for the table {self.table}")
        if not self.primary_key:
            raise TableUsageError(f"No primary keys specified for the table {self.table}")
        seen: dict[str, str] = {}
        for name in self.fields:
            if not _NAME.fullmatch(name):
                raise TableUsageError(f"Invalid field name {name}. {_RULE}")
            other = seen.setdefault(name.lower(), name)
            if other != name:
                raise TableUsageError(
                    f"Fields {other} and {name} of table {self.table} differ only in case, which the "
                    "database does not distinguish"
                )

    def _check_keys(self) -> None:
        for name in self.primary_key:
            if name not in self.fields:
                raise InvalidTableFieldError(
                    f"Field {name} is not part of the schema of table {self.table}",
                    table=self.table,
                    fields=[name],
                )
            if self.fields[name] not in KEY_TYPES:
                raise InvalidTableFieldError(
                    f"Field {name} of table {self.table} has wrong type for a primary key. "
                    f"Valid types are: {', '.join(KEY_TYPES)}",
                    table=self.table,
                    fields=[name],
                )
        if len(set(self.primary_key)) < len(self.primary_key):
            raise TableUsageError(f"A primary key of table {self.table} is named twice")

    def _check_indexes(self) -> None:
        for name in self.indexes:
            if name not in self.fields:
                raise InvalidTableFieldError(
                    f"Field {name} of table {self.table} is not defined as an index column",
                    table=self.table,
                    fields=[name],
                )
            if self.fields[name] not in INDEX_TYPES:
                raise InvalidTableFieldError(
                    f"Field {name} of table {self.table} has wrong type for an index column. "
                    f"Valid types are: {', '.join(INDEX_TYPES)}",
                    table=self.table,
                    fields=[name],
                )
