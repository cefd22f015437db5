"""The rows that structured tables return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from types import new_class
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from localcdap.api.errors import InvalidTableFieldError, TransactionError

if TYPE_CHECKING:

    class _Mapping(Mapping[str, Any]):
        def __init__(self, values: Sequence[Any], /) -> None: ...

else:

    class _Mapping(msgspec.Struct, eq=False, gc=False):
        """A Mapping that msgspec creates in C, because a large scan creates many rows.

        Inheriting from both classes would lose that speed, since a Struct has another metaclass.
        """

        keys = Mapping.keys
        items = Mapping.items
        values = Mapping.values
        __eq__ = Mapping.__eq__
        __hash__ = None

    Mapping.register(_Mapping)


class StructuredRow(_Mapping):
    """A row: a read-only mapping from the fields that were read to their values.

    It stays valid after its transaction. ``dict(row)`` is a record that can be changed and upserted.
    """

    _values: Sequence[Any]
    _indexes: ClassVar[Mapping[str, int]] = {}
    _key: ClassVar[tuple[int, ...]] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """The values of the primary key, in order."""
        return tuple(self._values[index] for index in self._key)

    def __getitem__(self, field: str) -> Any:
        """Return the value of a field.

        :raises InvalidTableFieldError: when the field was not read or does not exist.
        """
        try:
            return self._values[self._indexes[field]]
        except KeyError:
            raise InvalidTableFieldError(
                f"Field {field} is not in this row. It has: {', '.join(self._indexes)}.",
                fields=[field],
            ) from None

    def __contains__(self, field: object) -> bool:
        return field in self._indexes

    def get(self, field: str, default: Any = None) -> Any:
        """Return the value of a field, or ``default`` when the row does not have it; a null is None."""
        index = self._indexes.get(field)
        return default if index is None else self._values[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._indexes)

    def __len__(self) -> int:
        return len(self._indexes)

    def __repr__(self) -> str:
        return f"StructuredRow({dict(self)})"


@lru_cache(maxsize=256)
def create_row_class(columns: tuple[str, ...], primary_key: tuple[str, ...]) -> type[StructuredRow]:
    """Return the class of rows with these fields, for implementations of tables."""
    indexes = {name: index for index, name in enumerate(columns)}
    members = {"_indexes": indexes, "_key": tuple(indexes[name] for name in primary_key)}
    return new_class(
        "StructuredRow", (StructuredRow,), exec_body=lambda names: names.update(members)
    )


class StructuredRows(Iterator[StructuredRow]):
    """An iterator over the rows that existed when a scan was called.

    It can be closed, also as a context manager, and cannot be used outside of its transaction.
    """

    def __init__(self, row: type[StructuredRow], values: list[Sequence[Any]]) -> None:
        """Create the iterator; the table closes it at the end of the transaction.

        :param values: the values of the rows, cleared on closing.
        """
        self._row = row
        self._values = values
        self._remaining = iter(values)
        self._is_closed = False

    def __iter__(self) -> Iterator[StructuredRow]:
        # Chained C iterators: Python code per row would take longer than the database in a large scan.
        return chain(map(self._row, self._remaining), self._check_end())

    def __next__(self) -> StructuredRow:
        """Return the next row.

        :raises TransactionError: when the iterator is closed, or its transaction is over.
        """
        for values in self._remaining:
            return self._row(values)
        self._require_open()
        raise StopIteration

    def close(self) -> None:
        """Release the remaining rows."""
        self._is_closed = True
        self._values.clear()

    def _check_end(self) -> Iterator[StructuredRow]:
        """Yield nothing; raise when there are no more rows because the iterator was closed."""
        self._require_open()
        yield from ()

    def _require_open(self) -> None:
        if self._is_closed:
            raise TransactionError(
                "These rows were closed, or their transaction is over.",
                "Read them inside the transaction, or scan again.",
            )

    def __enter__(self) -> StructuredRows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
