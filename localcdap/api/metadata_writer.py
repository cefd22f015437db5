"""The methods by which programs emit metadata (CDAP ``MetadataWriter``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localcdap.api.metadata import Metadata, MetadataEntity, MetadataOperation, OperationKind
from localcdap.api.metadata_rules import require_valid


class MetadataWriter:
    """Emits metadata of the scope USER; an entity that names no namespace is in :attr:`namespace`.

    An operation takes effect some moments later, and in the order of the calls.
    """

    namespace: str

    def add_properties(self, entity: MetadataEntity, properties: Mapping[str, str]) -> None:
        """Set properties of an entity.

        :raises BadRequestError: when a key or a value is illegal; nothing is emitted.
        """
        require_valid(Metadata(dict(properties)))
        self._build(OperationKind.PUT, entity, properties=dict(properties))

    def add_tags(self, entity: MetadataEntity, *tags: str) -> None:
        """Add tags to an entity.

        :raises BadRequestError: when a tag is illegal; nothing is emitted.
        """
        require_valid(Metadata.of(tags=tags))
        self._build(OperationKind.PUT, entity, tags=list(tags))

    def remove_metadata(self, entity: MetadataEntity) -> None:
        """Remove all properties and tags of an entity."""
        self._build(OperationKind.DELETE_ALL, entity)

    def remove_properties(self, entity: MetadataEntity, *names: str) -> None:
        """Remove properties of an entity; without names, all of them."""
        kind = OperationKind.DELETE if names else OperationKind.DELETE_ALL_PROPERTIES
        self._build(kind, entity, names=list(names))

    def remove_tags(self, entity: MetadataEntity, *tags: str) -> None:
        """Remove tags of an entity; without tags, all of them."""
        kind = OperationKind.DELETE if tags else OperationKind.DELETE_ALL_TAGS
        self._build(kind, entity, tags=list(tags))

    def _build(self, kind: OperationKind, entity: MetadataEntity, **more: Any) -> None:
        self._emit(MetadataOperation(kind, entity.resolve(self.namespace), **more))

    def _emit(self, operation: MetadataOperation) -> None:
        """Emit an operation, whose entity names a namespace."""
        raise NotImplementedError
