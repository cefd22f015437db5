"""Platform operations of a pipeline, made from the operations that its stages record.

The rules are those of CDAP 6 ``LineageOperationsProcessor`` (``cdap-etl-core``, ``etl/lineage``), with these
differences, which matter where the original loses lineage:

* A field of a joiner's input is looked for in that input only. The original goes on in the other inputs.
* A field that passes several merges without being recorded is followed through all of them.
* A transformation of a field that several marked operations make takes all of them; the original takes none.
* Operations of one stage with the same name get numbers; the original keeps the last one.

The operations that one stage records are checked; findings are warnings, they stop nothing. The rules and
messages are those of CDAP 6 ``StageOperationsValidator`` and ``InvalidLineageException``
(``cdap-etl-core``, ``etl/lineage``).

The inputs of a platform operation name the operation that made each field. Their names are distinct in a
pipeline (CDAP 6 ``cdap-api``, ``lineage/field/Operation`` and subclasses).
"""

from __future__ import annotations

import graphlib
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import (
    EndPoint,
    FieldOperation,
    FieldReadOperation,
    FieldTransformOperation,
)
from localcdap.api.pipeline import StageConnection


class InputField(msgspec.Struct, frozen=True):
    """A field that an operation takes, with the operation that made it."""

    origin: str
    """The name of an operation."""
    name: str


class PlatformRead(msgspec.Struct, frozen=True, tag_field="type", tag="READ"):
    """Fields read from an end point."""

    name: str
    description: str
    source: EndPoint | None
    """None is invalid, see :class:`localcdap.metadata.lineage.field_lineage.FieldLineageInfo`."""
    outputs: tuple[str, ...]


class PlatformTransform(
    msgspec.Struct, frozen=True, tag_field="type", tag="TRANSFORM", omit_defaults=True
):
    """Fields computed from other fields; without outputs, the inputs are dropped."""

    name: str
    description: str
    inputs: tuple[InputField, ...]
    outputs: tuple[str, ...] = ()
    assumed: bool = False
    """Whether the stage recorded nothing, so that every output may depend on every input."""


class PlatformWrite(msgspec.Struct, frozen=True, tag_field="type", tag="WRITE"):
    """Fields written to an end point."""

    name: str
    description: str
    destination: EndPoint | None
    """None is invalid."""
    inputs: tuple[InputField, ...]


PlatformOperation: TypeAlias = PlatformRead | PlatformTransform | PlatformWrite


def get_inputs(operation: PlatformOperation) -> tuple[InputField, ...]:
    """Return the fields that an operation takes; a read takes none."""
    return () if isinstance(operation, PlatformRead) else operation.inputs


def resolve_operations(
    operations: Iterable[PlatformOperation], namespace: str | None
) -> list[PlatformOperation]:
    """Return the operations with the namespace of the program, if any, in end points that name none."""
    if namespace is None:
        return list(operations)
    return [_resolve(operation, namespace) for operation in operations]


def _resolve(operation: PlatformOperation, namespace: str) -> PlatformOperation:
    if isinstance(operation, PlatformRead):
        if operation.source is None or operation.source.namespace is not None:
            return operation
        source = msgspec.structs.replace(operation.source, namespace=namespace)
        return msgspec.structs.replace(operation, source=source)
    if isinstance(operation, PlatformWrite):
        if operation.destination is None or operation.destination.namespace is not None:
            return operation
        destination = msgspec.structs.replace(operation.destination, namespace=namespace)
        return msgspec.structs.replace(operation, destination=destination)
    return operation


def sort_operations(operations: Iterable[PlatformOperation]) -> list[PlatformOperation]:
    """Return the operations in topological order: each one after those whose outputs it takes.

    Origins that are not among the operations are ignored. Reads come first, else the given order decides.
    The rule and the message are those of CDAP 6 ``FieldLineageInfo.getTopologicallySortedOperations``.

    :raises BadRequestError: when the operations form a cycle.
    """
    by_name = {operation.name: operation for operation in operations}
    consumers: dict[str, list[str]] = {name: [] for name in by_name}
    waiting: dict[str, int] = {}
    for name, operation in by_name.items():
        origins = {each.origin: None for each in get_inputs(operation) if each.origin in by_name}
        waiting[name] = len(origins)
        for origin in origins:
            consumers[origin].append(name)
    starts = [name for name, count in waiting.items() if not count]
    starts.sort(key=lambda name: not isinstance(by_name[name], PlatformRead))
    ready = deque(starts)
    ordered: list[PlatformOperation] = []
    while ready:
        name = ready.popleft()
        ordered.append(by_name[name])
        for consumer in consumers.pop(name):
            waiting[consumer] -= 1
            if not waiting[consumer]:
                ready.append(consumer)
    if len(ordered) < len(by_name):
        raise BadRequestError(
            f"Cycle detected in graph for operations {_format_edges(consumers)}",
            "Let each operation take only outputs of operations before it.",
        )
    return ordered


