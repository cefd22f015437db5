"""The specification of a dataset: its type, properties and embedded datasets, and how its data is stored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.schema import Schema
from localcdap.decoders import decode_json

SCHEMA: Final = "schema"
"""The property with the schema of the rows or records, as JSON. SQL, pipelines and the studio use it."""
ROW_FIELD: Final = "schema.row.field"
"""The property that names the field of the schema that identifies a row."""


class TypeOrigin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the type of a dataset comes from, and what is known without its code."""

    artifact: str
    """The artifact that has the type, as ``NAME VERSION``."""
    layout: str
    """What the type says of the place of the data; see :func:`encode_layout`."""
    path: str = ""
    """The path at which the user placed the artifact; empty for an embedded dataset."""


class DatasetSpecification(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Everything that is needed to open a dataset. Definitions create it with :func:`build_specification`.

    The JSON form is that of CDAP 6 ``DatasetSpecification``.
    """

    name: str
    """Embedded datasets are called ``<name of the outer dataset>.<name>``."""
    type: str
    properties: dict[str, str] = {}
    """The properties that the definition computed from the given ones."""
    original_properties: dict[str, str] | None = None
    """The properties as they were given; None for an embedded dataset."""
    description: str | None = None
    embedded: dict[str, DatasetSpecification] = msgspec.field(default={}, name="datasetSpecs")
    """The embedded datasets by the name that the definition gave them."""
    origin: TypeOrigin | None = None
    """Set by localcdap for types of modules; None for a built-in type."""

    def get_schema(self) -> Schema | None:
        """Return the property ``schema``; None when it is not set.

        :raises SchemaError: when it is not a schema.
        """
        text = self.properties.get(SCHEMA)
        return None if text is None else _parse_schema(text)


@lru_cache(maxsize=256)
def _parse_schema(text: str) -> Schema:
    # Each transaction asks for the schemas of the datasets that it opens.
    return Schema.parse(text)


def build_specification(
    name: str,
    type: str,
    properties: Mapping[str, str],
    embedded: Iterable[DatasetSpecification] = (),
) -> DatasetSpecification:
    """Return a specification, in which the names of embedded datasets begin with ``name``.

    :param embedded: specifications whose names are those within this dataset, such as ``index``.
    """
    inner = {each.name: _prefix_names(name, each) for each in embedded}
    ordered = dict(sorted(properties.items()))
    return DatasetSpecification(name, type, ordered, embedded=inner)


def _prefix_names(prefix: str, specification: DatasetSpecification) -> DatasetSpecification:
    return msgspec.structs.replace(
        specification,
        name=f"{prefix}.{specification.name}" if specification.name else prefix,
        embedded={
            name: _prefix_names(prefix, each) for name, each in specification.embedded.items()
        },
    )


class TableLayout(msgspec.Struct, frozen=True):
    """A table of the instance in which a dataset keeps its rows."""

    schema: Schema
    key: str | None = None
    """The field that identifies a row; None when rows are only added."""
    indexes: tuple[str, ...] = ()
    """The fields by which rows are found besides the key."""


class FolderLayout(msgspec.Struct, frozen=True):
    """A folder in which a dataset keeps its files."""

    path: str
    """Absolute, or relative to the folder of the namespace's file sets."""
    must_exist: bool = False
    """Whether the folder must exist when the dataset is created; otherwise it must not."""
    is_owned: bool = True
    """Whether the files are deleted with the dataset."""


def locate_folder(root: Path, folder: FolderLayout) -> Path:
    """Return the path of a folder.

    :param root: the folder of the namespace's file sets.
    """
    return Path(os.path.normpath(root / folder.path))


class StorageLayout(msgspec.Struct, frozen=True):
    """Where the data of a dataset is, without that of embedded datasets."""

    tables: dict[str, TableLayout] = {}
    """By name. The table with the dataset's own name is the dataset in SQL."""
    folder: FolderLayout | None = None


def encode_layout(layout: StorageLayout) -> str:
    """Return a layout as JSON, with schemas as texts."""
    return msgspec.json.encode(layout, enc_hook=str).decode()


def decode_layout(text: str) -> StorageLayout:
    """Return the layout of which :func:`encode_layout` made the text."""
    return decode_json(text, type=StorageLayout, hook=_decode_schema)


def _decode_schema(_type: type, text: str) -> Schema:
    return Schema.parse(text)
