"""The schemas in Avro, Parquet and ORC files."""

from __future__ import annotations

from typing import Any, Final

from localcdap.api import LogicalType, Schema
from localcdap.api.arrow import from_arrow_schema

_LOGICAL: Final = frozenset(type.value for type in LogicalType)


def read_schema(file: str, format: str) -> Schema:
    """Return the schema of an Avro, Parquet or ORC file.

    :raises ValueError: or an OSError or EOFError, when the file cannot be read.
    :raises SchemaError: for a type that no schema has.
    """
    readers = {"avro": read_avro_schema, "parquet": read_parquet_schema, "orc": read_orc_schema}
    return readers[format](file)


def read_avro_schema(file: str) -> Schema:
    """Return the schema in the header of an Avro file."""
    import fastavro

    with open(file, "rb") as stream:  # noqa: PTH123
        written = fastavro.reader(stream).writer_schema
    return Schema.parse_record(_from_avro(written))


def read_parquet_schema(file: str) -> Schema:
    """Return the schema in the footer of a Parquet file."""
    import pyarrow.parquet as pq

    return from_arrow_schema(pq.read_schema(file))


def read_orc_schema(file: str) -> Schema:
    """Return the schema in the footer of an ORC file."""
    from pyarrow import orc

    return from_arrow_schema(orc.ORCFile(file).schema)


def _from_avro(document: Any) -> Any:
    """Convert an Avro schema to a schema document: without namespaces, fixed as bytes."""
    if isinstance(document, str):
        return document.rpartition(".")[2]
    if isinstance(document, list):
        return [_from_avro(member) for member in document]
    made = {key: value for key, value in document.items() if not key.startswith("__")}
    _translate_type(made)
    if "name" in made:
        made["name"] = made["name"].rpartition(".")[2]
    for part in ("items", "values"):
        if part in made:
            made[part] = _from_avro(made[part])
    if made["type"] == "record":
        fields = [{"name": f["name"], "type": _from_avro(f["type"])} for f in made["fields"]]
        made["fields"] = fields
    return made


def _translate_type(made: dict[str, Any]) -> None:
    """Replace types and logical types that exist only in Avro."""
    logical = made.pop("logicalType", None)
    if logical in _LOGICAL:
        made["logicalType"] = logical
    elif isinstance(logical, str) and logical.startswith("local-timestamp-"):
        made |= {"type": "string", "logicalType": "datetime"}
    elif logical == "uuid":
        made["type"] = "string"
    if made["type"] == "fixed":
        made["type"] = "bytes"
    elif made["type"] == "error":
        made["type"] = "record"
