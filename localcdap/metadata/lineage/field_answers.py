"""The answers to questions about the fields of a dataset, in the shapes of the REST API.

The rules are those of CDAP 6 ``FieldLineageAdmin`` and ``LineageHTTPHandler`` (``cdap-app-fabric``,
``metadata``), the shapes those of ``cdap-proto`` (``metadata/lineage``).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence, Set

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EndPoint
from localcdap.metadata.lineage.field_lineage import EndPointField
from localcdap.metadata.lineage.pipeline_operations import (
    InputField,
    PlatformOperation,
    PlatformRead,
    PlatformTransform,
)
from localcdap.metadata.lineage.relations import DatasetId, ProgramId, ProgramRunId


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
