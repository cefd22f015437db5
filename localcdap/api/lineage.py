"""Field lineage as the stages of a pipeline record it: which fields an operation reads and makes.

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

from collections.abc import Sequence
from typing import TypeAlias

import msgspec


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
