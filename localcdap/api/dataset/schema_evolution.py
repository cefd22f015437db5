"""Which changes of a dataset's schema are compatible with the data that it has.

A nullable field may be added, a number may get a wider type that holds every value of the old one, an enum
may get more symbols, and a field may become nullable. Inside of a nested type, only nulls and symbols may be
added. Everything else is refused, and so are dropping and
renaming a field: rows that were written before would lose values or could not be read any more.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from localcdap.api.schema import Field, Schema, Type

_DIGITS: Final = {Type.INT: 10, Type.LONG: 19}
"""The decimal digits of the greatest value."""
_WIDER: Final = {
    Type.INT: (Type.LONG, Type.DOUBLE),
    Type.FLOAT: (Type.DOUBLE,),
}
"""The types that hold every value of a number type. A double holds no long over 2**53 exactly."""
_NESTED: Final = (Type.ARRAY, Type.MAP, Type.RECORD)
COMPATIBILITY_RULE: Final = (
    "Compatible are: a new nullable field, a number type that holds every value of the old one, more symbols "
    "of an enum, and null for a field that did not allow it."
)


class ChangeKind(StrEnum):
    """What happens to a field."""

    ADDED = "ADDED"
    DROPPED = "DROPPED"
    WIDENED = "WIDENED"
    """The new type holds every value of the old one."""
    RETYPED = "RETYPED"
    """The new type cannot hold every value of the old one."""
    RELAXED = "RELAXED"
    """The field becomes nullable, and nothing else."""
    TIGHTENED = "TIGHTENED"
    """The field does not allow null any more, and nothing else."""


class FieldChange(msgspec.Struct, frozen=True):
    """The change of one field."""

    field: str
    kind: ChangeKind
    old: str | None
    """The type until now, such as ``int or null``; None for a new field."""
    new: str | None
    """The new type; None for a dropped field."""
    reason: str | None = None
    """Why the change is refused; None when it is compatible."""

    def describe(self) -> str:
        """Return the change as a text, such as ``adds 'n' (long or null)``."""
        match self.kind:
            case ChangeKind.ADDED:
                return f"adds '{self.field}' ({self.new})"
            case ChangeKind.DROPPED:
                return f"drops '{self.field}' ({self.old})"
            case _:
                return f"changes '{self.field}' from {self.old} to {self.new}"


def find_field_changes(old: Schema, new: Schema) -> list[FieldChange]:
    """Return what changes between two record schemas, by the order of the old fields, then of the new ones.

    The order of fields does not count. Field names that differ in case only are different fields, but no
    table can hold both.
    """
    changes = []
    for field in old:
        found = new.field(field.name)
        change = _describe_dropped(field, old, new) if found is None else _compare(field, found)
        if change is not None:
            changes.append(change)
    added = (field for field in new if old.field(field.name) is None)
    return changes + [_describe_added(field, old) for field in added]


def list_reasons(changes: list[FieldChange], dataset: str) -> list[str]:
    """Return why changes of a dataset's schema are refused, one sentence each; empty if they are not."""
    return [f"Dataset '{dataset}': {each.reason}" for each in changes if each.reason is not None]


def merge_schemas(old: Schema, new: Schema) -> Schema:
    """Return the schema after compatible changes: the fields in their old order, then the new ones."""
    kept = [Field(each.name, _get(new, each.name)) for each in old if new.field(each.name)]
    added = [each for each in new if old.field(each.name) is None]
    return Schema.record(new.name or old.name or "record", kept + added)


def fit_schema(held: Schema, written: Schema, dataset: str) -> tuple[Schema, list[str]]:
    """Return the schema of a dataset after it was changed to hold rows of another schema.

    Fields that the rows lack stay. A field that has a wider type than the rows keeps it.

    :returns: that schema, and why rows without some fields cannot be written, one sentence each. Whether the
        change is compatible is not checked.
    """
    fields, reasons = [], []
    for field in held:
        found = written.field(field.name)
        if found is None:
            fields.append(field)
            if not _allows_null(field.schema):
                type = format_field_type(field.schema)
                reasons.append(
                    f"Dataset '{dataset}': field '{field.name}' ({type}) must have a value in every row, "
                    "but it is not written."
                )
        else:
            fields.append(Field(field.name, _fit_field(field.schema, found.schema)))
    fields += [
        Field(each.name, each.schema.as_nullable)
        for each in written
        if held.field(each.name) is None
    ]
    return Schema.record(held.name or "record", fields), reasons


def _fit_field(held: Schema, written: Schema) -> Schema:
    inner, outer = _unify_names(held.non_nullable), _unify_names(written.non_nullable)
    keeps = inner == outer or is_wider(outer, inner)
    fitting = held if keeps else written
    return fitting.as_nullable if _allows_null(held) or _allows_null(written) else fitting


def format_field_type(schema: Schema) -> str:
    """Return a type for messages: ``long or null``, ``decimal(10, 2)``, or JSON for a nested type."""
    inner = schema.non_nullable
    if inner.precision is not None:
        text = f"decimal({inner.precision}, {inner.scale or 0})"
    elif inner.logical_type is not None or inner.is_simple:
        text = inner.display_name
    else:
        text = str(inner)
    return f"{text} or null" if schema.is_nullable else text


