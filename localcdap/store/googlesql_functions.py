"""Functions with the meaning of GoogleSQL, for statements that were translated from it.

They exist in each DuckDB in which such a statement or a view runs. Those whose result does not depend on
Python are macros, which DuckDB replaces by their expressions.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from localcdap.googlesql.assignments import check_assignment
from localcdap.googlesql.casts import CastError, divide_numerics, parse_int64, to_string
from localcdap.googlesql.fingerprint import farm_fingerprint
from localcdap.googlesql.json_paths import find_json, find_scalar, list_json, list_scalars
from localcdap.googlesql.json_strings import to_json_string
from localcdap.googlesql.string_format import format_string
from localcdap.googlesql.strings import (
    StringError,
    find_position,
    measure_distance,
    normalize,
    soundex,
    translate,
)
from localcdap.googlesql.time_texts import name_zone, parse_time
from localcdap.googlesql.type_names import check_compared, check_difference, check_type

if TYPE_CHECKING:
    import duckdb

PREFIX: Final = "googlesql_"
_REGISTERING: Final = threading.Lock()
_IS_REGISTERED: Final = "SELECT 1 FROM duckdb_functions() WHERE function_name = ? LIMIT 1"
_MASK: Final = 2**64 - 1
_DATE: Final = r"(\d{3}[1-9]|\d{2}[1-9]\d|\d[1-9]\d{2}|[1-9]\d{3})-\d{1,2}-\d{1,2}"
_TIME: Final = r"([01]?\d|2[0-3]):\d{1,2}:\d{1,2}(\.\d{0,6})?"
_ZONE: Final = r"( ?([Zz]|[-+](0?\d|1[0-4])(:?\d{2})?)| [A-Za-z][\w/+-]*)?"
_CLOCK: Final = r"\d\d:\d\d:\d\d(\.\d+)?"
_TEXT: Final = "CAST(v AS VARCHAR)"


def uses_functions(statements: Iterable[str]) -> bool:
    """Return whether statements may call the functions."""
    return any(PREFIX in statement.lower() for statement in statements)


class GoogleSqlError(ValueError):
    """A value that a function of GoogleSQL does not take."""


def register_functions(engine: duckdb.DuckDBPyConnection) -> None:
    """Define the functions for a connection. Those in Python exist once in a database, also in one on disk,
    and end when it is closed.
    """
    with _REGISTERING:
        if not engine.execute(_IS_REGISTERED, [f"{PREFIX}fail"]).fetchall():
            for name, (function, type) in _FUNCTIONS.items():
                engine.create_function(PREFIX + name, function, None, type, null_handling="special")
    for definition in _MACROS:
        engine.execute(f"CREATE OR REPLACE TEMP MACRO {PREFIX}{definition}")


def _format(pattern: str | None, *arguments: Any) -> str | None:
    """FORMAT: the arguments are the name of a type in DuckDB and a value, in turn."""
    return format_string(pattern, list(zip(arguments[::2], arguments[1::2], strict=True)))


def _encode(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _shift(value: int, bits: int) -> int:
    """Shift the 64 bits of a number to the left, or to the right when ``bits`` is negative."""
    bits = max(-64, min(bits, 64))
    pattern = value & _MASK
    made = (pattern << bits if bits >= 0 else pattern >> -bits) & _MASK
    return made - 2**64 if made >= 2**63 else made


def _to_string_or_null(value: Any) -> str | None:
    try:
        return to_string(value)
    except CastError:
        return None


def _parse_int64_or_null(text: str) -> int | None:
    try:
        return parse_int64(text)
    except CastError:
        return None


def _list_code_points(value: Any) -> list[int]:
    return list(value) if isinstance(value, bytes) else [ord(each) for each in value]


def _join_code_points(points: list[int | None]) -> str | None:
    if None in points:
        return None
    try:
        return "".join(chr(each or 0) for each in points)
    except (OverflowError, ValueError):
        raise StringError("Invalid codepoint in CODE_POINTS_TO_STRING") from None


def _join_bytes(points: list[int | None]) -> bytes | None:
    if None in points:
        return None
    try:
        return bytes(each or 0 for each in points)
    except ValueError:
        raise StringError("Invalid extended ASCII code point in CODE_POINTS_TO_BYTES") from None


def _unless_null(function: Any) -> Any:
    """Return a function whose result is null when an argument is."""

    def call(*arguments: Any) -> Any:
        if any(argument is None for argument in arguments):
            return None
        try:
            return function(*arguments)
        except (AttributeError, TypeError):
            raise GoogleSqlError("An argument has a type that its function does not take") from None

    return call


def _fail(message: str) -> None:
    """Fail with a message; unlike DuckDB's ``error``, it can be in what TRY tries."""
    raise GoogleSqlError(message)


