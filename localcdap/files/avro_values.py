"""Values of Avro's own types as values of the types of a schema.

CDAP gives the declared schema to Avro as the reader's schema (``AvroInputFormatProvider``): whole numbers are
promoted to wider ones and to floating-point numbers, texts and bytes stand for each other, and a number is
what the logical type of the schema says. Where that would misread a value (milliseconds under a type of
microseconds, a decimal of another scale), it is converted by the logical type in the file.
"""

from __future__ import annotations

import datetime
import decimal
import re
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

from localcdap.api import LogicalType, Schema, StageError, Type

Conversion = Callable[[Any], Any]
"""Returns the value of a field for a value of the file that is not null.

:raises ValueError: or an OverflowError or ArithmeticError, for one that the type cannot hold.
"""
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_DAY_ZERO: Final = _EPOCH.date()
_PER_SECOND: Final = {"millis": 10**3, "micros": 10**6, "nanos": 10**9}
_CLASSES: Final[dict[str, tuple[type, ...]]] = {
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (float,),
    "double": (float,),
    "string": (str,),
    "enum": (str,),
    "bytes": (bytes,),
    "fixed": (bytes,),
    "array": (list,),
    "map": (dict,),
    "record": (dict,),
    "error": (dict,),
}
"""The classes of fastavro's values, by type."""
_SOURCES: Final[dict[Type | LogicalType, tuple[str, ...]]] = {
    Type.BOOLEAN: ("boolean",),
    Type.INT: ("int", "long"),
    Type.LONG: ("int", "long"),
    Type.FLOAT: ("int", "long", "float"),
    Type.DOUBLE: ("int", "long", "float", "double"),
    Type.STRING: ("string", "enum", "bytes", "fixed"),
    Type.ENUM: ("string", "enum"),
    Type.BYTES: ("bytes", "fixed", "string"),
    Type.ARRAY: ("array",),
    Type.MAP: ("map",),
    Type.RECORD: ("record", "error"),
    LogicalType.DATE: ("int",),
    LogicalType.TIME_MILLIS: ("int", "long"),
    LogicalType.TIME_MICROS: ("int", "long"),
    LogicalType.TIMESTAMP_MILLIS: ("int", "long"),
    LogicalType.TIMESTAMP_MICROS: ("int", "long"),
    LogicalType.DATETIME: ("string", "int", "long"),
    LogicalType.DECIMAL: ("bytes", "fixed"),
}
"""The types in files of which a type of a schema takes values; the first one is the same type."""
LOCAL_TIME: Final = r"[+-]?\d{4,}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?"
"""A datetime in ISO 8601, as Java's ``LocalDateTime.parse`` reads it."""


class AvroTypes:
    """A type in a file.

    :param document: decoded JSON of an Avro schema.
    :param named: the types of the file by name.
    """

    def __init__(self, document: Any, named: dict[str, Any] | None = None, space: str = "") -> None:
        self._named = {} if named is None else named
        self._space = space
        while isinstance(document, dict) and isinstance(document.get("type"), dict | list):
            document = document["type"]
        if isinstance(document, str) and document not in _CLASSES and document != "null":
            document = self._named.get(document) or self._named.get(f"{space}.{document}") or {}
        self.document: Final[Any] = document if isinstance(document, dict) else {"type": document}
        if isinstance(document, dict) and "name" in document:
            name = document["name"]
            self._space = document.get("namespace", name.rpartition(".")[0] or space)
            self._named[name] = document
            self._named[f"{self._space}.{name.rpartition('.')[2]}"] = document
        self.members: Final[list[AvroTypes]] = (
            [self.get_part(member) for member in document] if isinstance(document, list) else []
        )
        """Those of a union."""
        self.type: Final = "union" if self.members else str(self.document.get("type"))
        self.logical: Final = str(self.document.get("logicalType", ""))

    def get_part(self, document: Any) -> AvroTypes:
        """Return a type inside of this one."""
        return AvroTypes(document, self._named, self._space)

    @property
    def fields(self) -> dict[str, Any]:
        """The types of the fields of a record by name, as decoded JSON."""
        return {field["name"]: field["type"] for field in self.document.get("fields", ())}


