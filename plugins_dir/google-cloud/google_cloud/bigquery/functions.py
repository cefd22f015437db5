"""Functions of BigQuery's SQL that DuckDB lacks, or has with another meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from localcdap.googlesql.json_paths import ExtractionPathError, read_path

from .calls import (
    call,
    choose_by_type,
    get_type_name,
    is_numeric,
    list_arguments,
    list_operands,
)
from .casts import NUMERIC
from .sql import SqlError, build_translation_error, describe_position, find_argument

_Translation = Callable[[Any, str], None]


def _call(name: str) -> _Translation:
    """Return the translation that calls a function of the store with the same arguments."""
    return lambda node, _: node.replace(call(name, *list_arguments(node)))


def _translate_substring(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    start, length = node.args.get("start"), node.args.get("length")
    is_plain = isinstance(start, exp.Literal) and int(start.name) > 0
    if not is_plain or (length is not None and not isinstance(length, exp.Literal)):
        node.replace(call("substr", *list_arguments(node)))


def _translate_size(name: str, key: str) -> _Translation:
    """Return the translation of a function whose size must not be negative."""

    def translate(node: Any, _: str) -> None:
        from sqlglot import expressions as exp

        if not isinstance(node.args[key], exp.Literal):
            node.replace(call(name, *list_arguments(node)))

    return translate


def _translate_trim(node: Any, _: str) -> None:
    """Trim all white space where no characters are given; DuckDB trims blanks only."""
    if node.expression is None:
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")), "trim")
        node.replace(call(name, node.this))


def _translate_position(node: Any, _: str) -> None:
    """Translate INSTR; STRPOS has neither position nor occurrence."""
    from sqlglot import expressions as exp

    position, occurrence = node.args.get("position"), node.args.get("occurrence")
    if position is None and occurrence is None:
        return
    start = exp.Literal.number(1) if position is None else position
    node.replace(call("instr", node.this, node.args["substr"], start, *filter(None, [occurrence])))


def _translate_like(node: Any, _: str) -> None:
    """Make the backslash escape; DuckDB's LIKE has no default escape character."""
    from sqlglot import expressions as exp

    pattern = node.expression
    is_plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.name
    if not is_plain and not isinstance(node.parent, exp.Escape):
        node.replace(exp.Escape(this=node.copy(), expression=exp.Literal.string("\\")))


def _translate_element(node: Any, _: str) -> None:
    """Make an index out of bounds fail, which is null in DuckDB."""
    index = node.expressions[0]
    if node.args.get("safe") or index.is_string:
        return
    name = "element" if node.args.get("offset") == 1 else "element_from_zero"
    node.replace(call(name, node.this, index))


def _translate_array_slice(node: Any, _: str) -> None:
    """Count positions from 0, and from the end when they are negative."""
    from sqlglot import expressions as exp

    for key in ("start", "end"):
        at = node.args[key]
        if isinstance(at, exp.Literal):
            node.set(key, exp.Literal.number(int(at.name) + 1))
        elif not isinstance(at, exp.Neg):
            shifted = exp.Add(this=at.copy(), expression=exp.Literal.number(1))
            node.set(
                key,
                exp.case()
                .when(exp.LT(this=at.copy(), expression=exp.Literal.number(0)), at.copy())
                .else_(shifted),
            )


def _translate_array_end(index: int) -> _Translation:
    def translate(node: Any, _: str) -> None:
        from sqlglot import expressions as exp

        node.replace(
            call("element", node.this, exp.Literal.number(index))
            if index > 0
            else call("element", node.this, exp.func("LEN", node.this.copy()))
        )

    return translate


def _translate_array_aggregate(node: Any, _: str) -> None:
    """Take the first elements of ARRAY_AGG with LIMIT."""
    from sqlglot import expressions as exp

    limit = node.find(exp.Limit)
    if limit is None or limit.find_ancestor(exp.Query, exp.ArrayAgg) is not node:
        return
    count = limit.expression.copy()
    limit.replace(limit.this.copy())
    outer = node.parent if isinstance(node.parent, exp.IgnoreNulls | exp.RespectNulls) else node
    arguments = [outer.copy(), exp.Literal.number(1), count]
    outer.replace(exp.Anonymous(this="LIST_SLICE", expressions=arguments))