def _check_assignment(columns: str, values: str, inserts: bool) -> bool:
    return check_assignment(columns, values, inserts=inserts)


_FUNCTIONS: Final[dict[str, tuple[Any, str]]] = {
    "fail": (_fail, "BIGINT"),
    "check_assignment": (_check_assignment, "BOOLEAN"),
    "check_compared": (check_compared, "VARCHAR"),
    "check_difference": (check_difference, "VARCHAR"),
    "check_type": (check_type, "VARCHAR"),
    "format": (_format, "VARCHAR"),
    "farm_fingerprint": (_unless_null(lambda v: farm_fingerprint(_encode(v))), "BIGINT"),
    "divide_numerics": (_unless_null(divide_numerics), "DECIMAL(38, 9)"),
    "parse_int64": (_unless_null(parse_int64), "BIGINT"),
    "parse_int64_or_null": (_unless_null(_parse_int64_or_null), "BIGINT"),
    "to_json_string": (to_json_string, "VARCHAR"),
    "to_string": (_unless_null(to_string), "VARCHAR"),
    "to_string_or_null": (_unless_null(_to_string_or_null), "VARCHAR"),
    "json_scalar": (_unless_null(find_scalar), "VARCHAR"),
    "json_part": (_unless_null(find_json), "VARCHAR"),
    "json_scalars": (_unless_null(list_scalars), "VARCHAR[]"),
    "edit_distance": (_unless_null(measure_distance), "BIGINT"),
    "lower_unicode": (_unless_null(str.lower), "VARCHAR"),
    "json_parts": (_unless_null(list_json), "VARCHAR[]"),
    "parse_moment": (_unless_null(parse_time), "TIMESTAMP"),
    "zone": (_unless_null(name_zone), "VARCHAR"),
    "reverse": (_unless_null(lambda v: v[::-1]), "VARCHAR"),
    "shift": (_unless_null(_shift), "BIGINT"),
    "instr": (_unless_null(find_position), "BIGINT"),
    "soundex": (_unless_null(soundex), "VARCHAR"),
    "normalize": (_unless_null(normalize), "VARCHAR"),
    "casefold": (_unless_null(lambda v, form: normalize(v, form, folds_case=True)), "VARCHAR"),
    "translate": (_unless_null(translate), "VARCHAR"),
    "upper_unicode": (_unless_null(str.upper), "VARCHAR"),
    "sha512": (_unless_null(lambda v: hashlib.sha512(_encode(v)).digest()), "BLOB"),
    "to_code_points": (_unless_null(_list_code_points), "BIGINT[]"),
    "code_points_to_string": (_unless_null(_join_code_points), "VARCHAR"),
    "code_points_to_bytes": (_unless_null(_join_bytes), "BLOB"),
    "bytes_to_string": (_unless_null(lambda v: bytes(v).decode(errors="replace")), "VARCHAR"),
}


