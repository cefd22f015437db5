"""Functions of BigQuery's SQL on dates and times that DuckDB lacks, or has with another meaning.

DuckDB's types hold years before 1 and after 9999; a result outside of these years fails in BigQuery.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from localcdap.googlesql.time_texts import TimeParsingError, find_zone, name_zone

from .calls import call
from .sql import SqlError, build_translation_error, describe_position, find_argument

_Translation = Callable[[Any, str], None]
_WEEKDAYS: Final = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")
_FRACTIONS: Final = {"MILLISECOND": 1000, "MICROSECOND": 1_000_000}
"""Parts of a second as the largest number and one; DuckDB's have the seconds too."""
_PARSED: Final = {
    "ParseDatetime": "DATETIME",
    "ParseTime": "TIME",
    "StrToDate": "DATE",
    "StrToTime": "TIMESTAMP",
}


def translate_zones(parsed: Any, text: str) -> None:
    """Replace time zones by their names in DuckDB, in place: ``+05:30`` is ``GMT+05:30`` there.

    :raises SqlError: for a literal that is not a time zone.
    """
    from sqlglot import expressions as exp

    for node in list(parsed.walk()):
        zone = node.args.get("zone")
        if isinstance(node, exp.Datetime) and zone is None:
            moment = node.expression
            zone = moment if moment is not None and moment.is_string else None
        elif isinstance(node, exp.CurrentDate | exp.CurrentTime | exp.CurrentDatetime):
            zone = node.this
        if zone is None or isinstance(zone, exp.Null):
            continue
        if not zone.is_string:
            zone.replace(call("zone", zone))
            continue
        try:
            find_zone(zone.name)
        except TimeParsingError as error:
            raise SqlError(
                f"{error}{describe_position(text, node)}.",
                "Write a name such as 'Europe/Berlin', or an offset such as '+05:30'.",
            ) from None
        zone.replace(exp.Literal.string(name_zone(zone.name)))


def _check(node: Any, _: str) -> None:
    """Make a result outside the years 1 to 9999 fail."""
    node.replace(call("check_year", node))


def _translate_date(node: Any, _: str) -> None:
    if node.args.get("zone") is not None or node.this.is_string:
        node.replace(call("check_year", node))


def _translate_date_function(node: Any, _: str) -> None:
    """Return a date for a date and a datetime for a datetime; a text is a date."""
    from sqlglot import expressions as exp

    like = exp.cast(node.this.copy(), "DATE") if node.this.is_string else node.this.copy()
    node.replace(call("check_year", exp.func("CAST_TO_TYPE", node.copy(), like)))


def _translate_difference(node: Any, _: str) -> None:
    """Count the whole units between two timestamps, not the unit boundaries."""
    from sqlglot import expressions as exp

    unit = exp.Literal.string(node.args["unit"].name)
    node.replace(exp.func("DATESUB", unit, node.expression.copy(), node.this.copy()))


def _translate_truncation(node: Any, _: str) -> None:
    """Truncate a TIMESTAMP in its zone; sqlglot does so for some units only."""
    from sqlglot import expressions as exp

    zone = node.args.get("zone")
    if zone is None:
        node.replace(call("check_year", node))
        return
    local = exp.paren(exp.AtTimeZone(this=node.this.copy(), zone=zone.copy()))
    truncated = exp.DatetimeTrunc(this=local, unit=node.args["unit"].copy())
    node.replace(call("at_zone", truncated, zone))


def _translate_timestamp(node: Any, _: str) -> None:
    """Make a TIMESTAMP of what is in a zone; of a local time that occurs twice, the first is taken."""
    from sqlglot import expressions as exp

    zone = node.args.get("zone")
    if zone is None:
        node.replace(call("timestamp", node.this))
    else:
        moment = exp.cast(node.this.copy(), "TIMESTAMP", dialect="duckdb")
        node.replace(call("at_zone", moment, zone))


def _translate_datetime(node: Any, _: str) -> None:
    """Make a DATETIME, of a TIMESTAMP in a zone; sqlglot takes an offset for a time."""
    from sqlglot import expressions as exp

    more = node.expression
    if more is None:
        if not isinstance(node.parent, exp.TimeToStr):
            node.replace(call("datetime", node.this))
    elif more.is_string:
        moment = exp.cast(node.this.copy(), "TIMESTAMPTZ")
        node.replace(call("check_year", exp.AtTimeZone(this=moment, zone=more.copy())))
    else:
        node.replace(call("check_year", node))