def _translate_conditional_count(node: Any, _: str) -> None:
    """Count the values for which a condition is true; DuckDB's sum of no values would be null."""
    from sqlglot import expressions as exp

    counted = exp.case().when(node.this.copy(), exp.Literal.number(1))
    node.replace(exp.Count(this=counted, big_int=True))


def _translate_text_aggregate(node: Any, _: str) -> None:
    """Join the first texts of STRING_AGG with LIMIT."""
    from sqlglot import expressions as exp

    if not isinstance(node.this, exp.Limit):
        return
    inner, count = node.this.this, node.this.expression
    first = inner.this if isinstance(inner, exp.Order) else inner
    value = first.expressions[0] if isinstance(first, exp.Distinct) else first
    separator = node.args.get("separator") or exp.Literal.string(",")
    filled = exp.Filter(
        this=exp.Anonymous(this="ARRAY_AGG", expressions=[inner.copy()]),
        expression=exp.Where(this=exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))),
    )
    sliced = exp.Anonymous(
        this="LIST_SLICE", expressions=[filled, exp.Literal.number(1), count.copy()]
    )
    node.replace(exp.Anonymous(this="ARRAY_TO_STRING", expressions=[sliced, separator.copy()]))


def _translate_string(node: Any, _: str) -> None:
    zone = node.args.get("zone")
    node.replace(
        call("string", node.this) if zone is None else call("zoned_string", node.this, zone)
    )


