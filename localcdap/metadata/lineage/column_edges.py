"""Exact edges between columns: what a field is computed from, and what else has influence on it.

The kinds are those of OpenLineage (``ColumnLineageDatasetFacet`` 1-2-0, ``transformations``). An edge to all
fields of a dataset, such as that of a filter, corresponds to the facet's key ``dataset``.
"""

from __future__ import annotations

from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EdgeKind, EdgeType
from localcdap.metadata.lineage.field_lineage import EndPointField, FieldLineageInfo
from localcdap.metadata.lineage.pipeline_operations import PlatformTransform
from localcdap.metadata.lineage.relations import DatasetId

_ORDER: Final = {kind: number for number, kind in enumerate(EdgeKind)}


class Influence(msgspec.Struct, frozen=True, order=True):
    """How one field influences another."""

    kind: EdgeKind = EdgeKind.IDENTITY
    masking: bool = False
    """Whether the original value cannot be seen any more, as after a hash or a count."""
    assumed: bool = False
    """Whether nothing is known of a stage on the path, so that the influence is only possible."""

    def extend(self, next: Influence) -> Influence:
        """Return the influence of a on c, if this one is of a on b, and ``next`` of b on c.

        The rule is that of OpenLineage ``TransformationInfo.merge`` (``integration/spark``): the first
        INDIRECT kind wins, then AGGREGATION, then TRANSFORMATION; masking anywhere masks.
        """
        kind = self.kind
        if kind.type is EdgeType.DIRECT and _ORDER[next.kind] < _ORDER[kind]:
            kind = next.kind
        return Influence(kind, self.masking or next.masking, self.assumed or next.assumed)


IDENTITY: Final = Influence()


class DatasetField(msgspec.Struct, frozen=True):
    """A field of a dataset, or all of its fields."""

    dataset: DatasetId
    field: str | None = None
    """None: all fields."""


class ColumnEdge(msgspec.Struct, frozen=True):
    """A field of a dataset that influences a field, or all fields, of another dataset.

    :raises BadRequestError: when an edge from all fields, or a direct edge to all fields, is given.
    """

    source: DatasetField
    target: DatasetField
    influence: Influence = IDENTITY

    def __post_init__(self) -> None:
        if self.source.field is None:
            raise BadRequestError(f"An edge to {self.target} names no source field.")
        if self.target.field is None and self.influence.kind.type is EdgeType.DIRECT:
            raise BadRequestError(
                f"The edge from field '{self.source.field}' to all fields of '{self.target.dataset.dataset}' "
                f"is {self.influence.kind}; only indirect edges lead to all fields."
            )


def read_operation_edges(info: FieldLineageInfo) -> list[ColumnEdge]:
    """Return the edges that recorded operations stand for, where nothing more exact is known.

    A field that is written as it was read is IDENTITY, all others are TRANSFORMATION. Edges through an
    operation that was generated for a stage without records are assumed. The end points name their namespace.
    """
    edges = []
    for target, sources in info.incoming_summary.items():
        between = [
            operation
            for operation in info.find_incoming_operations(target)
            if isinstance(operation, PlatformTransform)
        ]
        assumed = any(operation.assumed for operation in between)
        kind = EdgeKind.TRANSFORMATION if between else EdgeKind.IDENTITY
        edges += [
            ColumnEdge(_to_field(source), _to_field(target), Influence(kind, assumed=assumed))
            for source in sources
        ]
    return edges


def _to_field(field: EndPointField) -> DatasetField:
    dataset = DatasetId(field.end_point.namespace or "", field.end_point.name)
    return DatasetField(dataset, field.field)


SAME_DATA = "same data"
"""Stands between two names of one dataset."""
ALL_FIELDS = "*"
"""Stands for all fields of a dataset."""


def describe_influence(influence: Influence) -> str:
    """Return how one field influences another, in words.

    >>> describe_influence(Influence())
    'direct: identity'
    """
    kind = influence.kind.value.lower().replace("_", " ")
    marks = ["masking"] * influence.masking + ["assumed"] * influence.assumed
    said = f"{influence.kind.type.value.lower()}: {kind}"
    return f"{said} ({', '.join(marks)})" if marks else said


def format_field(field: DatasetField, namespace: str) -> str:
    """Return the dataset and the field, ``orders.email``; all fields are ``orders.*``.

    :param namespace: the namespace that is not named.
    """
    dataset = field.dataset
    where = "" if dataset.namespace == namespace else f"{dataset.namespace}:"
    return f"{where}{dataset.dataset}.{ALL_FIELDS if field.field is None else field.field}"