def build_record_conversion(types: AvroTypes, schema: Schema, path: str = "") -> Conversion:
    """Return what makes a record of a schema of a record of a file; a field that the file lacks is null.

    :param path: the field of the record with a dot after it, for messages.
    :raises StageError: for the first field that cannot be read.
    """
    stored = {name: types.get_part(part) for name, part in types.fields.items()}
    parts: list[tuple[str, Conversion]] = []
    for field in schema:
        name = f"{path}{field.name}"
        if field.name not in stored:
            if not field.schema.is_nullable:
                raise StageError(
                    f"Field '{name}' does not exist in the data; fields are: {', '.join(stored)}.",
                    f"Allow null for '{name}' in the schema, or remove it.",
                )
            parts.append((field.name, _return_none))
            continue
        parts.append((field.name, _build_conversion(stored[field.name], field.schema, name)))

    changes = [(name, part) for name, part in parts if part is not _keep]
    has_others = not stored.keys() <= {field.name for field in schema}

    def convert(record: Any) -> dict[str, Any]:
        if not isinstance(record, dict):
            raise StageError(f"A record is needed, not {record!r}.")
        if has_others:
            return {name: part(record.get(name)) for name, part in parts}
        for name, part in changes:
            record[name] = part(record.get(name))
        return record

    return convert


def _return_none(_: Any) -> None:
    return None


