"""Rows that were read from structured tables."""

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
        """A Mapping that is made at the speed of C: a large scan makes many rows.

        To inherit from both would cost that speed, since a Struct has a metaclass of its own.
        """

        keys = Mapping.keys
        items = Mapping.items
        values = Mapping.values
        __eq__ = Mapping.__eq__
        __hash__ = None

    Mapping.register(_Mapping)


class StructuredRow(_Mapping):
    """A row: a read-only mapping from the names of the fields that were read to their values.

    It may be kept when its transaction is over. ``dict(row)`` is a record that can be changed and upserted.
    """

    _values: Sequence[Any]
    _places: ClassVar[Mapping[str, int]] = {}
    _key: ClassVar[tuple[int, ...]] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """The values of the primary key, in its order."""
        return tuple(self._values[place] for place in self._key)

    def __getitem__(self, field: str) -> Any:
        """:raises InvalidTableFieldError: when that field was not read or does not exist."""
        try:
            return self._values[self._places[field]]
        except KeyError:
            raise InvalidTableFieldError(
                f"Field {field} is not in this row. It has: {', '.join(self._places)}.",
                fields=[field],
            ) from None

    def __contains__(self, field: object) -> bool:
        return field in self._places

    def get(self, field: str, default: Any = None) -> Any:
        """The value, or ``default`` when there is no such field in the row; a null is None."""
        place = self._places.get(field)
        return default if place is None else self._values[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"StructuredRow({dict(self)})"


@lru_cache(maxsize=256)
def create_row_class(columns: tuple[str, ...], primary_key: tuple[str, ...]) -> type[StructuredRow]:
    """The class of rows with these fields, for those who implement tables."""
    places = {name: place for place, name in enumerate(columns)}
    members = {"_places": places, "_key": tuple(places[name] for name in primary_key)}
    return new_class(
        "StructuredRow", (StructuredRow,), exec_body=lambda names: names.update(members)
    )


class StructuredRows(Iterator[StructuredRow]):
    """The rows of a scan, one after the other: those that were there when it was called.

    It can be closed, by itself or as a context manager, and is of no use outside its transaction.
    """

    def __init__(self, row: type[StructuredRow], values: list[Sequence[Any]]) -> None:
        """For those who implement tables: they close it when the transaction is over.

        :param values: is emptied when it is closed.
        """
        self._row = row
        self._values = values
        self._left = iter(values)
        self._is_closed = False

    def __iter__(self) -> Iterator[StructuredRow]:
        # Python's own code for each row would take more of a large scan's time than the database.
        return chain(map(self._row, self._left), self._ending())

    def __next__(self) -> StructuredRow:
        """:raises TransactionError: when it was closed, or its transaction is over."""
        for values in self._left:
            return self._row(values)
        self._require_open()
        raise StopIteration

    def close(self) -> None:
        """Let go of the rows that were not taken."""
        self._is_closed = True
        self._values.clear()

    def _ending(self) -> Iterator[StructuredRow]:
        """No row; says why when there are none because it was closed."""
        self._require_open()
        yield from ()

    def _require_open(self) -> None:
        if self._is_closed:
            raise TransactionError(
                "These rows were closed, or their transaction is over.",
                "Take them inside the body, or scan anew.",
            )

    def __enter__(self) -> StructuredRows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
