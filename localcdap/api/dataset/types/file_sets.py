"""The built-in dataset types on files, with and without partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from localcdap.api.dataset.classes.file_sets import (
    FileSet,
    PartitionedFileSet,
    TimePartitionedFileSet,
)
from localcdap.api.dataset.dataset import Dataset
from localcdap.api.dataset.definition import DatasetDefinition, dataset_type
from localcdap.api.dataset.partition_fields import (
    FIELD_TYPES,
    PARTITIONING_FIELD_PREFIX,
    PARTITIONING_FIELDS,
    format_partitioning,
    read_partitioning,
)
from localcdap.api.dataset.properties import (
    PropertyReader,
    parse_record_property,
    refuse_changes,
)
from localcdap.api.dataset.schema_evolution import find_field_changes, list_reasons
from localcdap.api.dataset.specification import (
    SCHEMA,
    DatasetSpecification,
    FolderLayout,
    StorageLayout,
    TableLayout,
    build_specification,
)
from localcdap.api.errors import DatasetPropertiesError
from localcdap.api.schema import Schema

BASE_PATH: Final = "base.path"
EXTERNAL: Final = "data.external"
USE_EXISTING: Final = "data.use.existing"
POSSESS_EXISTING: Final = "data.possess.existing"
FORMAT: Final = "format"
"""The format of the files for SQL and pipelines: avro, csv, json, orc, parquet or text."""
FORMATS: Final = ("avro", "csv", "json", "orc", "parquet", "text")
_EXCLUSIVE: Final = (
    (EXTERNAL, USE_EXISTING),
    (EXTERNAL, POSSESS_EXISTING),
    (USE_EXISTING, POSSESS_EXISTING),
)
_TIME_FIELDS: Final = {"year": "INT", "month": "INT", "day": "INT", "hour": "INT", "minute": "INT"}
"""The partitioning of ``timePartitionedFileSet`` (CDAP 6 ``TimePartitionedFileSetDataset``)."""
_WITHOUT_EFFECT: Final = ("dataset.files.permissions", "dataset.files.group")


@dataset_type("fileSet", description="Files in one folder.")
class FileSetDefinition(DatasetDefinition):
    """The rules of CDAP 6 ``FileSetDefinition``, and those for the schema."""

    dataset_class: ClassVar[type[Dataset]] = FileSet

    def configure(self, name: str, properties: Mapping[str, str]) -> DatasetSpecification:
        reader = PropertyReader(properties)
        for first, second in _EXCLUSIVE:
            if reader.read_flag(first) and reader.read_flag(second):
                raise DatasetPropertiesError(
                    f"Only one of '{first}' and '{second}' may be set to true", property=second
                )
        reader.read_choice(FORMAT, FORMATS, "file format")
        parse_record_property(reader, SCHEMA)
        return build_specification(name, self.name, properties)

    def reconfigure(
        self, name: str, properties: Mapping[str, str], current: DatasetSpecification
    ) -> DatasetSpecification:
        specification = self.configure(name, properties)
        old, new = PropertyReader(current.properties), PropertyReader(specification.properties)
        refuse_changes(
            self.compare(name, old, new),
            _compare_places(name, old, new),
            _compare_files(name, old, new),
        )
        return specification

    def compare(self, name: str, old: PropertyReader, new: PropertyReader) -> list[str]:
        """Return why a change of the properties of this type is refused."""
        return []

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        reader = PropertyReader(specification.properties)
        is_external, uses = reader.read_flag(EXTERNAL), reader.read_flag(USE_EXISTING)
        folder = FolderLayout(
            reader.get(BASE_PATH, specification.name),
            must_exist=is_external or uses or reader.read_flag(POSSESS_EXISTING),
            is_owned=not is_external and not uses,
        )
        return StorageLayout(folder=folder)

    def list_ignored(self, properties: Mapping[str, str]) -> list[str]:
        return [
            f"'{name}' has no effect: the files have the permissions of the user who runs localcdap."
            for name in _WITHOUT_EFFECT
            if name in properties
        ]


def _compare_places(name: str, old: PropertyReader, new: PropertyReader) -> list[str]:
    was_external, is_external = old.read_flag(EXTERNAL), new.read_flag(EXTERNAL)
    reasons = []
    if was_external and not is_external:
        reasons.append(f"Cannot convert external file set '{name}' to non-external.")
    if old.get(BASE_PATH) != new.get(BASE_PATH) and not is_external:
        reasons.append(f"Cannot change the base path of non-external file set '{name}'.")
    return reasons


def _compare_files(name: str, old: PropertyReader, new: PropertyReader) -> list[str]:
    before, after = parse_record_property(old, SCHEMA), parse_record_property(new, SCHEMA)
    if before is None or after is None:
        dropped = before is not None
        return [f"Dataset '{name}': its schema cannot be removed."] if dropped else []
    return list_reasons(find_field_changes(before, after), name)


@dataset_type(
    "partitionedFileSet", description="Files in partitions, each with a key of several fields."
)
class PartitionedFileSetDefinition(FileSetDefinition):
    """The table ``<name>.partitions`` lists the partitions: their key, folder, metadata and creation time."""

    dataset_class: ClassVar[type[Dataset]] = PartitionedFileSet

    def configure(self, name: str, properties: Mapping[str, str]) -> DatasetSpecification:
        read_partitioning(properties)
        return super().configure(name, properties)

    def compare(self, name: str, old: PropertyReader, new: PropertyReader) -> list[str]:
        before, after = (read_partitioning(each.properties) for each in (old, new))
        if list(before.items()) == list(after.items()):
            return []
        old_text, new_text = format_partitioning(before), format_partitioning(after)
        return [f"Partitioning cannot be changed. Existing: {old_text}, new: {new_text}"]

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        keys = read_partitioning(specification.properties)
        fields = [(name, FIELD_TYPES[type]) for name, type in keys.items()]
        fields += [
            ("$path", Schema.STRING),
            ("$created", Schema.LONG),
            ("$metadata", Schema.map(Schema.STRING, Schema.STRING)),
        ]
        table = TableLayout(Schema.record("partition", fields), "$path", tuple(keys))
        files = super().lay_out(specification)
        return StorageLayout({f"{specification.name}.partitions": table}, files.folder)


@dataset_type("timePartitionedFileSet", description="Files in partitions, each with a time.")
class TimePartitionedFileSetDefinition(PartitionedFileSetDefinition):
    """A key has the fields year, month, day, hour and minute."""

    dataset_class: ClassVar[type[Dataset]] = TimePartitionedFileSet

    def configure(self, name: str, properties: Mapping[str, str]) -> DatasetSpecification:
        fixed = {PARTITIONING_FIELDS: ",".join(_TIME_FIELDS)}
        fixed |= {f"{PARTITIONING_FIELD_PREFIX}{each}": type for each, type in _TIME_FIELDS.items()}
        return super().configure(name, {**fixed, **properties})
