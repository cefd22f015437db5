"""The schemas in Avro, Parquet and ORC files."""

from __future__ import annotations

from typing import Final

from localcdap.api import LogicalType, Schema, Type
from localcdap.api.errors import SchemaError
from localcdap.files.arrow_files import ArrowFile
from localcdap.files.avro import open_stored_records
from localcdap.files.avro_values import AvroTypes

_LOGICAL: Final = {type.value: type for type in LogicalType}


def read_schema(file: str, format: str) -> Schema:
    """Return the schema of an Avro, Parquet or ORC file.

    :raises ValueError: or an OSError or EOFError, when the file cannot be read.
    :raises SchemaError: for a type that no schema has.
    """
    if format == "avro":
        return read_avro_schema(file)
    with ArrowFile(file, format) as arrow_file:
        return arrow_file.detect_schema()


def read_avro_schema(file: str) -> Schema:
    """Return the schema in the header of an Avro file.

    Records have no namespaces, and fixed types are bytes. Of the logical types that CDAP does not have, a
    UUID is a text, and a local timestamp a datetime.
    """
    with open(file, "rb") as stream:  # noqa: PTH123
        document, _ = open_stored_records(stream)
    return Schema.parse_record(_to_schema(AvroTypes(document), ()).to_json())


def _to_schema(types: AvroTypes, enclosing: tuple[str, ...]) -> Schema:
    """Return the schema of a type.

    :param enclosing: the names of the records around it.
    """
    document = types.document
    match types.type:
        case "union":
            return Schema.union(_to_schema(member, enclosing) for member in types.members)
        case "array":
            return Schema.array(_to_schema(types.get_part(document["items"]), enclosing))
        case "map":
            values = _to_schema(types.get_part(document["values"]), enclosing)
            return Schema.map(Schema.STRING, values)
        case "enum":
            return Schema.enum(document["symbols"])
        case "record" | "error":
            name = document["name"].rpartition(".")[2]
            if name in enclosing:
                return Schema.reference(name)
            fields = [
                (key, _to_schema(types.get_part(part), (*enclosing, name)))
                for key, part in types.fields.items()
            ]
            return Schema.record(name, fields)
    return _to_simple_schema(types)


def _to_simple_schema(types: AvroTypes) -> Schema:
    base = "bytes" if types.type == "fixed" else types.type
    if types.logical == "uuid":
        return Schema.STRING
    if types.logical.startswith("local-timestamp-"):
        return Schema.DATETIME
    logical, precision = _LOGICAL.get(types.logical), types.document.get("precision", 0)
    if logical is LogicalType.DECIMAL and base == "bytes" and precision > 0:
        return Schema.decimal(precision, types.document.get("scale", 0))
    if logical not in (None, LogicalType.DECIMAL) and logical.base.value == base:
        return Schema.of(logical)
    try:
        return Schema.of(Type(base))
    except ValueError:
        raise SchemaError(f"Unknown type '{base}'.") from None