def _format_edges(consumers: Mapping[str, Sequence[str]]) -> str:
    parts = (f"{name}=[{', '.join(targets)}]" for name, targets in consumers.items() if targets)
    return f"{{{', '.join(parts)}}}"


_Operations = dict[str, list[str]]
"""The names of operations, by field."""


class StageOperationsCheck(msgspec.Struct, frozen=True, rename="camel"):
    """What is wrong with the operations of a stage."""

    invalid_inputs: _Operations = {}
    """Fields that an operation takes although the stage does not receive them and no earlier operation makes
    them: the names of the operations."""
    redundant_outputs: _Operations = {}
    """Fields that are made again before any operation took them: the operations whose output is lost."""
    repeated_names: list[str] = []
    """The names that several operations have, each once."""

    @property
    def is_valid(self) -> bool:
        """Whether nothing was found but redundant outputs, which are ignored."""
        return not self.invalid_inputs and not self.repeated_names


def check_stage_operations(
    operations: Sequence[FieldOperation], stage_inputs: Iterable[str]
) -> StageOperationsCheck:
    """Check the operations of a stage in their order.

    A transformation without inputs or without outputs is not checked, as in the original.

    :param stage_inputs: the fields that the stage receives; those of a joiner as ``<stage>.<field>``.
    """
    known = set(stage_inputs)
    unused: _Operations = {}
    invalid: _Operations = {}
    redundant: _Operations = {}
    for operation in operations:
        inputs, outputs = _get_fields(operation)
        if isinstance(operation, FieldTransformOperation) and not (inputs and outputs):
            continue
        for field in inputs:
            if field not in known:
                invalid.setdefault(field, []).append(operation.name)
        for field in inputs:
            _note_redundant(redundant, field, unused.pop(field, []))
        known.update(outputs)
        for field in outputs:
            unused.setdefault(field, []).append(operation.name)
    for field, origins in unused.items():
        _note_redundant(redundant, field, origins)
    names = [operation.name for operation in operations]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    return StageOperationsCheck(invalid, redundant, repeated)


def describe_checks(checks: Mapping[str, StageOperationsCheck]) -> list[str]:
    """Return the warnings for the stages of a pipeline, by the name of the stage."""
    messages = []
    invalid = {
        stage: check.invalid_inputs for stage, check in checks.items() if check.invalid_inputs
    }
    if invalid:
        stages = ", ".join(
            f"<stage:{stage}, {_describe(found)}>" for stage, found in invalid.items()
        )
        messages.append(
            "Inputs of following operations are neither part of the input schema of a stage nor are "
            f"generated by any previous operations recorded by that stage: {stages}. "
        )
    redundant = {
        s: check.redundant_outputs for s, check in checks.items() if check.redundant_outputs
    }
    if redundant:
        stages = ", ".join(
            f"<stage:{stage}, {_describe(found)}>" for stage, found in redundant.items()
        )
        messages.append(f"The pipeline has redundant operations {stages} and they will be ignored")
    messages += [
        f"Stage '{stage}' records several operations with the name '{name}'; they get numbers."
        for stage, check in checks.items()
        for name in check.repeated_names
    ]
    return messages


def _get_fields(operation: FieldOperation) -> tuple[Sequence[str], Sequence[str]]:
    """Return the input and output fields of an operation."""
    if isinstance(operation, FieldReadOperation):
        return (), operation.output_fields
    if isinstance(operation, FieldTransformOperation):
        return operation.input_fields, operation.output_fields
    return operation.input_fields, ()


def _note_redundant(redundant: _Operations, field: str, origins: Sequence[str]) -> None:
    """Note all operations that made a field but the last one."""
    if len(origins) > 1:
        redundant.setdefault(field, []).extend(origins[:-1])


def _describe(found: _Operations) -> str:
    return ", ".join(
        f"[operation:{operation}, field:{field}]"
        for field, names in found.items()
        for operation in names
    )


_MARKER: Final = "marker"
_STAGE_NAME: Final = "stageName"


