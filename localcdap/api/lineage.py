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

A plugin records with a :class:`LineageRecorder`. Its operations are those of CDAP 6 (``cdap-etl-api``,
``etl/api/lineage/field/LineageRecorder``); the edges say more: each output field has its own, and influences,
such as that of a filter, have a kind.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema
from localcdap.api.tables import KEY, VALUE, TableShape

if TYPE_CHECKING:
    from localcdap.api.stage import StageConfigurer


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


InputField: TypeAlias = str | tuple[str, str]
"""A field that a stage receives: its name, or the input stage and its name, as in joiners."""
_KEY_VALUES: Final = TableShape(
    Schema.record("row", [(KEY, Schema.STRING), (VALUE, Schema.STRING)])
)


class LineageRecorder:
    """Takes the operations and edges of one stage.

    >>> from localcdap.api.stage import StageConfigurer
    >>> orders = Schema.record("orders", [("id", Schema.INT), ("net", Schema.INT)])
    >>> stage = StageConfigurer("sum", {"orders": orders})
    >>> stage.output_schema = Schema.record("sum", [("id", Schema.INT), ("gross", Schema.INT)])
    >>> lineage = LineageRecorder(stage)
    >>> lineage.derive("gross", ["net"])
    >>> [(edge.source, edge.field, edge.kind.value) for edge in lineage.list_edges()]
    [('net', 'gross', 'TRANSFORMATION'), ('id', 'id', 'IDENTITY')]

    An output field that nothing was recorded for keeps the value of the input field of the same name.

    :param stage: the stage after it was configured.
    """

    def __init__(self, stage: StageConfigurer) -> None:
        self.stage = stage
        self.inputs: dict[str, list[str]] = {
            name: _list_names(schema) for name, schema in stage.input_schemas.items()
        }
        """The fields by input stage; none for an unknown schema."""
        schemas = [stage.output_schema, *stage.port_schemas.values()]
        self.outputs = list(dict.fromkeys(n for schema in schemas for n in _list_names(schema)))
        """The output fields; those of all ports of a splitter."""
        self.operations: list[FieldOperation] = []
        self.datasets: list[str] = []
        """The datasets that a source reads or a sink writes, such as the table of its configuration, where it
        has no reference name. Of a run, what it really uses counts instead."""
        self._edges: dict[FieldEdge, None] = {}
        self._generated: set[str] = set()

    @property
    def input_fields(self) -> list[str]:
        """The names of the fields of all inputs, each once."""
        return list(dict.fromkeys(name for names in self.inputs.values() for name in names))

    def record(self, *operations: FieldOperation) -> None:
        """Record operations, in their order.

        Where a plugin records nothing but operations, the edges follow from them: each output of an operation
        depends on each of its inputs.
        """
        self.operations.extend(operations)

    def derive(
        self,
        outputs: str | Sequence[str],
        inputs: Iterable[InputField],
        name: str | None = None,
        description: str = "",
        *,
        kind: EdgeKind = EdgeKind.TRANSFORMATION,
        masking: bool = False,
    ) -> None:
        """Record that fields are computed from others, each of all of them, as an operation and as edges.

        :param outputs: one field or several; nothing is recorded for an empty list.
        :param inputs: none for fields that are generated from nothing.
        :param name: of the operation, distinct in the stage; by default the kind with the first field.
        :param kind: one of the direct kinds.
        :raises BadRequestError: for an indirect kind.
        """
        if kind.type is not EdgeType.DIRECT:
            raise BadRequestError(f"A field is not derived by {kind}; record an influence.")
        given = list(dict.fromkeys(inputs))
        made = [outputs] if isinstance(outputs, str) else list(outputs)
        if not made:
            return
        shown = name or f"{kind.value.capitalize()} {made[0]}"
        taken = [each if isinstance(each, str) else ".".join(each) for each in given]
        self.operations.append(FieldTransformOperation(shown, description, taken, made))
        self.add_edges(_to_edge(each, output, kind, masking) for output in made for each in given)
        if not given:
            self._generated.update(made)

    def keep(self, output: str, source: InputField, name: str | None = None) -> None:
        """Record that a field has the unchanged value of another one; with a name as an operation too."""
        if name is None:
            self.add_edges([_to_edge(source, output, EdgeKind.IDENTITY)])
        else:
            self.derive(output, [source], name, kind=EdgeKind.IDENTITY)

    def drop(self, field: str, name: str) -> None:
        """Record the operation that drops a field."""
        self.operations.append(FieldTransformOperation(name, "", [field]))

    def influence(
        self, kind: EdgeKind, inputs: Iterable[InputField], output: str | None = None
    ) -> None:
        """Record that fields decide about an output field, or about which records there are.

        :param kind: one of the indirect kinds.
        :param output: None for the records.
        :raises BadRequestError: for a direct kind.
        """
        if kind.type is not EdgeType.INDIRECT:
            raise BadRequestError(f"{kind} is not an influence; derive the field.")
        self.add_edges(_to_edge(each, output, kind) for each in inputs)

    def find_table(self, name: str) -> TableShape:
        """Return the columns of a table of the namespace; those of a key-value table while there is none."""
        return self.stage.find_table(name) or _KEY_VALUES

    def look_up(
        self,
        output: str,
        table: str,
        columns: Iterable[str] | None = None,
        key: str | None = None,
    ) -> None:
        """Record that a field has values of a table, in the row with some key.

        The field that holds the key is an input like others: derive the output from it.

        :param columns: of the table; None: all, without the key.
        :param key: the column that is compared; None: that of lookups, see :attr:`TableShape.lookup_key`.
        """
        self.add_edges(build_lookup_edges(output, table, self.find_table(table), columns, key))

    def generate(self, *outputs: str) -> None:
        """Record that fields depend on the inputs of recorded edges only, not on those of their names."""
        self._generated.update(outputs)

    def add_edges(self, edges: Iterable[FieldEdge]) -> None:
        """Record edges as they are."""
        self._edges.update(dict.fromkeys(edges))

    @property
    def has_edges(self) -> bool:
        """Whether edges were recorded: they do not follow from the operations then."""
        return bool(self._edges or self._generated)

    def list_edges(self) -> list[FieldEdge]:
        """Return all edges: what was recorded, and what follows from it."""
        edges = dict(self._edges)
        if self.operations and not self.has_edges:
            edges = dict.fromkeys(self._read_operations())
        made = {edge.field for edge in edges} | self._generated | self._list_made()
        for output in self.outputs:
            if output not in made and any(output in names for names in self.inputs.values()):
                edges[FieldEdge(output, output, EdgeKind.IDENTITY)] = None
        return list(edges)

    def _list_made(self) -> set[str]:
        """Return the fields that recorded operations make, also those that are made from nothing."""
        return {
            field
            for operation in self.operations
            if isinstance(operation, FieldTransformOperation)
            for field in operation.output_fields
        }

    def _read_operations(self) -> Iterable[FieldEdge]:
        """Return the edges that the recorded operations stand for."""
        origins: dict[str, set[FieldEdge]] = {}
        for stage, names in self.inputs.items():
            for name in names:
                joined = FieldEdge(name, kind=EdgeKind.IDENTITY, stage=stage)
                origins[f"{stage}.{name}"] = {joined}
                origins.setdefault(name, {FieldEdge(name, kind=EdgeKind.IDENTITY)})
        for operation in self.operations:
            if isinstance(operation, FieldTransformOperation):
                taken = [origins.get(each, set()) for each in operation.input_fields]
                found = set().union(*taken)
                made = {replace(each, kind=EdgeKind.TRANSFORMATION) for each in found}
                origins.update(dict.fromkeys(operation.output_fields, made))
        for output in self.outputs:
            for each in sorted(origins.get(output, ()), key=repr):
                yield replace(each, field=output)