def _define_cast(name: str, type: str, wrong: str, message: str, right: str = "") -> list[str]:
    """Return the macros of a cast, and of the safe cast, that reads texts more strictly than DuckDB.

    :param wrong: whether a text is wrong, as a condition on ``v``.
    :param message: with ``{}`` in the place of the text.
    :param right: the value of a text that is not wrong; by default the cast.
    """
    text = "typeof(v) = 'VARCHAR'"
    # A TIMESTAMP WITH TIME ZONE does not become a TIME in DuckDB.
    value = f"regexp_extract({_TEXT}, '{_CLOCK}')" if type == "TIME" else "v"
    shown = f" || {_TEXT} || ".join(f"'{part}'" for part in message.split("{}"))
    made = right or f"CAST({_TEXT} AS {type})"
    tried = right or f"TRY_CAST({_TEXT} AS {type})"
    if type == "TIMESTAMPTZ":  # an offset may lead out of the years 1 to 9999
        made = f"googlesql_check_year({made})"
        tried = f"CASE WHEN year(CAST({tried} AS TIMESTAMP)) BETWEEN 1 AND 9999 THEN {tried} END"
    return [
        (
            f"{name}(v) AS CASE WHEN {text} AND {wrong} THEN CAST({_fail_with(shown)} AS {type}) "
            f"WHEN {text} THEN {made} ELSE CAST({value} AS {type}) END"
        ),
        (
            f"safe_{name}(v) AS CASE WHEN {text} AND {wrong} THEN NULL "
            f"WHEN {text} THEN {tried} ELSE TRY_CAST({value} AS {type}) END"
        ),
    ]


def _define_time_cast(name: str, type: str, pattern: str, message: str) -> list[str]:
    return _define_cast(name, type, f"NOT regexp_full_match({_TEXT}, '{pattern}')", message)


def _fail_with(message: str) -> str:
    """Return the call that fails with a message, an expression of DuckDB."""
    return f"googlesql_fail({message})"


def _refuse_negative(value: str, message: str) -> str:
    return f"CASE WHEN {value} < 0 THEN {_fail_with(repr(message))} ELSE {value} END"


def _check_float(value: str, wrong: str, message: str) -> str:
    return f"CASE WHEN {wrong} THEN CAST({_fail_with(message)} AS DOUBLE) ELSE {value} END"