def _build_conversion(types: AvroTypes, schema: Schema, name: str) -> Conversion:
    """Return a conversion that keeps null and describes each value that does not fit.

    :raises StageError: when values of the type cannot become those of the schema.
    """
    convert = _find_conversion(types, schema, name)
    if convert is None:
        raise StageError(
            f"Field '{name}' is of type {_describe(types)} in the data, but its schema says "
            f"{schema.display_name}.",
            f"Change the type of '{name}' in the schema.",
        )
    if convert is _keep:
        return _keep
    convert_present = convert  # not None, also for the function below

    def convert_value(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert_present(value)
        except (ValueError, ArithmeticError, TypeError) as error:
            raise StageError(
                f"Field '{name}' must be of type {schema.display_name}, but it is {value!r:.80}: {error}.",
                f"Change the type of '{name}' in the schema; in the file it is {_describe(types)}.",
            ) from None

    return convert_value


def _describe(types: AvroTypes) -> str:
    if types.members:
        return " or ".join(_describe(member) for member in types.members)
    return types.logical or types.type


def _keep(value: Any) -> Any:
    return value


def _find_conversion(types: AvroTypes, schema: Schema, name: str) -> Conversion | None:
    if types.members:
        members = [member for member in types.members if member.type != "null"]
        return _find_member_conversion(members, schema, name)
    inner = schema.non_nullable
    if inner.type is Type.UNION:
        choices = [m for m in inner.members if m.type is not Type.NULL]
        choices.sort(key=lambda member: _get_rank(types, member))
        conversions = (_find_conversion(types, choice, name) for choice in choices)
        return next((convert for convert in conversions if convert is not None), None)
    if types.type == "null":
        return _return_none
    if types.type not in _SOURCES.get(inner.logical_type or inner.type, ()):
        return None
    if inner.logical_type is not None:
        return _find_logical(types, inner)
    return _find_plain(types, inner, name)


def _get_rank(types: AvroTypes, member: Schema) -> int:
    """Return the position of a member of a union among those that may hold a type; 0 for the same type."""
    if types.logical in (kind.value for kind in LogicalType):
        return 0 if member.logical_type is LogicalType(types.logical) else 1
    same = _SOURCES.get(member.logical_type or member.type, ("",))[0] == types.type
    is_wide = types.type == "long" and member.type is Type.LONG
    return 0 if member.logical_type is None and (same or is_wide) else 1


def _find_member_conversion(
    members: Sequence[AvroTypes], schema: Schema, name: str
) -> Conversion | None:
    """Return a conversion for a union in a file: by the class of a value, that of the first such member."""
    choices: dict[type, Conversion] = {}
    for member in members:
        convert = _find_conversion(member, schema, name)
        for cls in _CLASSES.get(member.type, ()) if convert is not None else ():
            choices.setdefault(cls, convert)  # type: ignore[arg-type]  # not None here
    if not choices:
        return None
    if all(convert is _keep for convert in choices.values()) and len(choices) == len(members):
        return _keep

    def convert_member(value: Any) -> Any:
        choice = choices.get(type(value))
        if choice is None:
            raise ValueError(f"it is of the class {type(value).__name__}")
        return choice(value)

    return convert_member


def _find_plain(types: AvroTypes, schema: Schema, name: str) -> Conversion | None:
    match schema.type:
        case Type.ARRAY if schema.items is not None:
            item = _build_conversion(
                types.get_part(types.document["items"]), schema.items, f"{name}[]"
            )
            return lambda values: [item(value) for value in values]
        case Type.MAP if schema.values is not None:
            part = _build_conversion(
                types.get_part(types.document["values"]), schema.values, f"{name}{{}}"
            )
            return lambda entries: {key: part(value) for key, value in entries.items()}
        case Type.RECORD:
            return build_record_conversion(types, schema, f"{name}.")
        case Type.STRING if types.logical == "uuid" and types.type == "fixed":
            return lambda content: str(uuid.UUID(bytes=content))
        case Type.STRING if types.type in ("bytes", "fixed"):
            return lambda content: content.decode("utf-8")
        case Type.BYTES if types.type == "string":
            return lambda text: text.encode("utf-8")
        case Type.FLOAT | Type.DOUBLE if types.type in ("int", "long"):
            return float
    return _keep


# -- logical types --------------------------------------------------------------------------


def _find_logical(types: AvroTypes, schema: Schema) -> Conversion | None:
    logical = schema.logical_type
    assert logical is not None
    kind = types.logical.removeprefix("local-").partition("-")[0]
    is_kept = logical.value.partition("-")[0] == kind or logical is LogicalType.DATETIME
    if kind in ("date", "time", "timestamp") and not is_kept:
        return None
    unit = types.logical if types.logical.endswith(tuple(_PER_SECOND)) else logical.value
    per_second = _PER_SECOND.get(unit.rpartition("-")[2], 10**6)
    match logical:
        case LogicalType.DECIMAL:
            scale = types.document.get("scale", 0) if types.logical == "decimal" else schema.scale
            return lambda content: read_unscaled(content, scale or 0)
        case LogicalType.DATE:
            return lambda days: _DAY_ZERO + datetime.timedelta(days)
        case LogicalType.TIME_MILLIS | LogicalType.TIME_MICROS:
            return lambda number: (
                (_EPOCH + _measure(number, per_second)).timetz().replace(tzinfo=None)
            )
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            return lambda number: _EPOCH + _measure(number, per_second)
    if types.type == "string":
        return _parse_local_time
    if kind != "timestamp":
        return None
    return lambda number: (_EPOCH + _measure(number, per_second)).replace(tzinfo=None)


def _measure(number: int, per_second: int) -> datetime.timedelta:
    """Return a number of parts of a second as a duration.

    :raises ValueError: when it is not a whole number of microseconds.
    """
    micros, rest = divmod(number * 10**6, per_second)
    if rest:
        raise ValueError("it has parts of microseconds")
    return datetime.timedelta(microseconds=micros)


def _parse_local_time(text: str) -> datetime.datetime:
    """Return the datetime of a text (CDAP 6 ``AvroToStructuredTransformer``)."""
    if re.fullmatch(LOCAL_TIME, text) is None:
        raise ValueError("it is not in ISO-8601 format")
    return datetime.datetime.fromisoformat(text)


def read_unscaled(content: bytes, scale: int) -> decimal.Decimal:
    """Return the decimal whose unscaled value is in bytes as of Java's ``BigInteger.toByteArray``."""
    number = int.from_bytes(content, "big", signed=True)
    return decimal.Decimal(number).scaleb(-scale, decimal.Context(prec=len(content) * 3 + 1))
