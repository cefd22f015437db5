"""Field lineage as the stages of a pipeline record it: which fields an operation reads and makes, and which
fields a field depends on.

>>> orders = EndPoint("orders", "default")
>>> read = FieldReadOperation("Read", "Read from orders.", orders, ["id", "name"])
>>> rename = FieldTransformOperation("Rename name", "", ["name"], ["customer"])
>>> drop = FieldTransformOperation("Drop id", "", ["id"])
>>> write = FieldWriteOperation("Write", "Wrote to customers.", EndPoint("customers"), ["customer"])

The rules are those of CDAP 6: ``cdap-etl-api`` (``etl/api/lineage/field/FieldOperation`` and its subclasses)
and ``cdap-api`` (``lineage/field/EndPoint``). The names of the operations of one stage are distinct. The
inputs of an operation are fields that the stage receives, or outputs of its earlier operations; the inputs of
a joiner are written ``<input stage>.<field>``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

REFERENCE_NAME: Final = "referenceName"
"""The property by which the original names the dataset of a source or sink (``LineageRecorder``)."""
DATASET_NAME: Final = "name"
"""The property that names the dataset of the original's plugins for datasets, such as Table and TPFSAvro."""


def find_dataset_name(properties: Mapping[str, str]) -> str | None:
    """Return the dataset that the properties of a source or sink name; None when they name none."""
    named = (properties.get(key, "").strip() for key in (REFERENCE_NAME, DATASET_NAME))
    return next(filter(None, named), None)


class EndPoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """A source or destination of data outside the pipeline, such as a dataset, a file or a table."""

    name: str
    """The name of the dataset; for files and other systems the reference name of the stage."""
    namespace: str | None = None
    """None: the namespace in which the program runs."""
    properties: dict[str, str] = {}
    """What else is known, such as ``fqn``, ``location`` and ``stageName``. Stages that read or write several
    tables tell these apart by ``marker``."""

    def __hash__(self) -> int:
        return hash((self.name, self.namespace, frozenset(self.properties.items())))


class FieldReadOperation(msgspec.Struct, frozen=True, rename="camel", tag_field="type", tag="READ"):
    """Fields that a stage reads from an end point."""

    name: str
    """Distinct among the operations of the stage."""
    description: str
    source: EndPoint
    output_fields: Sequence[str]


class FieldTransformOperation(
    msgspec.Struct, frozen=True, rename="camel", tag_field="type", tag="TRANSFORM"
):
    """Fields that a stage computes from other fields."""

    name: str
    description: str
    input_fields: Sequence[str]
    """Empty for fields that are generated from nothing, such as a constant."""
    output_fields: Sequence[str] = ()
    """Empty: the input fields are dropped."""
    assumed: bool = False
    """Whether nothing is known of the operation, and every output may depend on every input."""


class FieldWriteOperation(
    msgspec.Struct, frozen=True, rename="camel", tag_field="type", tag="WRITE"
):
    """Fields that a stage writes to an end point."""

    name: str
    description: str
    sink: EndPoint
    input_fields: Sequence[str]


FieldOperation: TypeAlias = FieldReadOperation | FieldTransformOperation | FieldWriteOperation
"""An operation that a stage records. Its JSON has a key ``type``: READ, TRANSFORM or WRITE."""


class EdgeType(enum.StrEnum):
    """Whether a field's value goes into another field's value, or decides about it in another way."""

    DIRECT = "DIRECT"
    INDIRECT = "INDIRECT"


class EdgeKind(enum.StrEnum):
    """How a field influences another one; in the order in which one wins over the next on a path.

    The kinds are those of OpenLineage (``ColumnLineageDatasetFacet`` 1-2-0, ``transformations``).
    """

    JOIN = "JOIN"
    """It decides which records are joined."""
    GROUP_BY = "GROUP_BY"
    """It decides which records are aggregated."""
    FILTER = "FILTER"
    """It decides which records are kept."""
    SORT = "SORT"
    WINDOW = "WINDOW"
    CONDITIONAL = "CONDITIONAL"
    """It decides which of several values a field gets."""
    AGGREGATION = "AGGREGATION"
    TRANSFORMATION = "TRANSFORMATION"
    IDENTITY = "IDENTITY"
    """The value is unchanged."""

    @property
    def type(self) -> EdgeType:
        """DIRECT for the last three, otherwise INDIRECT."""
        return EdgeType.DIRECT if self in _DIRECT else EdgeType.INDIRECT


_DIRECT: Final = (EdgeKind.AGGREGATION, EdgeKind.TRANSFORMATION, EdgeKind.IDENTITY)


class FieldEdge(msgspec.Struct, frozen=True, omit_defaults=True):
    """A field that one stage receives, or reads from a dataset, and that influences its output."""

    source: str
    """The name of the field that influences."""
    field: str | None = None
    """The output field. None: it decides which records there are, or their order; only for indirect kinds."""
    kind: EdgeKind = EdgeKind.TRANSFORMATION
    stage: str | None = None
    """The input stage; None: each input stage that has the field."""
    dataset: str | None = None
    """The dataset that the field is read from, such as the table of a lookup, instead of an input stage."""
    masking: bool = False
    """Whether the original value cannot be seen any more, as after a hash or a count."""
    assumed: bool = False
    """Whether nothing is known of the stage, so that the influence is only possible."""


class StageLineage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The field lineage of one stage, before the lineage of the pipeline is made of it."""

    stage: str
    type: str
    """The plugin type."""
    operations: Sequence[FieldOperation]
    edges: Sequence[FieldEdge]
    inputs: Mapping[str, Sequence[str]] = {}
    """The fields by input stage; for an error transform, those of the error records."""
    outputs: Sequence[str] = ()
    """The output fields; those of all ports of a splitter. Empty for a sink."""
    datasets: Sequence[str] = ()
    """The datasets that a source reads, or a sink writes."""
    derived: bool = False
    """Whether the edges follow from the operations, which are checked then."""
    places: Sequence[str] = ()
    """Where the data of its datasets lies, as texts that are equal for equal places; empty: not known."""
    tables: Sequence[str] = ()
    """The tables whose columns its plugin asked for, such as those of lookups."""
