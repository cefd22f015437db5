"""Rows of namespaces: what tells those of a namespace from those of a deleted one of the same name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.app.specification import FieldType, StructuredTableSpecification
from localcdap.api.app.table import Bound, Range

NAMESPACE: Final = "namespace"
GENERATION: Final = "generation"


class NamespaceSummary(msgspec.Struct, frozen=True):
    """A namespace, as system applications see it (CDAP 6 ``NamespaceSummary``)."""

    name: str
    description: str
    generation: int
    """Another one for each namespace of this name that there ever was; larger for later ones."""

    @property
    def key(self) -> dict[str, Any]:
        """How the key of each of its rows begins in a :func:`namespaced_table`.

        >>> NamespaceSummary("sales", "", 7).key | {"id": "a"}
        {'namespace': 'sales', 'generation': 7, 'id': 'a'}
        """
        return {NAMESPACE: self.name, GENERATION: self.generation}

    def rows(self, after: Mapping[str, Any] | None = None) -> Range:
        """All of its rows in a :func:`namespaced_table`.

        :param after: only those behind this one: further fields of the key, as of the last row of a page.
        """
        if after is None:
            return Range.singleton(self.key)
        return Range(self.key | dict(after), self.key, Bound.EXCLUSIVE, Bound.INCLUSIVE)


def namespaced_table(
    table: str,
    *,
    fields: Mapping[str, FieldType],
    primary_key: Sequence[str],
    indexes: Collection[str] = (),
) -> StructuredTableSpecification:
    """A table whose rows are in namespaces: its key begins with ``namespace`` and ``generation``.

    Rows of a namespace that is deleted are out of sight at once for whoever looks for them with
    :attr:`NamespaceSummary.key`, and are removed a moment later.

    :param fields: the others.
    :param primary_key: what tells the rows of one namespace apart.
    """
    return StructuredTableSpecification(
        table,
        fields={NAMESPACE: FieldType.STRING, GENERATION: FieldType.LONG, **fields},
        primary_key=[NAMESPACE, GENERATION, *primary_key],
        indexes=indexes,
    )
