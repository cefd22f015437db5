"""Which values the columns of a table take (``zetasql/public/coercer.cc``, ``zetasql/public/cast.cc`` and
``docs/conversion_rules.md`` of google/zetasql).
"""

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
_COERCED: Final = {
    ("INT64", "NUMERIC"),
    ("INT64", "FLOAT64"),
    ("NUMERIC", "FLOAT64"),
    ("DATE", "DATETIME"),
}
"""The types of values, and those of columns that take them too."""
_COERCED_LITERALS: Final = {
    ("FLOAT64", "NUMERIC"),
    *(("STRING", name) for name in ("DATE", "DATETIME", "TIME", "TIMESTAMP")),
}
_MEMBER: Final = re.compile(r'(?P<name>"(?:[^"]|"")*"|\S+) (?P<type>.*)', re.DOTALL)
LITERAL: Final = "googlesql_literal"
"""The beginning of the names of values that are literals, in the type of a row."""


class AssignmentError(ValueError):
    """A value that a column does not take."""


def check_assignment(columns: str, values: str, *, inserts: bool) -> bool:
    """Check the values of a row for columns, in their order; return True.

    :param columns: the type of a struct of the columns, as DuckDB names it.
    :param values: that of a struct of the values.
    :param inserts: whether the values are inserted, otherwise they replace others.
    :raises AssignmentError: for the first value that its column does not take.
    """
    pairs = zip(_split_struct(columns), _split_struct(values), strict=False)
    for (column, wanted), (name, given) in pairs:
        _check_text(column, _name_type(wanted), name)
        if not _takes(wanted, given, is_literal=name.startswith(LITERAL)):
            verb = "which cannot be inserted into column" if inserts else "cannot be assigned to"
            subject = "Value has type" if inserts else "Value of type"
            raise AssignmentError(
                f"{subject} {_name_type(given)} {verb} {column}, which has type {_name_type(wanted)}"
            )
    return True


def _check_text(column: str, wanted: str, name: str) -> None:
    """Check that a STRING literal has the form of its column's type.

    :param name: of the value; that of a STRING literal has the types that its text can have.
    :raises AssignmentError: when it has not.
    """
    types = name.removeprefix(f"{LITERAL}_STRING")
    if types != name and ("STRING", wanted) in _COERCED_LITERALS and wanted not in types.split("_"):
        raise AssignmentError(f"Could not cast literal to type {wanted}, that of column {column}")


def _takes(wanted: str, given: str, *, is_literal: bool) -> bool:
    """Return whether a column of one type of DuckDB takes values of another."""
    if wanted == given or '"NULL"' in (given, given.partition("[")[0]):
        return True
    if wanted.endswith("]") or given.endswith("]"):
        items = [each.rpartition("[")[0] for each in (wanted, given)]
        return all(items) and _takes(items[0], items[1], is_literal=is_literal)
    if wanted.startswith("STRUCT(") and given.startswith("STRUCT("):
        pairs = zip(_split_struct(wanted), _split_struct(given), strict=False)
        return all(_takes(one, other, is_literal=is_literal) for (_, one), (_, other) in pairs)
    names = _name_type(given), _name_type(wanted)
    is_known = all(each in _KNOWN for each in names)
    coerced = _COERCED | _COERCED_LITERALS if is_literal else _COERCED
    return not is_known or names[0] == names[1] or names in coerced


def _name_type(type: str) -> str:
    """Return the name that GoogleSQL has for a type of DuckDB; the same name when it has none."""
    if type.endswith("]"):
        return f"ARRAY<{_name_type(type.rpartition('[')[0])}>"
    if type.startswith("STRUCT("):
        members = (f"{name} {_name_type(member)}" for name, member in _split_struct(type))
        return f"STRUCT<{', '.join(members)}>"
    return "NUMERIC" if type.startswith("DECIMAL(") else _NAMES.get(type, type)


_KNOWN: Final = frozenset((*_NAMES.values(), "NUMERIC"))


def _split_struct(type: str) -> Iterator[tuple[str, str]]:
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
