"""The metadata that the stages of one run read and emit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from localcdap.api.metadata import MetadataEntity, MetadataOperation, ScopedMetadata


class RunMetadata:
    """What the stages of one run read and emit.

    :param read: returns the metadata of an entity; it is called once for each entity. By default, none has
        any.
    :param emit: takes what a stage emits. By default it is kept in :attr:`emitted`.
    """

    def __init__(
        self,
        read: Callable[[MetadataEntity], ScopedMetadata] = lambda _: ScopedMetadata(),
        emit: Callable[[str, MetadataOperation], None] | None = None,
    ) -> None:
        self.emitted: Final[list[tuple[str, MetadataOperation]]] = []
        """What stages emitted, if nobody else takes it."""
        self._read: Final = read
        self._emit: Final = emit
        self._known: Final[dict[MetadataEntity, ScopedMetadata]] = {}

    def emit(self, stage: str, operation: MetadataOperation) -> None:
        """Take what a stage emits."""
        if self._emit is None:
            self.emitted.append((stage, operation))
        else:
            self._emit(stage, operation)

    def read(self, entity: MetadataEntity) -> ScopedMetadata:
        """Return the metadata of an entity, as it was when the run first read it.

        :raises NotFoundError: when there is no such entity.
        """
        if entity not in self._known:
            self._known[entity] = self._read(entity)
        return self._known[entity]


def describe_operation(operation: MetadataOperation) -> str:
    """Return what an operation does, for the log of a preview."""
    given = [
        *(f"{name}={value}" for name, value in operation.properties.items()),
        *operation.names,
        *operation.tags,
    ]
    what = f": {', '.join(given)}" if given else ""
    return f"{operation.kind.value} metadata of {operation.entity.describe()}{what}"
