"""Values that a column of a database cannot hold as they are, so that the database rounds, cuts or pads them.

CDAP sends a value as it is (database-plugins, ``database-commons/…/db/DBRecord.java``,
``writeNonNullToDB``), and so do the sinks here. What the database makes of it is found from what its driver
says of the column.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .column_types import has_no_precision, loses_scale

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructField

_NUMBERS: Final = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_DATES: Final = ("date", "timestamp", "timestamp_ntz")
_LEAP: Final = ("1582-10-05", "1582-10-15")
"""The dates that Java's calendar does not have, from the first to after the last."""
_TIMES: Final = ("timestamp", "timestamp_ntz", "time")
_TEXT_LENGTH: Final = "__CHAR_VARCHAR_TYPE_STRING"
"""Spark's metadata with the type of a text with a length, such as ``varchar(20)``."""
_LENGTH: Final = re.compile(r"(char|varchar)\((\d+)\)")
_SECOND_DIGITS: Final = 6
"""The most digits after the point that the seconds of a field have."""
_MYSQL: Final = ("mysql", "mariadb")


def build_alteration_check(
    value: Column, given: str, column: StructField, kind: str, driver: str | None
) -> Column | None:
    """Return whether a column alters a value; None for a column that holds every value, or is not known.

    :param given: Spark's type of the value.
    :param column: as Spark's JDBC reader finds it, with its metadata.
    :param kind: the kind of database, as in the connection string.
    :param driver: the class of its driver.
    """
    target = column.dataType.simpleString()
    changes = _build_limit_check(value, given, column, kind, driver)
    if given in _DATES and target in _DATES and kind not in _MYSQL:
        day, (first, after) = value.cast("date"), _LEAP
        leaps = (day >= first) & (day < after)
        return leaps if changes is None else leaps | changes
    return changes


def _build_limit_check(
    value: Column, given: str, column: StructField, kind: str, driver: str | None
) -> Column | None:
    target = _get_base(column.dataType.simpleString())
    base = _get_base(given)
    if given == column.dataType.simpleString() and target in _NUMBERS:
        return None
    if target in _NUMBERS and not has_no_precision(column):
        return _changes_number(value, given, column, kind)
    if target == "date" and base in ("timestamp", "timestamp_ntz"):
        return value.cast("date").cast(given) != value
    if target in _TIMES and base in (*_TIMES, "string"):
        digits = _get_second_digits(column, kind, driver)
        return None if digits is None else _has_more_digits(value.cast("string"), digits)
    if base == "string":
        return _changes_text(value, column, kind)
    return None


def to_written(value: Column, given: str, target: str, kind: str) -> Column:
    """Return a value as the type in which a database gets it whole.

    Java's calendar, through which dates pass, has Julian dates before 15 October 1582, which drivers and
    Spark do not treat alike.

    :param given: Spark's type of the value.
    :param target: Spark's type of the column.
    :param kind: the kind of database, as in the connection string.
    """
    if given not in _DATES or target not in _DATES:
        return value
    if (given, target) == ("timestamp", "timestamp_ntz"):
        value = value.cast("timestamp_ntz")
    is_zoned = target == "timestamp"
    if kind in _MYSQL and not is_zoned:
        return value.cast("string")
    # Only Spark's dialect of PostgreSQL keeps the date of a time without a zone.
    is_kept = kind == "postgresql" or given == "date"
    return value if is_kept else value.cast("timestamp")


def describe_column(column: StructField) -> str:
    """Return the type of a column, as its database calls it, with what limits its values.

    >>> from pyspark.sql.types import DecimalType, StructField
    >>> describe_column(StructField("n", DecimalType(5, 2), metadata={"jdbcClientType": "numeric"}))
    'numeric(5,2)'
    """
    spark_type = str(column.metadata.get(_TEXT_LENGTH) or column.dataType.simpleString())
    name = str(column.metadata.get("jdbcClientType") or _get_base(spark_type)).lower()
    if _get_base(spark_type) in _TIMES:
        return f"{name}({column.metadata.get('scale', 0)})"
    _, sign, limits = spark_type.partition("(")
    return name if "(" in name else f"{name}{sign}{limits}"


def _get_base(spark_type: str) -> str:
    """Return the name of a type of Spark without its parameters."""
    return spark_type.partition("(")[0]


def _changes_number(value: Column, given: str, column: StructField, kind: str) -> Column | None:
    """Return whether a value is another number in a column of numbers."""
    from pyspark.sql import functions as F  # noqa: N812

    target = column.dataType.simpleString()
    if loses_scale(column):
        target = f"decimal(38,{column.metadata['scale']})"
    if given == "string":
        if _get_base(target) in ("float", "double"):
            return None
        scale = re.search(r",(\d+)\)", target)
        has_more = _has_more_digits(value, int(scale[1]) if scale is not None else 0)
        # Without a strict mode, MySQL makes a number of every text.
        no_number = value.isNotNull() & value.try_cast(target).isNull()
        return has_more | no_number if kind in _MYSQL else has_more
    if _get_base(given) not in _NUMBERS:
        return None
    again = value.try_cast(target).try_cast(given)
    # Spark's decimals have at most 38 digits; those of the column may have more.
    is_cut = target.startswith("decimal(38,")
    changes = again != value if is_cut else ~again.eqNullSafe(value) & value.isNotNull()
    # PostgreSQL has NaN in columns of decimals, where Spark has none.
    return changes & ~F.isnan(value) if given in ("float", "double") else changes


def _has_more_digits(text: Column, digits: int) -> Column:
    """Return whether more digits than these follow the point of a number or a time, beside zeros."""
    return text.rlike(rf"^[^.]*\.[0-9]{{{digits}}}[0-9]*[1-9]")


def _get_second_digits(column: StructField, kind: str, driver: str | None) -> int | None:
    """Return the digits after the point that the seconds of a column have; None when they are not known.

    MySQL's own driver says of every time that it has none.
    """
    digits = int(column.metadata.get("scale", 0))
    is_silent = kind == "mysql" and "mariadb" not in (driver or "")
    if digits >= _SECOND_DIGITS or (is_silent and digits == 0):
        return None
    return digits


def _changes_text(value: Column, column: StructField, kind: str) -> Column | None:
    """Return whether a column of texts with a length cuts a text or pads it with blanks.

    MySQL pads no ``char`` with blanks that a reader sees, but removes those at the end of a text. Its types
    ``text`` have lengths in bytes.
    """
    from pyspark.sql import functions as F  # noqa: N812

    found = _LENGTH.fullmatch(str(column.metadata.get(_TEXT_LENGTH, "")))
    if found is None:
        return None
    limit = int(found[2])
    is_mysql = kind in _MYSQL
    is_large = is_mysql and str(column.metadata.get("jdbcClientType", "")).upper().endswith("TEXT")
    length = F.octet_length(value) if is_large else F.length(value)
    if found[1] == "varchar":
        return length > limit
    return (length > limit) | (F.endswith(value, F.lit(" ")) if is_mysql else length < limit)
