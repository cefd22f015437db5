"""Dates and times of databases, read from the texts that their drivers give.

Java's calendar, through which drivers and Spark pass dates, has Julian dates before 15 October 1582, no
dates in the ten days before it, and the years before Christ after it. It also has no infinity: Spark makes
the last day of the year 9999 of it, and of a time 24:00:00 the last nanosecond of the day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from localcdap.api import AlteredRows, SparkContext
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructField

_MYSQL: Final = ("date", "datetime", "time")
"""Not ``timestamp``: its text is in the time zone of the session. It begins in 1970."""
_READ_AS_TEXT: Final = {
    "postgresql": ("date", "time", "timestamp", "timestamptz"),
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
}
"""By the kind of database, the names of types whose texts have every value."""
_BEFORE_CHRIST: Final = r"^([0-9]+)(-.*) BC$"
_ZERO: Final = r"^0000-00-00"
_DAY_END: Final = r"^24:00:00(\.0*)?$"
_ZERO_BEHAVIOR: Final = re.compile(r"zerodatetimebehavior=(convert_?to_?null|round)", re.IGNORECASE)


def list_text_columns(columns: Iterable[StructField], kind: str) -> list[StructField]:
    """Return the columns that are read as texts.

    :param columns: as Spark's JDBC reader finds them, with its metadata.
    :param kind: the kind of database, as in the connection string.
    """
    names = _READ_AS_TEXT.get(kind, ())
    return [
        column
        for column in columns
        if re.sub(r"\(\d*\)", "", str(column.metadata.get("jdbcClientType", ""))).lower() in names
    ]


def list_local_columns(columns: Iterable[StructField], kind: str) -> list[StructField]:
    """Return the columns of times without a zone that are read as instants in UTC.

    Except for PostgreSQL, Spark takes old dates of times without a zone for Julian.
    """
    texts = list_text_columns(columns, kind)
    return [
        column
        for column in columns
        if column.dataType.simpleString() == "timestamp_ntz"
        and column not in texts
        and kind != "postgresql"
    ]


def parse_times(
    context: SparkContext, columns: Sequence[StructField], options: Mapping[str, str]
) -> tuple[dict[str, Column], list[AlteredRows]]:
    """Return columns by name, with texts parsed as the types that Spark would read, and what that alters.

    A text that is no such value, as ``infinity``, fails the run.

    :param columns: those that have been read as texts, with Spark's types.
    :param options: those of Spark's reader.
    """
    from pyspark.sql import functions as F  # noqa: N812

    parsed, changes = {}, []
    for column in columns:
        given, spark_type = get_column(column.name), column.dataType.simpleString()
        text = _replace_zero(given, options)
        if spark_type.startswith("time("):
            # The end of a day becomes its beginning (``java.sql.Time.toLocalTime``).
            is_end = text.rlike(_DAY_END)
            change = f"the time 24:00:00 of column '{column.name}' became 00:00:00"
            changes.append(AlteredRows(change, F.when(is_end, F.lit("24:00:00"))))
            text = F.when(is_end, F.lit("00:00:00")).otherwise(text)
        type_name = column.metadata.get("jdbcClientType")
        message = F.concat(
            F.lit(f"Column '{column.name}' is of type {type_name}, but no field can be "),
            text,
            F.lit("."),
        )
        failure = F.when(text.isNotNull(), context.raising(message).cast(spark_type))
        parsed[column.name] = F.coalesce(_parse(text, spark_type), failure)
    return parsed, changes


def _parse(text: Column, spark_type: str) -> Column:
    """Return the value of a text of ISO 8601, in which PostgreSQL has ``BC``; null when there is none."""
    from pyspark.sql import functions as F  # noqa: N812

    year = F.regexp_extract(text, _BEFORE_CHRIST, 1).try_cast("int")
    before = F.concat(F.format_string("-%04d", year - 1), F.regexp_extract(text, _BEFORE_CHRIST, 2))
    iso = F.when(text.rlike(_BEFORE_CHRIST), before).otherwise(text)
    return iso.try_cast(spark_type)


def _replace_zero(text: Column, options: Mapping[str, str]) -> Column:
    """Return what a driver of MySQL gives for a date of zeros.

    MariaDB's driver gives null, that of MySQL fails unless ``zeroDateTimeBehavior`` says otherwise.
    """
    from pyspark.sql import functions as F  # noqa: N812

    found = _ZERO_BEHAVIOR.search(options["url"])
    if found is not None and found[1].lower() == "round":
        return F.regexp_replace(text, _ZERO, "0001-01-01")
    if found is not None or "mariadb" in options.get("driver", ""):
        return F.when(~text.rlike(_ZERO), text)
    return text