_SIMPLE: Final = "typeof(v) IN ('VARCHAR', 'BIGINT', 'INTEGER', 'HUGEINT', 'BOOLEAN', 'DATE')"
_NAN: Final = "(typeof({0}) = 'DOUBLE' AND isnan(CAST({0} AS DOUBLE)))"
_START: Final = "CASE WHEN p = 0 OR p < -length(v) THEN 1 ELSE p END"
_SPACES: Final = r"[\s\v\x{85}\x{a0}\x{2028}\x{2029}\p{Zs}]+"
_INDEX: Final = _fail_with("'Array index ' || i || ' is out of bounds'")
_FLOAT_ERROR: Final = "'Floating point error in function: {}(' || {} || ')'"
_PAD_SIZE: Final = "'Second argument (output size) for LPAD/RPAD cannot be negative'"
_PAD_PATTERN: Final = "'Third argument (pad pattern) for LPAD/RPAD cannot be empty'"
_NOT_FINITE: Final = "(isinf({0}) OR isnan({0}))"
_YEAR: Final = "year(CAST(v AS TIMESTAMP))"
"""The year of a TIMESTAMP WITH TIME ZONE has no sign in DuckDB."""
_OVERFLOW: Final = f"'date or time overflow: year ' || {_YEAR}"
_WRONG_TIME: Final = _fail_with("'Input calculates to invalid time: ' || h || ':' || n || ':' || s")
_DOUBLE_OVERFLOW: Final = _fail_with("'double overflow'")
_DATE_OVERFLOW: Final = _fail_with(f"'date or time overflow: ' || {_TEXT}")
_DATES: Final = "('DATE', 'TIMESTAMP', 'TIMESTAMP WITH TIME ZONE')"
_IS_VALUE: Final = "isfinite(CAST({} AS DOUBLE))"
_IS_NUMBER_TEXT: Final = "(e IS NULL OR CAST(e AS VARCHAR) <> 'nan')"
_IS_NUMBER: Final = "NOT isnan(CAST(v AS DOUBLE))"
_SECONDS: Final = "epoch(v AT TIME ZONE z) - epoch(v AT TIME ZONE 'UTC')"
_MINUTES: Final = f"CAST(trunc(({_SECONDS}) / 60) AS BIGINT)"
"""The offset of a zone; that of a local mean time is cut to minutes."""
_LOCAL: Final = f"(v AT TIME ZONE 'UTC') + to_minutes({_MINUTES})"
_AT_ZONE: Final = "(v AT TIME ZONE z)"
_MACROS: Final = (
    f"equal(a, b) AS a = b AND (NOT {_NAN.format('a')} OR b IS NULL)",
    f"not_equal(a, b) AS a <> b OR ({_NAN.format('a')} AND b IS NOT NULL)",
    f"least(most, v) AS CASE WHEN {_NAN.format('most')} THEN most ELSE v END",
    f"sign(v) AS cast_to_type(CASE WHEN {_NAN.format('v')} THEN v ELSE sign(v) END, v)",
    (
        f"check_year(v) AS CASE WHEN {_YEAR} NOT BETWEEN 1 AND 9999 THEN cast_to_type(CAST("
        f"{_fail_with(_OVERFLOW)} AS VARCHAR), v) ELSE v END"
    ),
    (
        f"at_zone(v, z) AS googlesql_check_year({_AT_ZONE} - CASE "
        f"WHEN ({_AT_ZONE} - INTERVAL 1 HOUR) AT TIME ZONE z = v THEN INTERVAL 1 HOUR "
        f"WHEN ({_AT_ZONE} - INTERVAL 30 MINUTE) AT TIME ZONE z = v THEN INTERVAL 30 MINUTE "
        "ELSE INTERVAL 0 HOUR END)"
    ),
    (
        "make_time(h, n, s) AS CASE WHEN h NOT BETWEEN 0 AND 23 OR n NOT BETWEEN 0 AND 59 "
        f"OR s NOT BETWEEN 0 AND 60 THEN CAST(CAST({_WRONG_TIME} AS VARCHAR) AS TIME) "
        "WHEN s = 60 THEN make_time(h, n, 59) + INTERVAL 1 SECOND ELSE make_time(h, n, s) END"
    ),
    (
        "make_datetime(y, m, d, h, n, s) AS googlesql_check_year(CASE WHEN h NOT BETWEEN 0 AND 23 "
        f"THEN CAST(CAST({_WRONG_TIME} AS VARCHAR) AS TIMESTAMP) "
        "ELSE make_timestamp(y, m, d, h, n, s) END)"
    ),
    (
        "check_step(v) AS CASE WHEN v = INTERVAL 0 HOUR THEN "
        f"""CAST(CAST({_fail_with("'Sequence step cannot be 0.'")} AS VARCHAR) AS INTERVAL) ELSE v END"""
    ),
    "week(v, start) AS (dayofyear(v) + 6 - (dayofweek(v) - start + 7) % 7) // 7",
    f"is_nan(v) AS {_NAN.format('v')}",
    (
        "place_nan(v, is_last) AS CASE WHEN typeof(v) <> 'DOUBLE[]' THEN v WHEN is_last "
        f"THEN list_concat(list_filter(v, lambda e: {_IS_NUMBER_TEXT}), "
        f"list_filter(v, lambda e: NOT {_IS_NUMBER_TEXT})) "
        f"ELSE list_concat(list_filter(v, lambda e: NOT {_IS_NUMBER_TEXT}), "
        f"list_filter(v, lambda e: {_IS_NUMBER_TEXT})) END"
    ),
    "is_no_nan(v) AS CASE WHEN typeof(v) <> 'DOUBLE' THEN TRUE ELSE NOT isnan(CAST(v AS DOUBLE)) END",
    "is_finite(v) AS typeof(v) <> 'DOUBLE' OR isfinite(CAST(v AS DOUBLE))",
    (
        "result(v, is_of_numbers) AS CASE WHEN typeof(v) = 'DOUBLE' AND NOT isfinite(CAST(v AS DOUBLE)) "
        f"AND is_of_numbers THEN cast_to_type({_DOUBLE_OVERFLOW}, v) "
        f"WHEN typeof(v) IN {_DATES} AND regexp_matches({_TEXT}, '^[0-9]{{5}}|BC') "
        f"THEN cast_to_type(CAST({_DATE_OVERFLOW} AS VARCHAR), v) ELSE v END"
    ),
    (
        "json_value(v, p) AS CASE WHEN typeof(v) = 'JSON' THEN json_extract_string(v, p) "
        f"ELSE googlesql_json_scalar({_TEXT}, p) END"
    ),
    f"less(a, b) AS a < b AND (NOT {_NAN.format('b')} OR a IS NULL)",
    f"less_or_equal(a, b) AS a <= b AND (NOT {_NAN.format('b')} OR a IS NULL)",
    (
        "int64(v) AS CASE WHEN typeof(v) = 'VARCHAR' THEN googlesql_parse_int64(v) "
        "WHEN typeof(v) = 'DOUBLE' THEN CAST(round(CAST(v AS DOUBLE)) AS BIGINT) "
        "ELSE CAST(CAST(v AS DECIMAL(38, 18)) AS BIGINT) END"
    ),
    (
        "safe_int64(v) AS CASE WHEN typeof(v) = 'VARCHAR' THEN googlesql_parse_int64_or_null(v) "
        "WHEN typeof(v) = 'DOUBLE' THEN TRY_CAST(round(CAST(v AS DOUBLE)) AS BIGINT) "
        "ELSE TRY_CAST(TRY_CAST(v AS DECIMAL(38, 18)) AS BIGINT) END"
    ),
    f"string(v) AS CASE WHEN {_SIMPLE} THEN {_TEXT} ELSE googlesql_to_string(v) END",
    f"safe_string(v) AS CASE WHEN {_SIMPLE} THEN {_TEXT} ELSE googlesql_to_string_or_null(v) END",
    f"bytes(v) AS CASE WHEN typeof(v) = 'VARCHAR' THEN encode({_TEXT}) ELSE CAST(v AS BLOB) END",
    *_define_cast(
        "bool",
        "BOOLEAN",
        f"lower({_TEXT}) NOT IN ('true', 'false')",
        "Bad bool value: {}",
        f"lower({_TEXT}) = 'true'",
    ),
    *_define_cast("double", "DOUBLE", f"contains({_TEXT}, '_')", "Bad double value: {}"),
    *_define_time_cast("date", "DATE", _DATE, "Invalid date: ''{}''"),
    *_define_time_cast(
        "datetime", "TIMESTAMP", f"{_DATE}([ Tt]{_TIME})?", 'Invalid datetime string "{}"'
    ),
    *_define_time_cast(
        "timestamp", "TIMESTAMPTZ", f"{_DATE}([ Tt]{_TIME})?{_ZONE}", "Invalid timestamp: ''{}''"
    ),
    *_define_time_cast("time", "TIME", _TIME, 'Invalid time string "{}"'),
    (
        f"substr(v, p) AS substring(v, {_START}), (v, p, n) AS substring(v, {_START}, "
        f"{_refuse_negative('n', 'Third argument in SUBSTR() cannot be negative')})"
    ),
    f"left(v, n) AS left(v, {_refuse_negative('n', 'Second argument in LEFT() cannot be negative')})",
    (
        "right(v, n) AS right(v, "
        f"{_refuse_negative('n', 'Second argument in RIGHT() cannot be negative')})"
    ),
    (
        "repeat(v, n) AS repeat(v, "
        f"{_refuse_negative('n', 'Second argument (repeat count) for REPEAT cannot be negative')})"
    ),
    *(
        f"{name}(v, n, p) AS {name}(v, CAST(CASE WHEN n < 0 THEN {_fail_with(_PAD_SIZE)} "
        f"WHEN p = '' THEN {_fail_with(_PAD_PATTERN)} ELSE n END AS INTEGER), p)"
        for name in ("lpad", "rpad")
    ),
    (
        "byte_length(v) AS CASE WHEN typeof(v) = 'BLOB' THEN octet_length(CAST(v AS BLOB)) "
        f"ELSE octet_length(encode({_TEXT})) END"
    ),
    f"ltrim(v) AS regexp_replace(v, '^{_SPACES}', '')",
    f"rtrim(v) AS regexp_replace(v, '{_SPACES}$', '')",
    f"trim(v) AS regexp_replace(v, '^{_SPACES}|{_SPACES}$', '', 'g')",
    "upper(v) AS CASE WHEN strlen(upper(v)) = length(v) THEN upper(v) ELSE googlesql_upper_unicode(v) END",
    "lower(v) AS CASE WHEN contains(v, '\u0130') THEN googlesql_lower_unicode(v) ELSE lower(v) END",
    "array_concat(a, b) AS CASE WHEN a IS NULL OR b IS NULL THEN NULL ELSE list_concat(a, b) END",
    "unicode(v) AS CASE WHEN v = '' THEN 0 ELSE unicode(v) END",
    f"element(v, i) AS v[CASE WHEN i < 1 OR i > len(v) THEN {_INDEX} ELSE i END]",
    f"element_from_zero(v, i) AS v[CASE WHEN i < 0 OR i >= len(v) THEN {_INDEX} ELSE i + 1 END]",
    "floor_divide(v, n) AS (v - (v % n + n) % n) // n",
    "sqrt(v) AS "
    + _check_float("sqrt(v)", "v < 0", "'Argument to SQRT cannot be negative: ' || v"),
    "log10(v) AS " + _check_float("log10(v)", "v <= 0", _FLOAT_ERROR.format("LOG10", "v")),
    *(
        f"{name}(v) AS " + _check_float(f"{name}(v)", wrong, _FLOAT_ERROR.format(name.upper(), "v"))
        for name, wrong in (
            ("acos", f"abs(v) > 1 AND {_IS_NUMBER}"),
            ("acosh", "v < 1"),
            ("asin", f"abs(v) > 1 AND {_IS_NUMBER}"),
            ("atanh", f"abs(v) >= 1 AND {_IS_NUMBER}"),
            ("cosh", f"isinf(cosh(v)) AND {_IS_VALUE.format('v')}"),
            ("sinh", f"isinf(sinh(v)) AND {_IS_VALUE.format('v')}"),
        )
    ),
    "error(v) AS error(coalesce(v, 'ERROR function called with NULL value'))",
    (
        "ascii(v) AS CASE WHEN ascii(v) > 127 THEN "
        + _fail_with("'Argument to ASCII is not a structurally valid ASCII string: ' || v")
        + " ELSE ascii(v) END"
    ),
    "ln(v) AS " + _check_float("ln(v)", "v <= 0", _FLOAT_ERROR.format("LN", "v")),
    "log(v, b) AS "
    + _check_float(
        "ln(v) / ln(b)", "v <= 0 OR b <= 0 OR b = 1", _FLOAT_ERROR.format("LOG", "v || ', ' || b")
    ),
    "exp(v) AS "
    + _check_float(
        "exp(v)", f"isinf(exp(v)) AND {_IS_VALUE.format('v')}", _FLOAT_ERROR.format("EXP", "v")
    ),
    "pow(v, n) AS "
    + _check_float(
        "pow(v, n)",
        f"{_NOT_FINITE.format('pow(v, n)')} AND {_IS_VALUE.format('v')} AND {_IS_VALUE.format('n')}",
        _FLOAT_ERROR.format("POW", "v || ', ' || n"),
    ),
    (
        f"zoned_string(v, z) AS googlesql_to_string(googlesql_check_year({_LOCAL})) "
        f"|| CASE WHEN {_MINUTES} < 0 THEN '-' ELSE '+' END "
        f"|| lpad(CAST(abs({_MINUTES}) // 60 AS VARCHAR), 2, '0') "
        f"|| CASE WHEN {_MINUTES} % 60 = 0 THEN '' "
        f"ELSE ':' || lpad(CAST(abs({_MINUTES}) % 60 AS VARCHAR), 2, '0') END"
    ),
)