class RecordedStage(msgspec.Struct, frozen=True):
    """A stage with the operations that it recorded."""

    stage: str
    operations: Sequence[FieldOperation]
    inputs: Mapping[str, Sequence[str]] = {}
    """The fields of each input stage."""
    outputs: Sequence[str] = ()
    """The fields of the output schema; empty for a sink."""
    is_joiner: bool = False
    """Whether it is a joiner, whose operations name input fields ``<input stage>.<field>``."""


class PipelineOperations(msgspec.Struct, frozen=True):
    """The platform operations of a pipeline."""

    operations: list[PlatformOperation]
    checks: dict[str, StageOperationsCheck]
    """What was found in the operations of the stages; stages without findings are left out."""


class _Origin(msgspec.Struct, frozen=True):
    """An operation that made a field."""

    operation: str
    marker: str | None


def convert_pipeline(
    stages: Iterable[RecordedStage], connections: Iterable[StageConnection]
) -> PipelineOperations:
    """Check the operations of all stages, and convert them into platform operations.

    A stage with input and output fields that records nothing gets one operation ``Transform`` from all inputs
    to all outputs, marked as assumed (CDAP 6 ``FieldLineageProcessor``).

    :raises BadRequestError: when the stages form a cycle.
    """
    completed = [_complete(stage) for stage in stages]
    checks = {
        stage.stage: check_stage_operations(stage.operations, list_stage_inputs(stage))
        for stage in completed
    }
    operations = convert_operations(
        {stage.stage: stage.operations for stage in completed},
        connections,
        joiners={stage.stage for stage in completed if stage.is_joiner},
    )
    found = {stage: check for stage, check in checks.items() if check != StageOperationsCheck()}
    return PipelineOperations(operations, found)


def convert_operations(
    operations: Mapping[str, Sequence[FieldOperation]],
    connections: Iterable[StageConnection],
    joiners: Collection[str] = (),
) -> list[PlatformOperation]:
    """Convert the operations of the stages of a pipeline, by stage, into platform operations.

    :raises BadRequestError: when the stages form a cycle.
    """
    return _Conversion(operations, connections, joiners).run()


def list_stage_inputs(stage: RecordedStage) -> list[str]:
    """Return the input fields as the operations of the stage name them."""
    return [
        f"{source}.{field}" if stage.is_joiner else field
        for source, fields in stage.inputs.items()
        for field in fields
    ]


def _complete(stage: RecordedStage) -> RecordedStage:
    inputs = list(dict.fromkeys(list_stage_inputs(stage)))
    if stage.operations or not inputs or not stage.outputs:
        return stage
    assumed = FieldTransformOperation("Transform", "", inputs, list(stage.outputs), assumed=True)
    return msgspec.structs.replace(stage, operations=[assumed])


