"""Coercion of records that scripts emit, by a function that is generated for their schema.

Nearly all values already have the class of their field. A call for each value would be the main cost of a
script; one generated function for the whole record costs a seventh of that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from localcdap.api import Schema

Coerce = Callable[[Any], Any]

INT_RANGE: Final = (-(2**31), 2**31 - 1)
LONG_RANGE: Final = (-(2**63), 2**63 - 1)
_FITTING: Final = {
    Schema.BOOLEAN: "v.__class__ is bool",
    Schema.FLOAT: "v.__class__ is float",
    Schema.DOUBLE: "v.__class__ is float",
    Schema.STRING: "v.__class__ is str",
    Schema.BYTES: "v.__class__ is bytes",
    Schema.INT: f"v.__class__ is int and {INT_RANGE[0]} <= v <= {INT_RANGE[1]}",
    Schema.LONG: f"v.__class__ is int and {LONG_RANGE[0]} <= v <= {LONG_RANGE[1]}",
}
"""Source of the test whether a value needs no coercion, by schema."""


def make_record_coercer(schema: Schema, members: Sequence[Coerce], otherwise: Coerce) -> Coerce:
    """Generate a function that makes a new record of a dict with all fields of a schema.

    :param members: the coercers of the fields, for values that need coercion.
    :param otherwise: the coercer of any other value, which raises the errors.
    """
    parts = [
        _write_entry(field.name, field.schema, f"m{number}") for number, field in enumerate(schema)
    ]
    is_simple = all(field.schema.non_nullable in _FITTING for field in schema)
    fits = [
        f"len(record) == {len(parts)}",
        *(_write_test(f.name, f.schema) for f in schema if is_simple),
    ]
    source = f"""\
def coerce(record):
    if record.__class__ is dict:
        try:
            if {" and ".join(fits) if is_simple else False}:
                return {{**record}}
            return {{{", ".join(parts)}}}
        except KeyError:
            pass
    return otherwise(record)
"""
    names = {f"m{number}": member for number, member in enumerate(members)}
    names["otherwise"] = otherwise
    # The fields' names, as string literals, are the only foreign text in the source.
    exec(source, names)  # noqa: S102
    made: Coerce = names["coerce"]
    return made


def _write_entry(name: str, schema: Schema, member: str) -> str:
    """Return the source of one field's entry in the new record."""
    if schema.non_nullable not in _FITTING:
        return f"{name!r}: {member}(record[{name!r}])"
    return f"{name!r}: v if {_write_test(name, schema)} else {member}(v)"


def _write_test(name: str, schema: Schema) -> str:
    """Return the source of the test whether a field's value, assigned to ``v``, needs no coercion."""
    fits = _FITTING[schema.non_nullable]
    if schema.is_nullable:
        fits = f"({fits} or v is None)"
    return fits.replace("v", f"(v := record[{name!r}])", 1)