def _translate_epoch(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    node.replace(call("check_year", exp.cast(node.copy(), "TIMESTAMPTZ")))


def _translate_date_from_unix(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    node.replace(call("check_year", exp.cast(node.copy(), "DATE")))


def _translate_parts(name: str, *keys: str) -> _Translation:
    """Return the translation that calls a function of the store with parts of a date or time."""
    return lambda node, _: node.replace(call(name, *(node.args[key] for key in keys)))


def _translate_parsing(node: Any, text: str) -> None:
    """Read a text by a format.

    :raises SqlError: for a format that is not a literal.
    """
    from sqlglot import expressions as exp

    kind = _PARSED[type(node).__name__]
    format = find_argument(text, node.meta.get("start"), 0)
    if format is None and node.args["format"].is_string:
        format = node.args["format"].name  # of CAST … AS DATE FORMAT
    if format is None:
        raise build_translation_error(node, text, "Write the format as a text in quotes.")
    zone = node.args.get("zone") or exp.Literal.string("UTC")
    arguments = [exp.Literal.string(each) for each in (format, kind)]
    moment = call("parse_moment", arguments[0], node.this, arguments[1], zone)
    types = {"TIMESTAMP": "TIMESTAMPTZ", "DATETIME": "DATETIME"}
    node.replace(exp.cast(moment, types.get(kind, kind)))


def _translate_time(node: Any, _: str) -> None:
    """Make the TIME of a TIMESTAMP, in its zone or in UTC."""
    from sqlglot import expressions as exp

    zone = node.args.get("zone")
    is_formatted = isinstance(node.parent, exp.TimeToStr)
    if zone is None and not is_formatted and not isinstance(node.this, exp.Literal):
        moment = exp.cast(node.this.copy(), "TIMESTAMP", dialect="duckdb")
        node.replace(exp.cast(moment, "TIME"))


def _translate_current_datetime(node: Any, _: str) -> None:
    node.replace(_get_now(node))


def _translate_current_time(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    node.replace(exp.cast(exp.paren(_get_now(node)), "TIME"))


def _get_now(node: Any) -> Any:
    from sqlglot import expressions as exp

    zone = node.this.copy() if node.this else exp.Literal.string("UTC")
    return exp.AtTimeZone(this=exp.CurrentTimestamp(), zone=zone)


def _translate_unix(divisor: int) -> _Translation:
    """Return the translation to whole units since 1970, rounded down."""

    def translate(node: Any, _: str) -> None:
        from sqlglot import expressions as exp

        micros = exp.Anonymous(this="EPOCH_US", expressions=[node.this.copy()])
        node.replace(call("floor_divide", micros, exp.Literal.number(divisor)))

    return translate


def _translate_series(node: Any, _: str) -> None:
    """Fail for a step of nothing, with which DuckDB's series of dates is empty."""
    step = node.args.get("step")
    if step is not None:
        node.set("step", call("check_step", step))


def _translate_extract(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    part, value = node.this.sql(dialect="bigquery").upper(), node.expression.copy()
    if part in ("DATE", "DATETIME", "TIME"):
        moment = value if part == "DATE" else exp.cast(value, "TIMESTAMP", dialect="duckdb")
        made = exp.cast(moment, part) if part != "DATETIME" else moment
        node.replace(call("check_year", made) if part != "TIME" else made)
        return
    if part.startswith("WEEK"):
        day = part[5:-1] or "SUNDAY"
        node.replace(call("week", value, exp.Literal.number(_WEEKDAYS.index(day))))
        return
    shown = exp.Literal.string("week" if part == "ISOWEEK" else part.lower())
    number = exp.Anonymous(this="DATE_PART", expressions=[shown, value])
    if part in _FRACTIONS:
        within = exp.Literal.number(_FRACTIONS[part])
        node.replace(exp.paren(exp.Mod(this=number, expression=within)))
    elif part == "DAYOFWEEK":
        # Sunday is 1 in BigQuery and 0 in DuckDB.
        node.replace(exp.paren(exp.Add(this=number, expression=exp.Literal.number(1))))
    else:
        node.replace(number)


TIMES: Final[dict[str, _Translation]] = {
    "CurrentDatetime": _translate_current_datetime,
    "CurrentTime": _translate_current_time,
    "Date": _translate_date,
    "DateAdd": _translate_date_function,
    "DateFromParts": _check,
    "DateFromUnixDate": _translate_date_from_unix,
    "DateSub": _translate_date_function,
    "DateTrunc": _translate_date_function,
    "Datetime": _translate_datetime,
    "DatetimeAdd": _check,
    "DatetimeSub": _check,
    "DatetimeTrunc": _check,
    "Extract": _translate_extract,
    "GenerateDateArray": _translate_series,
    "GenerateTimestampArray": _translate_series,
    "LastDay": _check,
    "ParseDatetime": _translate_parsing,
    "ParseTime": _translate_parsing,
    "StrToDate": _translate_parsing,
    "StrToTime": _translate_parsing,
    "Time": _translate_time,
    "TimeFromParts": _translate_parts("make_time", "hour", "min", "sec"),
    "Timestamp": _translate_timestamp,
    "TimestampAdd": _check,
    "TimestampDiff": _translate_difference,
    "TimestampFromParts": _translate_parts(
        "make_datetime", "year", "month", "day", "hour", "min", "sec"
    ),
    "TimestampSub": _check,
    "TimestampTrunc": _translate_truncation,
    "TsOrDsToDatetime": _translate_datetime,
    "TsOrDsToTime": _translate_time,
    "UnixMillis": _translate_unix(1000),
    "UnixSeconds": _translate_unix(1_000_000),
    "UnixToTime": _translate_epoch,
}
"""By class name of sqlglot's nodes, because not every version of sqlglot has all classes."""
