"""What the authors of system applications import. This package imports nothing of localcdap but ``api``.

>>> from localcdap.api.app import FieldType, StructuredTableSpecification
>>> NOTES = StructuredTableSpecification(
...     "notes",
...     fields={"namespace": FieldType.STRING, "id": FieldType.LONG, "text": FieldType.STRING},
...     primary_key=["namespace", "id"],
... )

and in a service, with its :class:`TransactionRunner`::

    def add(context: TransactionContext) -> None:
        context.table("notes").upsert({"namespace": "default", "id": 1, "text": "buy milk"})

    transactions.run(add)
"""

from localcdap.api.app.fields import FieldType
from localcdap.api.app.ranges import Bound, Range
from localcdap.api.app.rows import StructuredRow, StructuredRows
from localcdap.api.app.specification import StructuredTableSpecification
from localcdap.api.app.table import QueryOption, SortOrder, StructuredTable
from localcdap.api.app.transactions import (
    StructuredTableAdmin,
    TransactionContext,
    TransactionKind,
    TransactionRunner,
)
from localcdap.api.errors import (
    IncompatibleTableError,
    InvalidTableFieldError,
    TableUsageError,
    TransactionConflictError,
    TransactionError,
    TransactionTimeoutError,
)

__all__ = [
    "Bound",
    "FieldType",
    "IncompatibleTableError",
    "InvalidTableFieldError",
    "QueryOption",
    "Range",
    "SortOrder",
    "StructuredRow",
    "StructuredRows",
    "StructuredTable",
    "StructuredTableAdmin",
    "StructuredTableSpecification",
    "TableUsageError",
    "TransactionConflictError",
    "TransactionContext",
    "TransactionError",
    "TransactionKind",
    "TransactionRunner",
    "TransactionTimeoutError",
]