class _Conversion:
    """The conversion of one pipeline."""

    def __init__(
        self,
        operations: Mapping[str, Sequence[FieldOperation]],
        connections: Iterable[StageConnection],
        joiners: Collection[str],
    ) -> None:
        self._recorded = operations
        self._joiners = joiners
        self._inputs: dict[str, list[str]] = {stage: [] for stage in operations}
        for connection in connections:
            self._inputs.setdefault(connection.source, [])
            inputs = self._inputs.setdefault(connection.target, [])
            if connection.source not in inputs:
                inputs.append(connection.source)
        self._origins: dict[str, dict[str, list[_Origin]]] = {stage: {} for stage in self._inputs}
        """What made each output field of a stage, by stage and field."""
        self._converted: dict[str, PlatformOperation] = {}
        self._branches: dict[str, list[str]] = {}

    def run(self) -> list[PlatformOperation]:
        try:
            order = list(graphlib.TopologicalSorter(self._inputs).static_order())
        except graphlib.CycleError as error:
            raise BadRequestError(
                f"Invalid DAG. Stages {','.join(error.args[1][:-1])} form a cycle."
            ) from None
        for stage in order:
            if self._is_merged(stage):
                self._add_merges(self._inputs[stage])
            for operation in self._recorded.get(stage, ()):
                self._convert(stage, operation)
        return list(self._converted.values())

    def _is_merged(self, stage: str) -> bool:
        return len(self._inputs[stage]) > 1 and stage not in self._joiners

    def _add_merges(self, inputs: Sequence[str]) -> None:
        """Add an operation for each field of the inputs of a stage that merges them."""
        ordered = sorted(inputs)
        origins: dict[str, dict[str, None]] = {}
        for stage in ordered:
            for field, found in self._list_visible(stage).items():
                origins.setdefault(field, {}).update(
                    dict.fromkeys(each.operation for each in found)
                )
        for field, names in origins.items():
            merge = _name_merge(ordered, field)
            taken = tuple(InputField(name, field) for name in names)
            description = f"Merged stages: {','.join(ordered)}"
            self._converted.setdefault(
                merge, PlatformTransform(merge, description, taken, (field,))
            )

    def _list_visible(self, stage: str) -> dict[str, list[_Origin]]:
        """Return the origins of all fields that may be in the records of a stage, the nearest ones."""
        branch = self._find_branch(stage)
        visible: dict[str, list[_Origin]] = {}
        for each in reversed(branch):
            for field, origins in self._origins[each].items():
                visible.setdefault(field, origins)
        if self._is_merged(branch[0]):
            inputs = sorted(self._inputs[branch[0]])
            prefix = _name_merge(inputs, "")
            for name in self._converted:
                if name.startswith(prefix):
                    visible.setdefault(name.removeprefix(prefix), [_Origin(name, None)])
        return visible

    def _find_branch(self, stage: str) -> list[str]:
        """Return the stages up to this one, back to one that has no input, or several."""
        if stage not in self._branches:
            branch = [stage]
            while len(inputs := self._inputs[branch[-1]]) == 1:
                branch.append(inputs[0])
            self._branches[stage] = branch[::-1]
        return self._branches[stage]

    def _convert(self, stage: str, operation: FieldOperation) -> None:
        name = self._choose_name(stage, operation.name)
        marker: str | None = None
        made: tuple[str, ...] = ()
        converted: PlatformOperation
        if isinstance(operation, FieldReadOperation):
            source = _add_stage_name(operation.source, stage)
            marker, made = source.properties.get(_MARKER), tuple(operation.output_fields)
            converted = PlatformRead(name, operation.description, source, made)
        elif isinstance(operation, FieldTransformOperation):
            inputs = self._find_inputs(stage, operation.input_fields)
            made = tuple(operation.output_fields)
            converted = PlatformTransform(
                name, operation.description, inputs, made, operation.assumed
            )
        else:
            sink = _add_stage_name(operation.sink, stage)
            inputs = self._find_inputs(stage, operation.input_fields, sink.properties.get(_MARKER))
            converted = PlatformWrite(name, operation.description, sink, inputs)
        for field in made:
            origins = self._origins[stage].get(field, []) if marker is not None else []
            self._origins[stage][field] = [*origins, _Origin(name, marker)]
        self._converted[name] = converted

    def _choose_name(self, stage: str, name: str) -> str:
        chosen, number = f"{stage}.{name}", 2
        while chosen in self._converted:
            chosen, number = f"{stage}.{name} {number}", number + 1
        return chosen

    def _find_inputs(
        self, stage: str, fields: Sequence[str], marker: str | None = None
    ) -> tuple[InputField, ...]:
        """Return where fields come from; those that nothing is known of are left out."""
        found: dict[InputField, None] = {}
        for field in fields:
            source, name = stage, field
            if stage in self._joiners:
                source, name = self._split(stage, field)
            origins = self._find_origins(source, name)
            if len(origins) > 1 and marker is not None:
                origins = [each for each in origins if each.marker == marker]
            found.update(dict.fromkeys(InputField(each.operation, name) for each in origins))
        return tuple(found)

    def _split(self, joiner: str, field: str) -> tuple[str, str]:
        """Return the stage and the name of an input field of a joiner.

        Names of stages and fields may contain dots (CDAP-13298): an input stage wins over any other stage,
        and a longer name over a shorter one. Without a stage it is a field that the joiner made itself.
        """
        for stages in (self._inputs[joiner], self._recorded):
            for stage in sorted(stages, key=len, reverse=True):
                if field.startswith(f"{stage}.") and len(field) > len(stage) + 1:
                    return stage, field[len(stage) + 1 :]
        return joiner, field

    def _find_origins(self, stage: str, field: str) -> list[_Origin]:
        branch = self._find_branch(stage)
        for each in reversed(branch):
            if field in self._origins[each]:
                return self._origins[each][field]
        if self._is_merged(branch[0]):
            merge = _name_merge(sorted(self._inputs[branch[0]]), field)
            if merge in self._converted:
                return [_Origin(merge, None)]
        return []


def _name_merge(inputs: Sequence[str], field: str) -> str:
    return f"{','.join(inputs)}.merge.{field}"


def _add_stage_name(end_point: EndPoint, stage: str) -> EndPoint:
    properties = {**end_point.properties, _STAGE_NAME: stage}
    return msgspec.structs.replace(end_point, properties=properties)
