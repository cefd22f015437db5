"""Which values the columns of a table take (``zetasql/public/coercer.cc``, ``zetasql/public/cast.cc`` and
``docs/conversion_rules.md`` of google/zetasql).
"""

from __future__ import annotations

from typing import Final

from .type_names import KNOWN, name_type, split_struct

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
    pairs = zip(split_struct(columns), split_struct(values), strict=False)
    for (column, wanted), (name, given) in pairs:
        _check_text(column, name_type(wanted), name)
        if not _takes(wanted, given, is_literal=name.startswith(LITERAL)):
            verb = "which cannot be inserted into column" if inserts else "cannot be assigned to"
            subject = "Value has type" if inserts else "Value of type"
            raise AssignmentError(
                f"{subject} {name_type(given)} {verb} {column}, which has type {name_type(wanted)}"
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
        pairs = zip(split_struct(wanted), split_struct(given), strict=False)
        return all(_takes(one, other, is_literal=is_literal) for (_, one), (_, other) in pairs)
    names = name_type(given), name_type(wanted)
    is_known = all(each in KNOWN for each in names)
    coerced = _COERCED | _COERCED_LITERALS if is_literal else _COERCED
    return not is_known or names[0] == names[1] or names in coerced