def is_wider(old: Schema, new: Schema) -> bool:
    """Return whether a type that allows no null holds every value of another one, which it is not equal to.

    A field of type null was always null, so every type holds its values.
    """
    if old.type is Type.NULL:
        return True
    if new.precision is not None:
        whole, scale = new.precision - (new.scale or 0), new.scale or 0
        if old.precision is not None:
            return old.precision - (old.scale or 0) <= whole and (old.scale or 0) <= scale
        digits = _DIGITS.get(old.type) if old.logical_type is None else None
        return digits is not None and digits <= whole
    if old.logical_type is not None or new.logical_type is not None:
        return False
    if old.type is Type.ENUM and new.type is Type.ENUM:
        return set(old.symbols) <= set(new.symbols)
    return new.type in _WIDER.get(old.type, ()) or _holds_parts(old, new)


def _holds_parts(old: Schema, new: Schema) -> bool:
    """Return whether a nested type only allows more nulls and symbols than another one inside."""
    if old.type is not new.type:
        return False
    match new.type:
        case Type.ARRAY if old.items and new.items:
            return _holds_part(old.items, new.items)
        case Type.MAP if old.keys and new.keys and old.values and new.values:
            return _holds_part(old.keys, new.keys) and _holds_part(old.values, new.values)
        case Type.RECORD if sorted(old.field_names) == sorted(new.field_names):
            return all(_holds_part(each.schema, _get(new, each.name)) for each in old)
        case _:
            return False


def _holds_part(old: Schema, new: Schema) -> bool:
    if _allows_null(old) and not _allows_null(new):
        return False
    inner, outer = _unify_names(old.non_nullable), _unify_names(new.non_nullable)
    is_enum = inner.type is Type.ENUM and outer.type is Type.ENUM
    return inner == outer or _holds_parts(inner, outer) or (is_enum and is_wider(inner, outer))


def _compare(old: Field, new: Field) -> FieldChange | None:
    inner, outer = _unify_names(old.schema.non_nullable), _unify_names(new.schema.non_nullable)
    allowed_null, allows_null = _allows_null(old.schema), _allows_null(new.schema)
    if inner == outer and allowed_null == allows_null:
        return None
    before, after = format_field_type(old.schema), format_field_type(new.schema)
    name = old.name
    tightens = allowed_null and not allows_null
    if inner != outer and not is_wider(inner, outer):
        if inner.type is outer.type and inner.type in _NESTED:
            why = "inside of a nested type only nulls and symbols of an enum may be added."
        else:
            why = f"{after} does not hold every value of {format_field_type(inner)}."
        reason = f"field '{name}' cannot change from {before} to {after}: {why}"
        return FieldChange(name, ChangeKind.RETYPED, before, after, reason)
    if tightens:
        reason = f"field '{name}' allows null ({before}) and cannot become {after}: rows may hold a null."
        return FieldChange(name, ChangeKind.TIGHTENED, before, after, reason)
    kind = ChangeKind.RELAXED if inner == outer else ChangeKind.WIDENED
    return FieldChange(name, kind, before, after)


def _describe_dropped(field: Field, old: Schema, new: Schema) -> FieldChange:
    type = format_field_type(field.schema)
    alike = [
        each.name
        for each in new
        if old.field(each.name) is None and each.schema.non_nullable == field.schema.non_nullable
    ]
    hint = f" Renaming it to '{alike[0]}' would lose its values, too." if len(alike) == 1 else ""
    reason = f"field '{field.name}' ({type}) cannot be dropped.{hint}"
    return FieldChange(field.name, ChangeKind.DROPPED, type, None, reason)


def _describe_added(field: Field, old: Schema) -> FieldChange:
    type = format_field_type(field.schema)
    reason = None
    similar = next((each for each in old.field_names if each.lower() == field.name.lower()), None)
    if similar is not None:
        reason = f"field '{field.name}' differs from '{similar}' in case only; a table treats them as equal."
    elif not _allows_null(field.schema):
        reason = f"new field '{field.name}' ({type}) must allow null: the rows until now have no value of it."
    return FieldChange(field.name, ChangeKind.ADDED, None, type, reason)


def _allows_null(schema: Schema) -> bool:
    return schema.is_nullable or schema.type is Type.NULL


def _unify_names(schema: Schema) -> Schema:
    """Return a schema in which all records have the same name: it does not belong to the type of a column."""
    match schema.type:
        case Type.RECORD:
            fields = [Field(each.name, _unify_names(each.schema)) for each in schema]
            return Schema.record("record", fields) if fields else schema
        case Type.ARRAY if schema.items is not None:
            return Schema.array(_unify_names(schema.items))
        case Type.MAP if schema.keys is not None and schema.values is not None:
            return Schema.map(_unify_names(schema.keys), _unify_names(schema.values))
        case Type.UNION:
            return Schema.union(_unify_names(each) for each in schema.members)
        case _:
            return schema


def _get(schema: Schema, name: str) -> Schema:
    field = schema.field(name)
    assert field is not None
    return field.schema
