"""Schemas of records, and their documents: CDAP's Avro-like JSON (CDAP 6 ``SchemaTypeAdapter``).

The documents differ from Avro in three ways: maps have ``keys``, enums have no name, and ``datetime`` is a
logical type of strings.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final

from localcdap.api.errors import SchemaError


class Type(enum.Enum):
    """The physical types; the value is the name in a schema document."""

    NULL = "null"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BYTES = "bytes"
    STRING = "string"
    ENUM = "enum"
    ARRAY = "array"
    MAP = "map"
    RECORD = "record"
    UNION = "union"

    @property
    def is_simple(self) -> bool:
        """Whether a value of this type has no parts: all types except enum, array, map, record and union."""
        return self in SIMPLE

    @property
    def is_numeric(self) -> bool:
        """Whether this is a number type."""
        return self in (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE)


SIMPLE: Final = frozenset(
    (
        Type.NULL,
        Type.BOOLEAN,
        Type.INT,
        Type.LONG,
        Type.FLOAT,
        Type.DOUBLE,
        Type.BYTES,
        Type.STRING,
    )
)


class LogicalType(enum.Enum):
    """The logical types; the value is the name in a schema document."""

    DATE = "date"
    TIME_MILLIS = "time-millis"
    TIME_MICROS = "time-micros"
    TIMESTAMP_MILLIS = "timestamp-millis"
    TIMESTAMP_MICROS = "timestamp-micros"
    DECIMAL = "decimal"
    DATETIME = "datetime"

    @property
    def base(self) -> Type:
        """The physical type of this logical type."""
        return _BASES[self]


_BASES: Final = {
    LogicalType.DATE: Type.INT,
    LogicalType.TIME_MILLIS: Type.INT,
    LogicalType.TIME_MICROS: Type.LONG,
    LogicalType.TIMESTAMP_MILLIS: Type.LONG,
    LogicalType.TIMESTAMP_MICROS: Type.LONG,
    LogicalType.DECIMAL: Type.BYTES,
    LogicalType.DATETIME: Type.STRING,
}


class Field:
    """A field of a record schema."""

    __slots__ = ("name", "schema")

    def __init__(self, name: str, schema: Schema) -> None:
        self.name: Final = name
        self.schema: Final = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Field) and self.name == other.name and self.schema == other.schema

    def __hash__(self) -> int:
        return hash((self.name, self.schema))

    def __repr__(self) -> str:
        return f"Field({self.name!r}, {self.schema})"


class Schema:
    """An immutable, hashable schema, created with the class methods or by :meth:`parse`.

    :attr:`type` determines which attributes are set; the others are None or empty.
    """

    __slots__ = (
        "_hash",
        "_index",
        "fields",
        "items",
        "keys",
        "logical_type",
        "members",
        "name",
        "precision",
        "scale",
        "symbols",
        "type",
        "values",
    )

    type: Type
    logical_type: LogicalType | None
    precision: int | None
    """The number of digits of a decimal, at least 1."""
    scale: int | None
    """The number of digits of a decimal after the point; 0 when the document has none."""
    symbols: tuple[str, ...]
    """The symbols of an enum."""
    items: Schema | None
    """The schema of the elements of an array."""
    keys: Schema | None
    """The schema of the keys of a map."""
    values: Schema | None
    """The schema of the values of a map."""
    members: tuple[Schema, ...]
    """The alternatives of a union, in document order."""
    name: str | None
    """The name of a record."""
    fields: tuple[Field, ...] | None
    """The fields of a record; None for a reference by name to an enclosing or earlier record."""

    NULL: ClassVar[Schema]
    BOOLEAN: ClassVar[Schema]
    INT: ClassVar[Schema]
    LONG: ClassVar[Schema]
    FLOAT: ClassVar[Schema]
    DOUBLE: ClassVar[Schema]
    BYTES: ClassVar[Schema]
    STRING: ClassVar[Schema]
    DATE: ClassVar[Schema]
    TIME: ClassVar[Schema]
    TIMESTAMP: ClassVar[Schema]
    DATETIME: ClassVar[Schema]

    def __init__(self, type: Type, **parts: Any) -> None:
        self.type = type
        self.logical_type = parts.get("logical_type")
        self.precision = parts.get("precision")
        self.scale = parts.get("scale")
        self.symbols = parts.get("symbols", ())
        self.items = parts.get("items")
        self.keys = parts.get("keys")
        self.values = parts.get("values")
        self.members = parts.get("members", ())
        self.name = parts.get("name")
        self.fields = parts.get("fields")
        self._hash: int | None = None
        self._index: dict[str, Field] | None = None

    # -- constructors -----------------------------------------------------------------------

    @classmethod
    def of(cls, type: Type | LogicalType) -> Schema:
        """Return the schema of a simple or logical type, except decimal: see :meth:`decimal`."""
        if isinstance(type, LogicalType):
            if type is LogicalType.DECIMAL:
                raise SchemaError("Decimal type must contain a positive precision value.")
            return cls(type.base, logical_type=type)
        if not type.is_simple:
            raise SchemaError(f"Type {type.value} needs more than its name.")
        return cls(type)

    @classmethod
    def decimal(cls, precision: int, scale: int = 0) -> Schema:
        """Return a decimal schema.

        :raises SchemaError: when the precision is not positive.
        """
        if precision <= 0:
            raise SchemaError("Decimal type must contain a positive precision value.")
        return cls(Type.BYTES, logical_type=LogicalType.DECIMAL, precision=precision, scale=scale)

    @classmethod
    def array(cls, items: Schema) -> Schema:
        """Return an array schema."""
        return cls(Type.ARRAY, items=items)

    @classmethod
    def map(cls, keys: Schema, values: Schema) -> Schema:
        """Return a map schema."""
        return cls(Type.MAP, keys=keys, values=values)

    @classmethod
    def enum(cls, symbols: Iterable[str]) -> Schema:
        """Return an enum schema."""
        return cls(Type.ENUM, symbols=tuple(symbols))

    @classmethod
    def union(cls, members: Iterable[Schema]) -> Schema:
        """Return a union schema; a member that is a union itself is replaced by its members."""
        members = tuple(members)
        if any(member.type is Type.UNION for member in members):
            parts = (part for member in members for part in member.members or (member,))
            members = tuple(dict.fromkeys(parts))
        return cls(Type.UNION, members=members)

    @classmethod
    def record(cls, name: str, fields: Iterable[Field | tuple[str, Schema]]) -> Schema:
        """Return a record schema; a field is a :class:`Field` or a (name, schema) pair.

        Of two fields of one name the last one counts, at the place of the first (CDAP ``Schema.recordOf``).
        """
        made = (f if isinstance(f, Field) else Field(*f) for f in fields)
        return cls(Type.RECORD, name=name, fields=tuple({f.name: f for f in made}.values()))

    @classmethod
    def reference(cls, name: str) -> Schema:
        """Return a reference to an enclosing or earlier record."""
        return cls(Type.RECORD, name=name)

    @property
    def as_nullable(self) -> Schema:
        """The same schema with null allowed; the schema itself when null is allowed already."""
        if self.type is Type.NULL or self.is_nullable:
            return self
        if self.type is Type.UNION:
            return Schema.union((*self.members, Schema.NULL))
        return Schema.union((self, Schema.NULL))

    # -- properties -------------------------------------------------------------------------

    @property
    def is_nullable(self) -> bool:
        """Whether this is a union with null as a member."""
        return self.type is Type.UNION and any(m.type is Type.NULL for m in self.members)

    @property
    def non_nullable(self) -> Schema:
        """The same schema without null: the only other member, or the union of the others."""
        if not self.is_nullable:
            return self
        rest = tuple(m for m in self.members if m.type is not Type.NULL)
        if not rest:
            return Schema.NULL
        return rest[0] if len(rest) == 1 else Schema.union(rest)

    @property
    def is_simple(self) -> bool:
        """Whether the type, apart from null, is simple; logical types are simple."""
        return self.non_nullable.type.is_simple

    @property
    def display_name(self) -> str:
        """The name of the type for users: ``decimal``, ``timestamp-micros``, ``int`` …"""
        inner = self.non_nullable
        return inner.logical_type.value if inner.logical_type else inner.type.value

    def field(self, name: str) -> Field | None:
        """Return a field of a record schema by name, or None."""
        if self._index is None:
            self._index = {f.name: f for f in self.fields or ()}
        return self._index.get(name)

    @property
    def field_names(self) -> list[str]:
        """The names of the fields of a record schema, in order."""
        return [f.name for f in self.fields or ()]

    def __iter__(self) -> Iterator[Field]:
        """Iterate over the fields of a record schema, in order."""
        return iter(self.fields or ())

    def renamed(self, name: str) -> Schema:
        """Return this record schema with another name."""
        return Schema.record(name, self.fields or ())

    def same_shape(self, other: Schema) -> bool:
        """Return whether the schemas are equal except for the name of the outermost record.

        This is the rule for several inputs of one stage (CDAP 6 ``SchemaPropagator``).
        """
        if self.type is Type.RECORD and other.type is Type.RECORD:
            return self.fields == other.fields
        return self == other

    # -- comparing --------------------------------------------------------------------------

    def _get_parts(self) -> tuple[Any, ...]:
        return (
            self.type,
            self.logical_type,
            self.precision,
            self.scale,
            self.symbols,
            self.items,
            self.keys,
            self.values,
            self.members,
            self.name,
            self.fields,
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Schema) and self._get_parts() == other._get_parts()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._get_parts())
        return self._hash

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        # A cached hash is valid in this process only: every process hashes texts differently.
        kept = {name: getattr(self, name) for name in self.__slots__}
        return None, kept | {"_hash": None, "_index": None}

    # -- documents --------------------------------------------------------------------------

    @classmethod
    def parse(cls, document: str | dict[str, Any] | list[Any]) -> Schema:
        """Parse a schema document: JSON text or decoded JSON.

        Unknown keys are ignored, type names are case-insensitive, and the name of an earlier record is a
        reference to it.

        :raises SchemaError: when the document is not a schema; the message says where.
        """
        return _parse_document(document)

    @classmethod
    def parse_record(cls, document: str | dict[str, Any] | list[Any]) -> Schema:
        """Parse a schema document of a record.

        :raises SchemaError: when it is not a schema of a record with at least one field.
        """
        schema = cls.parse(document)
        if schema.type is not Type.RECORD or schema.fields is None:
            raise SchemaError(f"A record schema is needed, not '{schema.display_name}'.")
        if not schema.fields:
            raise SchemaError(f"Record '{schema.name}' has no fields.")
        return schema

    def to_json(self) -> Any:
        """Return the schema document as decoded JSON; an earlier record is written as its name."""
        return _to_document(self, {})

    def __str__(self) -> str:
        return json.dumps(self.to_json(), separators=(",", ":"))

    def __repr__(self) -> str:
        return f"Schema.parse({str(self)!r})"


for _type in SIMPLE:
    setattr(Schema, _type.name, Schema(_type))
Schema.DATE = Schema.of(LogicalType.DATE)
Schema.TIME = Schema.of(LogicalType.TIME_MICROS)
Schema.TIMESTAMP = Schema.of(LogicalType.TIMESTAMP_MICROS)
Schema.DATETIME = Schema.of(LogicalType.DATETIME)


def all_same_shape(schemas: Sequence[Schema]) -> bool:
    """Return whether all schemas are equal as in :meth:`Schema.same_shape`; true for none or one."""
    return all(schemas[0].same_shape(other) for other in schemas[1:])


_TYPES: Final = {t.value: t for t in Type}
_LOGICAL_TYPES: Final = {t.value: t for t in LogicalType}


def _parse_document(document: str | dict[str, Any] | list[Any]) -> Schema:
    try:
        return _DocumentParser().parse_node(_decode(document), "$")
    except RecursionError:
        raise SchemaError("The schema is nested too deeply.") from None


def _decode(document: str | dict[str, Any] | list[Any]) -> Any:
    """Return decoded JSON; a text that is not JSON is the name of a type."""
    if not isinstance(document, str):
        return document
    text = document.strip()
    if text[:1] not in ("{", "[", '"'):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise SchemaError(f"The schema is not valid JSON: {error}.") from None


class _DocumentParser:
    """A parser of one document, which remembers the records that it has read."""

    def __init__(self) -> None:
        self._records: dict[str, Schema] = {}

    def parse_node(self, node: Any, path: str) -> Schema:
        if isinstance(node, str):
            return self._parse_name(node, path)
        if isinstance(node, list):
            return self._parse_union(node, path)
        if isinstance(node, dict):
            return self._parse_object(node, path)
        raise SchemaError(f"Expected a schema, got {json.dumps(node)} - at {path}.")

    def _parse_name(self, name: str, path: str) -> Schema:
        if name in self._records:
            return self._records[name]
        type = _TYPES.get(name.lower())
        if type is None:
            raise SchemaError(f"Unknown type '{name}' - at {path}.")
        if not type.is_simple:
            raise SchemaError(f"Type '{name}' needs more than its name - at {path}.")
        return Schema(type)

    def _parse_union(self, node: list[Any], path: str) -> Schema:
        if not node:
            raise SchemaError(f"A union needs at least one member - at {path}.")
        return Schema.union(self.parse_node(m, f"{path}[{i}]") for i, m in enumerate(node))

    def _parse_object(self, node: dict[str, Any], path: str) -> Schema:
        base = node.get("type")
        if base is None:
            raise SchemaError(f"Schema type cannot be null - at {path}.")
        if node.get("logicalType") is not None:
            return self._parse_logical(node, path)
        if not isinstance(base, str):
            return self.parse_node(base, f"{path}.type")
        match base.lower():
            case "enum":
                return self._parse_enum(node, path)
            case "array":
                return Schema.array(self._parse_part(node, "items", path))
            case "map":
                return self._parse_map(node, path)
            case "record":
                return self._parse_record(node, path)
            case _:
                return self._parse_name(base, f"{path}.type")

    def _parse_part(self, node: dict[str, Any], key: str, path: str) -> Schema:
        if node.get(key) is None:
            raise SchemaError(f"'{key}' is missing - at {path}.")
        return self.parse_node(node[key], f"{path}.{key}")

    def _parse_map(self, node: dict[str, Any], path: str) -> Schema:
        # Avro documents have no 'keys': the keys are strings.
        keys = self._parse_part(node, "keys", path) if "keys" in node else Schema.STRING
        return Schema.map(keys, self._parse_part(node, "values", path))

    def _parse_enum(self, node: dict[str, Any], path: str) -> Schema:
        symbols = node.get("symbols")
        if not isinstance(symbols, list) or not all(isinstance(s, str) for s in symbols):
            raise SchemaError(f"An enum needs 'symbols', a list of strings - at {path}.")
        if len(set(symbols)) != len(symbols) or not symbols:
            raise SchemaError(f"The symbols of an enum must be unique, at least one - at {path}.")
        return Schema.enum(symbols)

    def _parse_record(self, node: dict[str, Any], path: str) -> Schema:
        name = node.get("name")
        if not isinstance(name, str):
            raise SchemaError(f"A record needs a 'name' - at {path}.")
        fields = node.get("fields")
        if not isinstance(fields, list):
            raise SchemaError(f"Record '{name}' needs 'fields', a list - at {path}.")
        self._records[name] = Schema.reference(
            name
        )  # inside of the record; after it the whole record
        made = []
        for i, field in enumerate(fields):
            here = f"{path}.fields[{i}]"
            if not isinstance(field, dict) or not isinstance(field.get("name"), str):
                raise SchemaError(f"A field needs a 'name' - at {here}.")
            made.append(Field(field["name"], self._parse_part(field, "type", here)))
        self._records[name] = Schema.record(name, made)
        return self._records[name]

    def _parse_logical(self, node: dict[str, Any], path: str) -> Schema:
        token = node["logicalType"]
        logical = _LOGICAL_TYPES.get(token.lower()) if isinstance(token, str) else None
        if logical is None:
            raise SchemaError(f"Unknown logical type {json.dumps(token)} - at {path}.")
        if logical is not LogicalType.DECIMAL:
            return Schema(logical.base, logical_type=logical)
        return Schema.decimal(
            _parse_digits(node, "precision", path), _parse_digits(node, "scale", path)
        )


def _parse_digits(node: dict[str, Any], key: str, path: str) -> int:
    value = node.get(key, 0)
    try:
        digits = int(value)
    except (TypeError, ValueError, OverflowError):
        digits = None
    if digits is None or (isinstance(value, float) and digits != value):
        raise SchemaError(
            f"'{key}' of a decimal must be a whole number, not {json.dumps(value)} - at {path}."
        )
    return digits


def _to_document(schema: Schema, written: dict[str, Schema]) -> Any:
    if schema.logical_type is not None:
        out: dict[str, Any] = {
            "type": schema.type.value,
            "logicalType": schema.logical_type.value,
        }
        if schema.logical_type is LogicalType.DECIMAL:
            out |= {"precision": schema.precision, "scale": schema.scale}
        return out
    match schema.type:
        case Type.ENUM:
            return {"type": "enum", "symbols": list(schema.symbols)}
        case Type.ARRAY:
            return {"type": "array", "items": _part_to_document(schema.items, written)}
        case Type.MAP:
            keys = _part_to_document(schema.keys, written)
            return {
                "type": "map",
                "keys": keys,
                "values": _part_to_document(schema.values, written),
            }
        case Type.UNION:
            return [_to_document(member, written) for member in schema.members]
        case Type.RECORD:
            return _record_to_document(schema, written)
        case _:
            return schema.type.value


def _part_to_document(part: Schema | None, written: dict[str, Schema]) -> Any:
    return None if part is None else _to_document(part, written)


def _record_to_document(schema: Schema, written: dict[str, Schema]) -> Any:
    name = schema.name or ""
    if schema.fields is None or written.get(name) == schema:
        return name
    written[name] = schema
    fields = [{"name": f.name, "type": _to_document(f.schema, written)} for f in schema.fields]
    written[name] = schema  # a nested record of the same name may have replaced it
    return {"type": "record", "name": name, "fields": fields}