def _translate_normalize(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    form = node.args.get("form")
    name = "casefold" if node.args.get("is_casefold") else "normalize"
    node.replace(call(name, node.this, exp.Literal.string(form.name if form else "NFC")))


def _translate_hash(node: Any, _: str) -> None:
    length = node.args.get("length")
    if length is not None and length.name == "512":
        node.replace(call("sha512", node.this))


def _calculate(name: str) -> _Translation:
    """Return the translation of a function on numbers, whose result is a NUMERIC if an argument is one."""

    def translate(node: Any, _: str) -> None:
        arguments = list_arguments(node)
        is_decimal = node.meta.get("bigquery_name", "").upper() == "LOG10"
        if is_decimal:
            node.replace(_convert_to_numeric(call("log10", arguments[1]), arguments[1:]))
            return
        if name == "log":
            arguments.reverse()
        made = call(name if len(arguments) > 1 or name != "log" else "ln", *arguments)
        node.replace(_convert_to_numeric(made, arguments))

    return translate


def _convert_to_numeric(made: Any, arguments: Sequence[Any]) -> Any:
    """Return the result of a function as a NUMERIC if an argument is one."""
    from sqlglot import expressions as exp

    operands = [operand for each in arguments for operand in list_operands(each)]
    if not operands:
        return made
    return choose_by_type(is_numeric(operands), exp.cast(made, NUMERIC), made)


def _translate_to_json(node: Any, text: str) -> None:
    if len(list_arguments(node)) > 1 or node.args.get("options") is not None:
        raise build_translation_error(node, text, "Leave out the second argument.")
    node.replace(call("to_json_string", get_type_name(node.this), node.this))


def _check_groups(node: Any, text: str) -> None:
    """Refuse a pattern that is not a literal, as its groups decide what is extracted, or that has several."""
    from sqlglot import expressions as exp

    pattern = node.expression
    if not (pattern.is_string or isinstance(pattern, exp.RawString | exp.Null)):
        raise build_translation_error(node, text, "Write the pattern as a text in quotes.")
    for key in ("position", "occurrence"):
        number = node.args.get(key)
        is_positive = isinstance(number, exp.Literal) and number.name.strip("0")
        if number is not None and not is_positive:
            raise build_translation_error(node, text, f"Write the {key} as a number from 1.")
    try:
        compiled = re.compile(pattern.name)
    except re.error:  # a pattern that only RE2 reads
        return
    if isinstance(node, exp.RegexpExtractAll) and compiled.fullmatch("") is not None:
        raise build_translation_error(node, text, "Write a pattern that no empty text matches.")
    if compiled.groups > 1:
        raise SqlError(
            "Regular expressions passed into extraction functions must not have more than 1 "
            f"capturing group{describe_position(text, node)}.",
            "Write (?: … ) for the other groups.",
        )


def _refuse_groups(node: Any, text: str) -> None:
    """Refuse a pattern whose groups are not known, or with a group: its place is what BigQuery returns."""
    from sqlglot import expressions as exp

    pattern = node.expression
    try:
        groups = re.compile(pattern.name).groups
    except re.error:
        groups = 1
    if not (pattern.is_string or isinstance(pattern, exp.RawString | exp.Null)) or groups:
        raise build_translation_error(node, text, "Write the pattern as a text without groups.")


def _translate_array_concat(node: Any, _: str) -> None:
    """Return null when an array is null, which DuckDB takes for an empty one."""
    joined = node.this
    for each in node.expressions:
        joined = call("array_concat", joined, each)
    node.replace(joined.copy())


def _translate_array_text(node: Any, _: str) -> None:
    """Return null for a null separator."""
    from sqlglot import expressions as exp

    if not node.expression.is_string:
        is_null = exp.Is(this=node.expression.copy(), expression=exp.Null())
        node.replace(exp.case().when(is_null, exp.Null()).else_(node.copy()))


def _check_offset(node: Any, text: str) -> None:
    """Refuse an offset of LAG or LEAD that may be negative, with which DuckDB looks to the other side."""
    from sqlglot import expressions as exp

    offset = node.args.get("offset")
    if offset is not None and not isinstance(offset, exp.Literal):
        raise build_translation_error(node, text, "Write the offset as a number.")


def _translate_series(node: Any, _: str) -> None:
    """Fail for a step of 0, with which DuckDB's series is empty."""
    from sqlglot import expressions as exp

    step = node.args.get("step")
    if step is not None:
        failed = call("fail", exp.Literal.string("Sequence step cannot be 0."))
        is_zero = exp.EQ(this=step.copy(), expression=exp.Literal.number(0))
        node.set("step", exp.case().when(is_zero, failed).else_(step.copy()))


def _translate_split(node: Any, _: str) -> None:
    """Split by a null separator to null; sqlglot would leave the text whole."""
    from sqlglot import expressions as exp

    if isinstance(node.expression, exp.Null):
        node.replace(exp.null())


def _translate_json(node: Any, text: str) -> None:
    """Extract a STRING from a STRING; from a JSON, a JSON."""
    from sqlglot import expressions as exp

    path = _find_path(node, text)
    names = [get_type_name(node.this), exp.Literal.string("JSON")]
    test = exp.Anonymous(this="CONTAINS", expressions=names)
    found = exp.Anonymous(this="JSON_EXTRACT", expressions=[node.this.copy(), path])
    node.replace(choose_by_type(test, found, call("json_part", node.this, path)))


def _call_with_path(name: str) -> _Translation:
    """Return the translation that calls a function of the store with a value and a path."""
    return lambda node, text: node.replace(call(name, node.this, _find_path(node, text)))


def _find_path(node: Any, text: str) -> Any:
    """Return the path of a JSON function as it is written; sqlglot reads more paths than BigQuery.

    :raises SqlError: for a path that is not a literal, or has a step without a translation.
    """
    from sqlglot import expressions as exp

    path = find_argument(text, node.meta.get("start"), 1)
    if path is None:
        raise build_translation_error(node, text, "Write the path as a text in quotes.")
    try:
        if "['" in path and not str(node.meta.get("bigquery_name")).upper().startswith(
            "JSON_EXTRACT"
        ):
            raise ExtractionPathError('the name stands in double quotes, as in $."a.b"')
        steps = read_path(path)
    except ExtractionPathError as error:
        raise SqlError(
            f"'{path}' is not translated: {error}{describe_position(text, node)}.",
            "Write a path such as $.name, $['name'] or $.list[0].",
        ) from None
    parts = [f"[{step}]" if isinstance(step, int) else f'."{step}"' for step in steps]
    return exp.Literal.string("".join(("$", *parts)))


def _translate_named(node: Any, text: str) -> None:
    """Translate a function that sqlglot does not know."""
    translate = _NAMED.get(node.name.upper())
    if translate is not None:
        translate(node, text)


def _translate_ieee_division(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    dividend, divisor = (exp.cast(each.copy(), "DOUBLE") for each in node.expressions)
    node.replace(exp.paren(exp.Div(this=dividend, expression=divisor)))


def _translate_error(node: Any, _: str) -> None:
    node.replace(call("error", *node.expressions))


_NAMED: Final[dict[str, _Translation]] = {
    "ERROR": _translate_error,
    "IEEE_DIVIDE": _translate_ieee_division,
}


def _count_distinct(node: Any, _: str) -> None:
    """Count exactly: DuckDB's estimate is another one than that of BigQuery."""
    from sqlglot import expressions as exp

    node.replace(exp.Count(this=exp.Distinct(expressions=[node.this.copy()])))


FUNCTIONS: Final[dict[str, _Translation]] = {
    "Anonymous": _translate_named,
    "ApproxDistinct": _count_distinct,
    "Acos": _call("acos"),
    "Acosh": _call("acosh"),
    "Asin": _call("asin"),
    "Atanh": _call("atanh"),
    "Ascii": _call("ascii"),
    "ArrayAgg": _translate_array_aggregate,
    "ArrayConcat": _translate_array_concat,
    "ArrayToString": _translate_array_text,
    "ArrayFirst": _translate_array_end(1),
    "ArrayLast": _translate_array_end(-1),
    "ArraySlice": _translate_array_slice,
    "Bracket": _translate_element,
    "ByteLength": _call("byte_length"),
    "CodePointsToBytes": _call("code_points_to_bytes"),
    "CodePointsToString": _call("code_points_to_string"),
    "CountIf": _translate_conditional_count,
    "Cosh": _call("cosh"),
    "Exp": _calculate("exp"),
    "FarmFingerprint": _call("farm_fingerprint"),
    "GenerateSeries": _translate_series,
    "GroupConcat": _translate_text_aggregate,
    "Lag": _check_offset,
    "Lead": _check_offset,
    "JSONExtractArray": _call_with_path("json_parts"),
    "JSONExtractScalar": _call_with_path("json_value"),
    "JSONExtract": _translate_json,
    "JSONValueArray": _call_with_path("json_scalars"),
    "Left": _translate_size("left", "expression"),
    "Levenshtein": _call("edit_distance"),
    "Like": _translate_like,
    "Ln": _calculate("ln"),
    "Log": _calculate("log"),
    "Lower": _call("lower"),
    "JSONFormat": _translate_to_json,
    "Normalize": _translate_normalize,
    "Pow": _calculate("pow"),
    "RegexpExtract": _check_groups,
    "RegexpExtractAll": _check_groups,
    "RegexpInstr": _refuse_groups,
    "Repeat": _translate_size("repeat", "times"),
    "Reverse": _call("reverse"),
    "Right": _translate_size("right", "expression"),
    "SHA2Digest": _translate_hash,
    "SafeConvertBytesToString": _call("bytes_to_string"),
    "Sinh": _call("sinh"),
    "Soundex": _call("soundex"),
    "Split": _translate_split,
    "Sqrt": _calculate("sqrt"),
    "StrPosition": _translate_position,
    "String": _translate_string,
    "Substring": _translate_substring,
    "ToCodePoints": _call("to_code_points"),
    "Translate": _call("translate"),
    "Trim": _translate_trim,
    "Unicode": _call("unicode"),
    "Upper": _call("upper"),
}
