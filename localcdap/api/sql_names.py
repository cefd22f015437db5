"""Names and texts in statements of SQL, quoted so that nothing in them has a meaning of its own."""

from __future__ import annotations

from pathlib import Path


def quote_identifier(*names: str, mark: str = '"') -> str:
    """Quote an identifier of SQL; several names are joined by dots.

    >>> quote_identifier("sales", 'a "best" one')
    '"sales"."a ""best"" one"'

    :param mark: the quotation mark of the database, which is doubled in names.
    """
    return ".".join(mark + name.replace(mark, mark * 2) + mark for name in names)


def quote_column(name: str) -> str:
    """Quote the name of a column of Spark, in which dots would name parts of it.

    >>> quote_column("a.b")
    '`a.b`'
    """
    return quote_identifier(name, mark="`")


def quote_literal(text: str | Path) -> str:
    """Quote a string of standard SQL and DuckDB, in which a backslash escapes nothing, unlike in Spark's.

    >>> quote_literal("it's")
    "'it''s'"
    """
    return "'" + str(text).replace("'", "''") + "'"
