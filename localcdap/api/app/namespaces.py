"""Rows of a namespace, which have its name and generation in their key.

The generation separates them from rows of a deleted namespace of the same name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.app.table import Bound, FieldType, Range, StructuredTableSpecification

NAMESPACE: Final = "namespace"
GENERATION: Final = "generation"


class NamespaceSummary(msgspec.Struct, frozen=True):
    """The name, description and generation of a namespace (CDAP 6 ``NamespaceSummary``)."""

    name: str
    description: str
    generation: int
    """Unique among all namespaces that ever had this name, and larger than those of earlier ones."""

    @property
    def key(self) -> dict[str, Any]:
        """The first fields of the key of its rows in a :func:`namespaced_table`.

        >>> NamespaceSummary("sales", "", 7).key | {"id": "a"}
        {'namespace': 'sales', 'generation': 7, 'id': 'a'}
        """
        return {NAMESPACE: self.name, GENERATION: self.generation}

    def rows(self, after: Mapping[str, Any] | None = None) -> Range:
        """Return the range of its rows in a :func:`namespaced_table`.

        :param after: the other fields of a key, such as that of the last row of a page, to exclude it and
            all rows before it.
        """
        if after is None:
            return Range.singleton(self.key)
        return Range(self.key | dict(after), self.key, Bound.EXCLUSIVE, Bound.INCLUSIVE)


def is_namespaced(specification: StructuredTableSpecification) -> bool:
    """Return whether the key of a table begins with ``namespace`` and ``generation``."""
    return list(specification.primary_key[:2]) == [NAMESPACE, GENERATION]


def namespaced_table(
    table: str,
    *,
    fields: Mapping[str, FieldType],
    primary_key: Sequence[str],
    indexes: Collection[str] = (),
) -> StructuredTableSpecification:
    """Return the specification of a table whose key begins with ``namespace`` and ``generation``.

    The rows of a deleted namespace are no longer found with :attr:`NamespaceSummary.key`, and are deleted
    shortly after it.

    :param fields: the other fields.
    :param primary_key: the other fields of the key.
    """
    return StructuredTableSpecification(
        table,
        fields={NAMESPACE: FieldType.STRING, GENERATION: FieldType.LONG, **fields},
        primary_key=[NAMESPACE, GENERATION, *primary_key],
        indexes=indexes,
    )
