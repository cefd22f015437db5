"""The operations on structured tables, as values that can be sent to another process.

Each is checked against its table first (:meth:`Operation.prepared`), which needs no database and raises
what is wrong with its arguments; then it can be carried out in a transaction.
"""

from __future__ import annotations

from localcdap.store.structured.operations.deleting import Delete, DeleteRange
from localcdap.store.structured.operations.operation import Action, Operation, Result, Rows, Work
from localcdap.store.structured.operations.reading import Count, MultiRead, Read, Scan
from localcdap.store.structured.operations.swapping import CompareAndSwap, Increment
from localcdap.store.structured.operations.writing import Update, UpdateRange, Upsert, UpsertAll

AnyOperation = (
    Upsert
    | UpsertAll
    | Update
    | Read
    | MultiRead
    | Scan
    | Count
    | CompareAndSwap
    | Increment
    | Delete
    | DeleteRange
    | UpdateRange
)
"""What :mod:`msgspec` must know to decode an operation."""

__all__ = [
    "Action",
    "AnyOperation",
    "CompareAndSwap",
    "Count",
    "Delete",
    "DeleteRange",
    "Increment",
    "MultiRead",
    "Operation",
    "Read",
    "Result",
    "Rows",
    "Scan",
    "Update",
    "UpdateRange",
    "Upsert",
    "UpsertAll",
    "Work",
]
