"""The field lineage of one run of a program: its operations, and what follows from them.

The rules and messages are those of CDAP 6 ``FieldLineageInfo`` (``cdap-data-fabric``,
``data2/metadata/lineage/field``).

Questions about the fields of a dataset are answered in the shapes of the REST API. The rules are those of
CDAP 6 ``FieldLineageAdmin`` and ``LineageHTTPHandler`` (``cdap-app-fabric``, ``metadata``), the shapes those
of ``cdap-proto`` (``metadata/lineage``).
"""

from __future__ import annotations

import enum
import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence, Set

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EndPoint
from localcdap.metadata.lineage.pipeline_operations import (
    InputField,
    PlatformOperation,
    PlatformRead,
    PlatformTransform,
    PlatformWrite,
    get_inputs,
    resolve_operations,
    sort_operations,
)
from localcdap.metadata.lineage.relations import DatasetId, ProgramId, ProgramRunId


class EndPointField(msgspec.Struct, frozen=True):
    """A field of an end point."""

    end_point: EndPoint
    """Without properties: stages that read the same dataset read the same fields."""
    field: str


class FieldLineageInfo:
    """The operations of one run, validated, with summaries of which field comes from which.

    A path from a source to a destination need not exist; the lineage is incomplete then. Equal operations
    have equal checksums, in whatever order they were recorded. Building it takes milliseconds for hundreds of
    operations: do it before the transaction that stores it.

    :param namespace: the namespace of the program, for end points that name none.
    :raises BadRequestError: when names are repeated, an end point, a read or a write is missing, an origin
        does not name an operation, or the operations form a cycle.
    """

    def __init__(
        self, operations: Iterable[PlatformOperation], namespace: str | None = None
    ) -> None:
        self.operations: Sequence[PlatformOperation] = resolve_operations(operations, namespace)
        self._by_name: dict[str, PlatformOperation] = {}
        self._sources: dict[str, EndPoint] = {}
        """The end points of the reads, by the name of the operation; without properties."""
        self._destinations: dict[str, EndPoint] = {}
        for operation in self.operations:
            self._add(operation)
        self._check()
        self._ordered = sort_operations(self.operations)

    @functools.cached_property
    def checksum(self) -> int:
        """A signed number of 64 bits that identifies the operations.

        The original takes the fingerprint of Avro. Nobody sees the number, so this one is cryptographic: with
        it, different operations of the same number cannot be made.
        """
        text = msgspec.json.encode(
            sorted(self.operations, key=lambda each: each.name), order="sorted"
        )
        digest = hashlib.blake2b(text, digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    @property
    def sources(self) -> Set[EndPoint]:
        """The end points that are read."""
        return set(self._sources.values())

    @property
    def destinations(self) -> Set[EndPoint]:
        """The end points that are written."""
        return set(self._destinations.values())

    @functools.cached_property
    def destination_fields(self) -> Mapping[EndPoint, Set[str]]:
        """The fields that are written to each destination."""
        fields: dict[EndPoint, set[str]] = {}
        for name, destination in self._destinations.items():
            written = fields.setdefault(destination, set())
            written.update(each.name for each in get_inputs(self._by_name[name]))
        return fields

    @functools.cached_property
    def incoming_summary(self) -> Mapping[EndPointField, Set[EndPointField]]:
        """For each field of a destination the fields of sources that it was computed from."""
        summary: dict[EndPointField, set[EndPointField]] = {}
        for name, destination in self._destinations.items():
            for each in get_inputs(self._by_name[name]):
                found = summary.setdefault(EndPointField(destination, each.name), set())
                found |= self._find_sources(each)
        return summary

    @functools.cached_property
    def outgoing_summary(self) -> Mapping[EndPointField, Set[EndPointField | None]]:
        """For each field of a source the fields of destinations that were computed from it.

        None is among them when the field, or one computed from it, is dropped.
        """
        summary: dict[EndPointField, set[EndPointField | None]] = {}
        for target, origins in self.incoming_summary.items():
            for origin in origins:
                summary.setdefault(origin, set()).add(target)
        for operation in self.operations:
            if isinstance(operation, PlatformTransform) and not operation.outputs:
                for each in operation.inputs:
                    for origin in self._find_sources(each):
                        summary.setdefault(origin, set()).add(None)
        return summary

    def find_incoming_operations(self, field: EndPointField) -> list[PlatformOperation]:
        """Return the operations that compute a field of a destination, in topological order.

        The search goes back over all inputs of an operation, so it is as coarse as the operations are.
        """
        ahead: list[str] = []
        found: set[str] = set()
        for name, destination in self._destinations.items():
            if destination != field.end_point:
                continue
            inputs = [i for i in get_inputs(self._by_name[name]) if i.name == field.field]
            if inputs:
                found.add(name)
                ahead.extend(each.origin for each in inputs)
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.add(name)
                ahead.extend(each.origin for each in get_inputs(self._by_name[name]))
        return self._order(found)

    def find_outgoing_operations(self, field: EndPointField) -> list[PlatformOperation]:
        """Return the operations that use a field of a source, in topological order.

        The first step follows only operations that take this field; from there on all consumers.
        """
        found: set[str] = set()
        ahead: list[str] = []
        for name, source in self._sources.items():
            read = self._by_name[name]
            if source != field.end_point or not isinstance(read, PlatformRead):
                continue
            if field.field in read.outputs:
                found.add(name)
                taken = InputField(name, field.field)
                consumers = self._consumers.get(name, [])
                ahead.extend(c for c in consumers if taken in get_inputs(self._by_name[c]))
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.add(name)
                ahead.extend(self._consumers.get(name, []))
        return self._order(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldLineageInfo) and self.checksum == other.checksum

    def __hash__(self) -> int:
        return self.checksum

    def _add(self, operation: PlatformOperation) -> None:
        if operation.name in self._by_name:
            raise BadRequestError(
                "All operations provided for creating field level lineage info must have unique names. "
                f"Operation name '{operation.name}' is repeated."
            )
        self._by_name[operation.name] = operation
        if isinstance(operation, PlatformRead):
            if operation.source is None:
                raise BadRequestError(
                    f"Source endpoint cannot be null for the read operation '{operation.name}'."
                )
            self._sources[operation.name] = remove_properties(operation.source)
        if isinstance(operation, PlatformWrite):
            if operation.destination is None:
                raise BadRequestError(
                    f"Destination endpoint cannot be null for the write operation '{operation.name}'."
                )
            self._destinations[operation.name] = remove_properties(operation.destination)

    def _check(self) -> None:
        for found, type in ((self._sources, "READ"), (self._destinations, "WRITE")):
            if not found:
                raise BadRequestError(
                    f"Field level lineage requires at least one operation of type '{type}'."
                )
        origins = [each.origin for o in self.operations for each in get_inputs(o)]
        missing = [name for name in dict.fromkeys(origins) if name not in self._by_name]
        if missing:
            raise BadRequestError(
                f"No operation is associated with the origins '[{', '.join(missing)}]'."
            )

    @functools.cached_property
    def _consumers(self) -> dict[str, list[str]]:
        """The names of the operations that take outputs of each operation."""
        consumers: dict[str, list[str]] = {}
        for operation in self.operations:
            for origin in dict.fromkeys(each.origin for each in get_inputs(operation)):
                consumers.setdefault(origin, []).append(operation.name)
        return consumers

    @functools.cached_property
    def _transform_sources(self) -> dict[str, set[EndPointField]]:
        """The fields of sources that each transformation depends on, by its name."""
        found: dict[str, set[EndPointField]] = {}
        for operation in self._ordered:
            if isinstance(operation, PlatformTransform):
                found[operation.name] = set()
                for origin in {each.origin for each in operation.inputs} & found.keys():
                    found[operation.name] |= found[origin]
                for each in operation.inputs:
                    if each.origin in self._sources:
                        source = EndPointField(self._sources[each.origin], each.name)
                        found[operation.name].add(source)
        return found

    def _find_sources(self, taken: InputField) -> set[EndPointField]:
        if taken.origin in self._sources:
            return {EndPointField(self._sources[taken.origin], taken.name)}
        return self._transform_sources.get(taken.origin, set())

    def _order(self, names: Set[str]) -> list[PlatformOperation]:
        return [operation for operation in self._ordered if operation.name in names]


def remove_properties(end_point: EndPoint) -> EndPoint:
    """Return what identifies an end point: its name and namespace."""
    return EndPoint(end_point.name, end_point.namespace)


class Direction(enum.StrEnum):
    """Where from, where to, or both."""

    INCOMING = "incoming"
    OUTGOING = "outgoing"
    BOTH = "both"

    @property
    def is_incoming(self) -> bool:
        """Whether it asks where fields come from."""
        return self is not Direction.OUTGOING

    @property
    def is_outgoing(self) -> bool:
        """Whether it asks where fields go to."""
        return self is not Direction.INCOMING


class LineageField(msgspec.Struct, frozen=True):
    """A field of a dataset."""

    name: str
    lineage: bool
    """Whether lineage is known of it; otherwise only the schema has it."""


class DatasetFields(msgspec.Struct, frozen=True):
    """Fields of one dataset, in alphabetical order."""

    dataset: DatasetId
    fields: list[str]


class FieldLineageSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a field comes from and what comes from it; a direction that was not asked for is absent."""

    incoming: list[DatasetFields] | None = None
    outgoing: list[DatasetFields] | None = None


class ProgramInfo(msgspec.Struct, frozen=True, rename="camel"):
    """A program and its latest run."""

    program: ProgramId
    last_executed_time_in_seconds: int


class OperationInput(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What an operation takes: an end point, or fields."""

    end_point: EndPoint | None = None
    fields: list[InputField] | None = None


class OperationOutput(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What an operation makes: fields, or an end point."""

    end_point: EndPoint | None = None
    fields: list[str] | None = None


class OperationInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """An operation as the REST API has it."""

    name: str
    description: str
    inputs: OperationInput
    outputs: OperationOutput
    assumed: bool = False
    """Whether the stage recorded nothing; the original has no such key."""


class ProgramOperations(msgspec.Struct, frozen=True):
    """One way in which a field was computed."""

    programs: list[ProgramInfo]
    """The programs that did so, the latest first."""
    operations: list[OperationInfo]
    """In topological order."""


class FieldLineageDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """The operations that compute a field and that use it; a direction that was not asked for is absent."""

    incoming: list[ProgramOperations] | None = None
    outgoing: list[ProgramOperations] | None = None


class FieldRelation(msgspec.Struct, frozen=True, order=True):
    """A field of one dataset that a field of another one comes from."""

    source: str
    destination: str


class FieldLineageRelations(msgspec.Struct, frozen=True, rename="camel"):
    """The relations between the fields of a dataset and those of another one."""

    entity_id: DatasetId
    """The other dataset."""
    field_count: int
    """The number of its fields of which lineage is known."""
    relations: list[FieldRelation]


class DatasetFieldLineage(msgspec.Struct, frozen=True, rename="camel"):
    """The field lineage of all fields of a dataset (CDAP 6 ``DatasetFieldLineageSummary``)."""

    direction: str
    """INCOMING, OUTGOING or BOTH."""
    start: int = msgspec.field(name="start-ts")
    """Milliseconds since 1970."""
    end: int = msgspec.field(name="end-ts")
    entity_id: DatasetId
    fields: list[str]
    incoming: list[FieldLineageRelations]
    outgoing: list[FieldLineageRelations]


def parse_direction(word: str | None) -> Direction:
    """Return the direction of a word, in any case.

    :raises BadRequestError: when it is missing or no direction.
    """
    try:
        return Direction((word or "").lower())
    except ValueError:
        raise BadRequestError(
            "Direction must be specified to get the field lineage summary and should be one of the "
            "following: [incoming, outgoing, both]."
        ) from None


def list_fields(
    lineage: Set[str], schema: Iterable[str] = (), prefix: str | None = None
) -> list[LineageField]:
    """Return the fields of which lineage is known, and those that only the schema has, by name.

    :param prefix: only fields that begin so, in any case.
    """
    fields = {name: LineageField(name, name in lineage) for name in (*lineage, *schema)}
    wanted = (prefix or "").lower()
    return [fields[name] for name in sorted(fields) if name.lower().startswith(wanted)]


def group_fields(fields: Iterable[EndPointField | None]) -> list[DatasetFields]:
    """Return fields by their datasets; drops are left out."""
    return [
        DatasetFields(dataset, sorted(names))
        for dataset, names in sorted(_by_dataset(fields).items())
    ]


def relate_fields(
    summaries: Mapping[str, Set[EndPointField | None]],
    counts: Mapping[EndPoint, int],
    *,
    incoming: bool,
) -> list[FieldLineageRelations]:
    """Return the relations of fields to those of other datasets.

    :param summaries: the fields on the other side, by field.
    :param counts: the number of fields of the other datasets, as end points without properties.
    :param incoming: whether the other side is the source.
    """
    relations: dict[DatasetId, list[FieldRelation]] = {}
    for field, others in summaries.items():
        for dataset, names in _by_dataset(others).items():
            relations.setdefault(dataset, []).extend(
                FieldRelation(name, field) if incoming else FieldRelation(field, name)
                for name in names
            )
    return [
        FieldLineageRelations(dataset, counts.get(to_end_point(dataset), 0), sorted(found))
        for dataset, found in sorted(relations.items())
    ]


def describe_programs(runs: Iterable[ProgramRunId]) -> list[ProgramInfo]:
    """Return the programs of runs with their latest run, the latest first."""
    latest: dict[ProgramId, int] = {}
    for run in runs:
        latest[run.program] = max(latest.get(run.program, 0), run.start // 1_000)
    ordered = sorted(latest, key=lambda program: (-latest[program], program))
    return [ProgramInfo(program, latest[program]) for program in ordered]


def describe_operations(operations: Sequence[PlatformOperation]) -> list[OperationInfo]:
    """Return operations as the REST API has them."""
    return [_describe_operation(operation) for operation in operations]


def _describe_operation(operation: PlatformOperation) -> OperationInfo:
    name, description = operation.name, operation.description
    if isinstance(operation, PlatformRead):
        read = OperationInput(end_point=operation.source)
        return OperationInfo(
            name, description, read, OperationOutput(fields=list(operation.outputs))
        )
    inputs = OperationInput(fields=list(operation.inputs))
    if isinstance(operation, PlatformTransform):
        outputs = OperationOutput(fields=list(operation.outputs))
        return OperationInfo(name, description, inputs, outputs, operation.assumed)
    return OperationInfo(
        name, description, inputs, OperationOutput(end_point=operation.destination)
    )


def to_end_point(dataset: DatasetId) -> EndPoint:
    """Return a dataset as an end point without properties."""
    return EndPoint(dataset.dataset, dataset.namespace)


def _by_dataset(fields: Iterable[EndPointField | None]) -> dict[DatasetId, set[str]]:
    found: dict[DatasetId, set[str]] = {}
    for each in fields:
        if each is not None:
            dataset = DatasetId(each.end_point.namespace or "", each.end_point.name)
            found.setdefault(dataset, set()).add(each.field)
    return found
