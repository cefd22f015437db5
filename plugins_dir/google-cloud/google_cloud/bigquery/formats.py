"""Translation of BigQuery's format strings: FORMAT, FORMAT_DATE, FORMAT_TIMESTAMP … to expressions of DuckDB.

The elements are those of BigQuery's reference ("Format elements", and "FORMAT" of the string functions).
DuckDB interprets some of them differently: ``%g`` are milliseconds and ``%n`` nanoseconds there.
"""

from __future__ import annotations

import re
from typing import Any, Final

from localcdap.googlesql.string_format import FormatPatternError, check_pattern, format_string

from .calls import call
from .sql import SqlError, build_translation_error, describe_position, find_argument

_ELEMENTS: Final = re.compile(r"%(?:E[*\d]S|E4Y|Ez|.)|[^%]+|%", re.DOTALL)
_SAME: Final = frozenset("aAbBdGhHIjmMpSuUVwWy%")
"""The letters of elements that mean the same to DuckDB's ``strftime``."""
_RENAMED: Final = {
    "%": "%%",
    "%D": "%m/%d/%y",
    "%E4Y": "%Y",
    "%F": "%Y-%m-%d",
    "%R": "%H:%M",
    "%T": "%H:%M:%S",
    "%X": "%H:%M:%S",
    "%Ez": "+00:00",
    "%Z": "UTC",
    "%n": "\n",
    "%r": "%I:%M:%S %p",
    "%t": "\t",
    "%x": "%m/%d/%y",
    "%z": "+0000",
}
"""Elements as others of ``strftime``. The offsets are those of times without a zone of their own, in UTC."""
_OFFSETS: Final = ("%Ez", "%Z", "%z")
_LACKED: Final = {
    "TsOrDsToDate": "cHIklMPpRrSsTXZz",
    "TsOrDsToDatetime": "Zz",
    "TsOrDsToTime": "AaBbhCcDdeFGgjmQsUuVWwxYyZz",
}
"""The letters of the elements that a date, datetime or time lacks, by sqlglot's nodes; BigQuery prints them
as they are written (``SanitizeFormat`` of ``zetasql/public/functions/date_time_util.cc``)."""
_COMPUTED: Final = {
    "%C": "lpad(CAST(year(v) // 100 AS VARCHAR), 2, '0')",
    "%E*S": "regexp_replace(strftime(v, '%S.%f'), '[.]?0*$', '')",
    "%P": "lower(strftime(v, '%p'))",
    "%Q": "CAST(quarter(v) AS VARCHAR)",
    "%Y": "CAST(year(v) AS VARCHAR)",  # without zeros before a year before 1000
    "%e": "lpad(CAST(day(v) AS VARCHAR), 2, ' ')",
    "%g": "right(strftime(v, '%G'), 2)",
    "%k": "lpad(strftime(v, '%-H'), 2, ' ')",
    "%l": "lpad(strftime(v, '%-I'), 2, ' ')",
    "%s": "CAST(CAST(floor(epoch(v)) AS BIGINT) AS VARCHAR)",
}
"""Elements as expressions of DuckDB on the value ``v``."""


def translate_time_format(node: Any, text: str) -> None:
    """Replace FORMAT_DATE, FORMAT_DATETIME, FORMAT_TIME or FORMAT_TIMESTAMP, in place.

    :raises SqlError: for a format that is not a literal, and for an element without an equivalent.
    """
    from sqlglot import expressions as exp

    format = find_argument(text, node.meta.get("start"), 0)  # sqlglot replaces elements in its own
    if format is None:
        raise build_translation_error(node, text, "Write the format as a text in quotes.")
    value = _find_time(node)
    parts: list[Any] = []
    pending = ""
    for element in _ELEMENTS.findall(format.replace("%c", "%a %b %e %H:%M:%S %Y")):
        _refuse_element(node, element, text)
        plain = _RENAMED.get(element, element)
        if element in _COMPUTED:
            parts += [_format_time(value, pending)] if pending else []
            moment = node.this.this if element == "%s" and node.args.get("zone") else value
            parts.append(_build(_COMPUTED[element], moment))
            pending = ""
        elif re.fullmatch(r"%E\dS", element):
            pending += "%S"
            digits = int(element[2])
            if digits:
                parts.append(_format_time(value, pending + "."))
                parts.append(_build(f"left(strftime(v, '%f000'), {digits})", value))
                pending = ""
        elif element.startswith("%") and element in _RENAMED:
            pending += plain
        elif not element.startswith("%") or element[1:] in _SAME:
            pending += element
        else:
            raise build_translation_error(node, text, f"Write the format without '{element}'.")
    if pending:
        parts.append(_format_time(value, pending))
    node.replace(_concatenate(parts) if parts else exp.Literal.string(""))


def _refuse_element(node: Any, element: str, text: str) -> None:
    """Refuse an element that has no value, or one that is not known here."""
    if node.args.get("zone") is not None and element in _OFFSETS:
        raise build_translation_error(node, text, f"Remove '{element}', or the time zone.")
    if element.startswith("%") and element[-1] in _LACKED.get(type(node.this).__name__, ""):
        raise build_translation_error(node, text, f"Remove '{element}', which the value lacks.")


def _find_time(node: Any) -> Any:
    """Return the value that a function formats, as a date or timestamp of DuckDB."""
    from sqlglot import expressions as exp

    value = node.this
    if type(value).__name__ == "TsOrDsToTime":
        # strftime formats no times.
        return exp.paren(
            exp.Add(
                this=exp.cast(exp.Literal.string("1970-01-01"), "DATE"), expression=value.copy()
            )
        )
    zone = node.args.get("zone")
    if zone is None:
        return value.copy()
    return exp.paren(exp.AtTimeZone(this=value.this.copy(), zone=zone.copy()))


def _format_time(value: Any, format: str) -> Any:
    from sqlglot import expressions as exp

    arguments = [value.copy(), exp.Literal.string(format)]
    return exp.Anonymous(this="STRFTIME", expressions=arguments)


def translate_format(node: Any, text: str) -> None:
    """Replace FORMAT, in place, by the function that formats values of all types.

    :raises SqlError: for a literal format that is invalid, or has another number of specifiers.
    """
    from sqlglot import expressions as exp

    if node.this.is_string:
        try:
            check_pattern(node.this.name, len(node.expressions))
        except FormatPatternError as error:
            raise SqlError(
                f"{error}{describe_position(text, node)}.", "Write a specifier for each value."
            ) from None
        if not node.expressions:
            node.replace(exp.Literal.string(format_string(node.this.name, [])))
            return
    arguments = [node.this.copy()]
    for value in node.expressions:
        arguments += [exp.Anonymous(this="TYPEOF", expressions=[value.copy()]), value.copy()]
    node.replace(call("format", *arguments))


def _build(template: str, value: Any) -> Any:
    """Return an expression of DuckDB with the value in the place of ``v``."""
    from sqlglot import expressions as exp
    from sqlglot import parse_one

    built = parse_one(template, dialect="duckdb")
    for column in list(built.find_all(exp.Column)):
        column.replace(exp.paren(value.copy()))
    return built


def _concatenate(parts: list[Any]) -> Any:
    from sqlglot import expressions as exp

    joined = parts[0]
    for part in parts[1:]:
        joined = exp.DPipe(this=joined, expression=part, safe=True)
    return exp.paren(joined) if len(parts) > 1 else joined
