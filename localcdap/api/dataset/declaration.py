"""Datasets and partitions that the stages of a pipeline declare, and what a creation or an update changes."""

from __future__ import annotations

import msgspec

from localcdap.api.dataset.schema_evolution import FieldChange


class DatasetDeclaration(msgspec.Struct, frozen=True):
    """A dataset that a stage needs. The deployment of its pipeline creates or updates it."""

    name: str
    type: str
    properties: dict[str, str] = {}
    """The schema is that of the records which the stage writes; the dataset may have more nullable fields."""
    config_property: str | None = None
    """The property of the stage that names the dataset, for failures."""


class PartitionChange(msgspec.Struct, frozen=True):
    """A partition that is added to a file set, or dropped, when a run commits."""

    namespace: str
    dataset: str
    key: dict[str, str | int]
    path: str | None = None
    """Its folder, relative to that of the file set; None to drop the partition with its files."""
    metadata: dict[str, str] = {}


class FilePartition(msgspec.Struct, frozen=True):
    """A partition that a file set has."""

    key: dict[str, str | int]
    path: str
    """Its folder, relative to that of the file set."""


class DatasetFiles(msgspec.Struct, frozen=True):
    """The files of a dataset, for a sink that adds some."""

    folder: str
    """An absolute path."""
    partitions: list[FilePartition] = []


class PropertyChange(msgspec.Struct, frozen=True):
    """The change of one property."""

    name: str
    old: str | None
    """None for a new property."""
    new: str | None
    """None for a removed property."""


class DatasetChange(msgspec.Struct, frozen=True):
    """What a creation or an update changes."""

    name: str
    is_new: bool
    properties: list[PropertyChange] = []
    fields: list[FieldChange] = []
    """The changes of the schema."""
    warnings: list[str] = []
    """Properties without effect, one sentence each."""

    @property
    def is_empty(self) -> bool:
        """Whether an existing dataset stays as it is."""
        return not self.is_new and not self.properties

    def describe(self) -> str:
        """Return the changes of an existing dataset as a text, such as ``adds 'n' (long or null)``."""
        parts = [each.describe() for each in self.fields]
        parts += [
            f"sets '{each.name}' to '{each.new}'"
            if each.new is not None
            else f"removes '{each.name}'"
            for each in self.properties
            if each.name != "schema"
        ]
        return ", ".join(parts)
