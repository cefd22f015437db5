"""Ranges of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

Key = Sequence[Any] | Mapping[str, Any]
"""Values of key fields: a tuple in the order of the primary key, or a dict that names them in that order."""


class Bound(StrEnum):
    """Whether a row that equals an end of a range is in it."""

    INCLUSIVE = "INCLUSIVE"
    EXCLUSIVE = "EXCLUSIVE"


class Range(msgspec.Struct, frozen=True):
    """The rows between two points; without ``begin`` from the first row on, without ``end`` up to the last.

    A point is a tuple of the first values of the primary key, or a dict of any fields with their values.
    Rows compare with it as tuples of just these fields, in the order given. So an exclusive begin
    ``(5,)`` leaves out every row whose first key is 5, and an inclusive end ``(5,)`` takes them all in.
    Nulls are in no range that names their field. As in Python, the end is exclusive unless said otherwise.

    >>> Range((1, 8), (3, 3), end_bound=Bound.INCLUSIVE).begin
    (1, 8)
    >>> Range.all()
    Range(begin=(), end=(), begin_bound=<Bound.INCLUSIVE: 'INCLUSIVE'>, \
end_bound=<Bound.EXCLUSIVE: 'EXCLUSIVE'>)
    """

    begin: Key = ()
    end: Key = ()
    begin_bound: Bound = Bound.INCLUSIVE
    end_bound: Bound = Bound.EXCLUSIVE

    @classmethod
    def all(cls) -> Range:
        """Every row."""
        return cls()

    @classmethod
    def singleton(cls, key: Key) -> Range:
        """The rows whose fields have just these values: one row if it is a full key."""
        return cls(key, key, Bound.INCLUSIVE, Bound.INCLUSIVE)
