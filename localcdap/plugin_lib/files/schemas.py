"""The schemas that Avro, Parquet and ORC files carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.api import LogicalType, Schema, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

_LOGICAL: Final = frozenset(type.value for type in LogicalType)


def avro_file_schema(file: str) -> Schema:
    """The schema in the header of an Avro file."""
    import fastavro

    with open(file, "rb") as stream:  # noqa: PTH123
        written = fastavro.reader(stream).writer_schema
    return Schema.parse_record(_from_avro(written))


def parquet_file_schema(file: str) -> Schema:
    import pyarrow.parquet as pq

    return schema_of_arrow(pq.read_schema(file))


def orc_file_schema(file: str) -> Schema:
    from pyarrow import orc

    return schema_of_arrow(orc.ORCFile(file).schema)


def schema_of_arrow(schema: pa.Schema) -> Schema:
    """The record schema of Arrow columns.

    :raises SchemaError: for a type that no schema has.
    """
    return Schema.record("record", [(f.name, _of_field(f)) for f in schema])


def _of_field(field: pa.Field) -> Schema:
    schema = _of_type(field.type, field.name)
    return schema.as_nullable if field.nullable else schema


def _of_type(type: pa.DataType, name: str) -> Schema:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_decimal(type):
        return Schema.decimal(type.precision, type.scale)
    if kinds.is_timestamp(type):
        return Schema.DATETIME if type.tz is None else Schema.TIMESTAMP
    if kinds.is_list(type) or kinds.is_large_list(type):
        return Schema.array(_of_field(type.value_field))
    if kinds.is_map(type):
        return Schema.map(_of_type(type.key_type, name), _of_field(type.item_field))
    if kinds.is_struct(type):
        return Schema.record(name, [(f.name, _of_field(f)) for f in type])
    plain = (
        (kinds.is_boolean, Schema.BOOLEAN),
        (kinds.is_date, Schema.DATE),
        (kinds.is_time, Schema.TIME),
        (kinds.is_string, Schema.STRING),
        (kinds.is_large_string, Schema.STRING),
        (kinds.is_binary, Schema.BYTES),
        (kinds.is_large_binary, Schema.BYTES),
        (kinds.is_fixed_size_binary, Schema.BYTES),
        (kinds.is_float64, Schema.DOUBLE),
        (kinds.is_floating, Schema.FLOAT),
        (kinds.is_null, Schema.NULL),
    )
    for matches, schema in plain:
        if matches(type):
            return schema
    if kinds.is_integer(type):
        return Schema.INT if type.bit_width <= 32 and not kinds.is_uint32(type) else Schema.LONG
    raise SchemaError(f"Field '{name}' has the type {type}, which no schema has.")


def _from_avro(document: Any) -> Any:
    """An Avro schema as a schema document: without namespaces, fixed as bytes."""
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
    """Replace types and logical types that only Avro has."""
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
