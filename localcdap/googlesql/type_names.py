"""The names that GoogleSQL has for the types of DuckDB, and which of them an argument can have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_NAMES: Final = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "INT64"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "INT64"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "FLOAT64"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "DATETIME"),
    **dict.fromkeys(("TIME", "TIME_NS", "TIME WITH TIME ZONE"), "TIME"),
    "BLOB": "BYTES",
    "BOOLEAN": "BOOL",
    "DATE": "DATE",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "VARCHAR": "STRING",
}
"""The types of GoogleSQL by those of DuckDB; a DECIMAL is a NUMERIC. Others are left to DuckDB."""
KNOWN: Final = frozenset((*_NAMES.values(), "NUMERIC"))
_MEMBER: Final = re.compile(r'(?P<name>"(?:[^"]|"")*"|\S+) (?P<type>.*)', re.DOTALL)
_NULL: Final = '"NULL"'
_COMPARED: Final = (
    *({name, _NULL} for name in (*KNOWN, "INTERVAL", "JSON")),
    {"INT64", "NUMERIC", "FLOAT64", _NULL},
    {"DATE", "DATETIME", _NULL},
)
"""The names of types that can be compared with one another."""


class TypeMismatchError(ValueError):
    """A type that a function or operator does not take."""


def check_type(type: str, wanted: str, function: str) -> str:
    """Check the type of an argument; return ``v``, the name of the member that holds it.

    :param type: as DuckDB names it.
    :param wanted: the names of GoogleSQL's types, with commas between them; ``ARRAY`` stands for all arrays.
    :raises TypeMismatchError: for another type.
    """
    given = name_type(type)
    known = wanted.split(", ")
    is_nested = given.partition("<")[0] in known
    if not (
        given in known or is_nested or given.replace(_NULL, "INT64") in known or given == _NULL
    ):
        raise TypeMismatchError(f"'{function}' of {given} is not translated")
    return "v"


def check_compared(type: str, other: str, sign: str) -> str:
    """Check that values of two types can be compared; return ``v`` as :func:`check_type`.

    :raises TypeMismatchError: for types that GoogleSQL does not compare.
    """
    names = name_type(type), name_type(other)
    is_alike = any(set(names) <= each for each in _COMPARED)
    if not is_alike and not all(map(_is_nested, names)):
        raise TypeMismatchError(f"'{sign}' of {names[0]} and {names[1]} is not translated")
    return "v"


def check_difference(type: str, other: str) -> str:
    """Check the types of a difference; return ``v`` as :func:`check_type`.

    :raises TypeMismatchError: for two DATEs, whose difference is an INTERVAL in GoogleSQL.
    """
    if type == other == "DATE":
        raise TypeMismatchError("'-' of DATE and DATE is not translated")
    return "v"


def _is_nested(name: str) -> bool:
    return name == _NULL or name.startswith(("ARRAY<", "STRUCT<"))


def name_type(type: str) -> str:
    """Return the name that GoogleSQL has for a type of DuckDB; the same name when it has none."""
    if type.endswith("]"):
        return f"ARRAY<{name_type(type.rpartition('[')[0])}>"
    if type.startswith("STRUCT("):
        members = (f"{name} {name_type(member)}" for name, member in split_struct(type))
        return f"STRUCT<{', '.join(members)}>"
    return "NUMERIC" if type.startswith("DECIMAL(") else _NAMES.get(type, type)


def split_struct(type: str) -> Iterator[tuple[str, str]]:
    """Yield the names and types of the members of a struct."""
    depth, start, is_quoted = 0, 0, False
    text = type.removeprefix("STRUCT(").removesuffix(")")
    for index, letter in enumerate(f"{text},"):
        if letter == '"':
            is_quoted = not is_quoted
        elif not is_quoted:
            depth += (letter == "(") - (letter == ")")
            if letter == "," and not depth:
                member = _MEMBER.fullmatch(text[start:index].strip())
                if member is not None:
                    yield member["name"].strip('"').replace('""', '"'), member["type"]
                start = index + 1
