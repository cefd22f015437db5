"""Platform operations: field operations whose inputs name the operation that made each field.

Their names are distinct in a pipeline (CDAP 6 ``cdap-api``, ``lineage/field/Operation`` and subclasses).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EndPoint


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
