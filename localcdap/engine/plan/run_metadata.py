"""The metadata that the stages of one run read and emit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from localcdap.api.errors import LocalcdapError, UnauthorizedError
from localcdap.api.metadata import (
    Metadata,
    MetadataEntity,
    MetadataOperation,
    MetadataScope,
    MetadataWriter,
    ScopedMetadata,
)
from localcdap.engine.tasks.context import EntityMetadata


class RunMetadata:
    """What the stages of one run read and emit.

    :param read: returns the metadata of an entity; it is called once for each entity. By default, none has
        any.
    :param emit: takes what a stage emits. By default it is kept in :attr:`emitted`.
    :param check: raises UnauthorizedError when the run may not change the metadata of an entity; it is called
        once for each entity.
    """

    def __init__(
        self,
        read: Callable[[MetadataEntity], ScopedMetadata] = lambda _: ScopedMetadata(),
        emit: Callable[[str, MetadataOperation], None] | None = None,
        check: Callable[[MetadataEntity], None] = lambda _: None,
    ) -> None:
        self.emitted: Final[list[tuple[str, MetadataOperation]]] = []
        """What stages emitted, if nobody else takes it."""
        self._read: Final = read
        self._emit: Final = emit
        self._check: Final = check
        self._checked: Final[set[MetadataEntity]] = set()
        self._known: Final[dict[MetadataEntity, ScopedMetadata]] = {}

    def emit(self, stage: str, operation: MetadataOperation) -> None:
        """Take what a stage emits.

        :raises UnauthorizedError: when the run may not change the metadata of the entity. The host checks it
            once more when it stores what was emitted.
        """
        if operation.entity not in self._checked:
            self._check(operation.entity)
            self._checked.add(operation.entity)
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


class MetadataAccess(MetadataWriter):
    """The methods of a :class:`localcdap.api.stage.PrepareContext` for metadata."""

    stage_name: str
    _run_metadata: RunMetadata

    if TYPE_CHECKING:  # the other base class of a context has it

        def fail(self, message: str, corrective_action: str | None = None) -> Exception: ...

    def read_all(self, entities: Iterable[MetadataEntity]) -> list[EntityMetadata]:
        """Return the metadata of entities, for Spark's workers."""
        resolved = [entity.resolve(self.namespace) for entity in entities]
        return [EntityMetadata(entity, self._read(entity)) for entity in resolved]

    def _read(self, entity: MetadataEntity) -> ScopedMetadata:
        try:
            return self._run_metadata.read(entity)
        except LocalcdapError as error:
            raise self.fail(
                f"the metadata of {entity.describe()} cannot be read: {error.message}",
                error.corrective_action,
            ) from None

    def get_metadata(self, scope: MetadataScope, entity: MetadataEntity) -> Metadata:
        """Return the metadata of an entity in one scope."""
        return self._read(entity.resolve(self.namespace)).get(scope)

    def _emit(self, operation: MetadataOperation) -> None:
        try:
            self._run_metadata.emit(self.stage_name, operation)
        except UnauthorizedError as error:
            raise self.fail(
                f"the metadata of {operation.entity.describe()} cannot be changed: {error.message}",
                error.corrective_action,
            ) from None


def describe_operation(operation: MetadataOperation) -> str:
    """Return what an operation does, for the log of a preview."""
    given = [
        *(f"{name}={value}" for name, value in operation.properties.items()),
        *operation.names,
        *operation.tags,
    ]
    what = f": {', '.join(given)}" if given else ""
    return f"{operation.kind.value} metadata of {operation.entity.describe()}{what}"