def build_lookup_edges(
    output: str | None,
    table: str,
    shape: TableShape,
    columns: Iterable[str] | None = None,
    key: str | None = None,
    *,
    assumed: bool = False,
) -> list[FieldEdge]:
    """Return the edges from the columns of a table to a field, see :meth:`LineageRecorder.look_up`.

    The key decides which row is found, so that its influence is indirect.

    :param assumed: whether it is not known that the field comes from the table.
    """
    found = key or shape.lookup_key
    taken = [name for name in shape.schema.field_names if name != found]
    edges = [
        FieldEdge(column, output, dataset=table, assumed=assumed)
        for column in (taken if columns is None else columns)
    ]
    if found is not None:
        edges.append(FieldEdge(found, output, EdgeKind.JOIN, dataset=table, assumed=assumed))
    return edges


def assume_edges(inputs: Mapping[str, Sequence[str]], outputs: Sequence[str]) -> list[FieldEdge]:
    """Return the edges of a stage of which nothing is known.

    Each output field may come from all input fields, and each input field may decide which records there are.

    :param inputs: the fields by input stage.
    """
    taken = [(stage, field) for stage, fields in inputs.items() for field in fields]
    values = (
        FieldEdge(field, output, EdgeKind.TRANSFORMATION, stage, assumed=True)
        for output in outputs
        for stage, field in taken
    )
    records = (
        FieldEdge(field, None, EdgeKind.FILTER, stage, assumed=True) for stage, field in taken
    )
    return [*values, *records]


def _to_edge(
    given: InputField, output: str | None, kind: EdgeKind, masking: bool = False
) -> FieldEdge:
    stage, source = (None, given) if isinstance(given, str) else given
    return FieldEdge(source, output, kind, stage, masking=masking)


def _list_names(schema: Schema | None) -> list[str]:
    return [] if schema is None else schema.field_names
