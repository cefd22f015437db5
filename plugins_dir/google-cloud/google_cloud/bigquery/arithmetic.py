"""Operators of BigQuery's SQL, and aggregates of numbers, that DuckDB calculates in another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .calls import call, choose_by_type, get_type_name, is_numeric, list_operands
from .casts import NUMERIC

_MODIFIERS: Final = ("Filter", "IgnoreNulls", "RespectNulls", "Window")
_NEVER_NAN: Final = ("Boolean", "Count", "Date", "Interval", "Length", "Literal", "Null", "Neg")
_FLOATS: Final = ("DOUBLE", "FLOAT")


def _translate_division(node: Any, _: str) -> None:
    """Divide NUMERICs to a NUMERIC; make a division by zero fail, which is an infinity in DuckDB."""
    from sqlglot import expressions as exp

    operands = list_operands(node)
    divisor = _refuse_zero(node.expression)
    if not operands:
        node.set("expression", divisor)
        return
    test = is_numeric(operands)
    numeric = call("divide_numerics", node.this, node.expression)
    divided = exp.Div(this=node.this.copy(), expression=divisor)
    node.replace(choose_by_type(test, exp.case().when(test.copy(), numeric), divided))


def _translate_safe_division(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    operands = list_operands(node.this) + list_operands(node.expression)
    divisor = exp.Nullif(this=node.expression.copy(), expression=exp.Literal.number(0))
    divided = exp.Div(this=exp.paren(node.this.copy()), expression=divisor.copy())
    if not operands:
        node.replace(divided)
        return
    test = is_numeric(operands)
    numeric = call("divide_numerics", node.this, divisor)
    node.replace(choose_by_type(test, exp.case().when(test.copy(), numeric), divided))


def _refuse_zero(divisor: Any) -> Any:
    from sqlglot import expressions as exp

    if isinstance(divisor, exp.Literal) and float(divisor.name) != 0:
        return divisor.copy()
    zero = exp.EQ(this=divisor.copy(), expression=exp.Literal.number(0))
    failed = call("fail", exp.Literal.string("division by zero"))
    return exp.case().when(zero, failed).else_(divisor.copy())


def _translate_whole_division(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    operands = list_operands(node)
    if operands:
        test = is_numeric(operands)
        quotient = exp.func("TRUNC", call("divide_numerics", node.this, node.expression))
        numeric = exp.case().when(test.copy(), exp.cast(quotient, NUMERIC))
        node.replace(choose_by_type(test, numeric, node))


def _translate_rounding(node: Any, _: str) -> None:
    """Round an INT64 to a FLOAT64; give DuckDB the digits as the number of 32 bits that it wants."""
    from sqlglot import expressions as exp

    digits = node.args.get("decimals")
    if digits is not None and not isinstance(digits, exp.Literal):
        node.set("decimals", exp.cast(digits.copy(), "INT", dialect="duckdb"))
    operands = list_operands(node.this)
    if not operands:
        node.replace(exp.cast(node.copy(), "DOUBLE"))
    else:
        names = [get_type_name(node.this), exp.Literal.string("INT")]
        test = exp.Anonymous(this="CONTAINS", expressions=names)
        node.replace(choose_by_type(test, exp.cast(node.copy(), "DOUBLE"), node))


def _translate_padding(node: Any, _: str) -> None:
    """Pad with a pattern, by default blanks, to a size that must not be negative."""
    from sqlglot import expressions as exp

    pattern = node.args.get("fill_pattern") or exp.Literal.string(" ")
    size = exp.cast(node.expression.copy(), "INT", dialect="duckdb")
    node.replace(call("lpad" if node.args["is_left"] else "rpad", node.this, size, pattern))


def _translate_sum(node: Any, _: str) -> None:
    """Make a sum of INT64 an INT64, which fails when it is too large; DuckDB's has 128 bits."""
    from sqlglot import expressions as exp

    whole = _find_modified(node)
    if node.find_ancestor(exp.Pivot):
        return
    test = exp.EQ(this=get_type_name(whole), expression=exp.Literal.string("HUGEINT"))
    converted = exp.case().when(test.copy(), exp.cast(whole.copy(), "BIGINT"))
    whole.replace(choose_by_type(test, converted, whole))


def _translate_average(node: Any, _: str) -> None:
    """Make an average of NUMERICs a NUMERIC."""
    from sqlglot import expressions as exp

    if node.find_ancestor(exp.Pivot):
        return
    whole = _find_modified(node)
    total, count = _replace_inner(whole, node, exp.Sum), _replace_inner(whole, node, exp.Count)
    test = is_numeric([total])
    quotient = call("divide_numerics", total, count)
    whole.replace(choose_by_type(test, exp.case().when(test.copy(), quotient), whole))


def _translate_population(node: Any, _: str) -> None:
    """Make the deviation of NaN or an infinity NaN, which is 0 in DuckDB for a single value."""
    from sqlglot import expressions as exp

    if node.find_ancestor(exp.Pivot):
        return
    whole = _find_modified(node)
    largest = exp.cast(_replace_inner(whole, node, exp.Max), "DOUBLE")
    zero = exp.Mul(this=largest, expression=exp.Literal.number(0))
    whole.replace(exp.paren(exp.Add(this=whole.copy(), expression=zero)))


def _find_modified(node: Any) -> Any:
    """Return an aggregate function with its FILTER and OVER."""
    while type(node.parent).__name__ in _MODIFIERS and node.arg_key == "this":
        node = node.parent
    return node


def _replace_inner(whole: Any, inner: Any, kind: Any) -> Any:
    """Return a copy of a modified aggregate function, with another function of the same argument."""
    made = kind(this=inner.this.copy())
    if whole is inner:
        return made
    copied = whole.copy()
    found = copied
    while type(found) is not type(inner):
        found = found.this
    found.replace(made)
    return copied


def _can_be_nan(node: Any) -> bool:
    """Return whether a value can be NaN, as far as the text of a statement tells."""
    name = type(node).__name__
    if name == "Paren":
        return _can_be_nan(node.this)
    if name in ("Cast", "TryCast"):
        return node.to.this.name in _FLOATS
    if name == "Anonymous" and node.name.startswith("googlesql_"):
        return node.name.removeprefix("googlesql_") in ("double", "safe_double", "sqrt", "pow")
    return name not in _NEVER_NAN


def _is_no_number(node: Any) -> bool:
    """Return whether a value is a text, time or BOOL, as far as the text of a statement tells."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.Cast):
        return node.to.this.name in ("DATE", "DATETIME", "TIME", "TIMESTAMP", "TIMESTAMPTZ")
    return isinstance(node, exp.Boolean) or bool(node.is_string)


def _compare(name: str, *, both: bool, swaps: bool = False) -> Callable[[Any, str], None]:
    """Return the translation of a comparison, which is false with NaN; DuckDB's NaN is the largest number.

    :param both: whether only two NaNs are compared in another way; otherwise a NaN on the right.
    """

    def translate(node: Any, _: str) -> None:
        from sqlglot import expressions as exp

        left, right = node.this, node.expression
        if swaps:
            left, right = right, left
        differs = _can_be_nan(right) and (not both or _can_be_nan(left))
        differs = differs and not _is_no_number(left)
        is_row = isinstance(left, exp.Tuple | exp.Struct) or isinstance(
            right, exp.Tuple | exp.Struct
        )
        assigns = isinstance(node.parent, exp.Update | exp.When)
        matches = isinstance(node.find_ancestor(exp.Merge, exp.Query), exp.Merge)
        if differs and not is_row and not assigns and not matches:
            node.replace(call(name, left, right))

    return translate


def _translate_null_if(node: Any, _: str) -> None:
    """Return the first value in the type that both have in common; DuckDB keeps its own."""
    from sqlglot import expressions as exp

    compares_nan = _can_be_nan(node.this) and _can_be_nan(node.expression)
    plain = exp.EQ(this=exp.paren(node.this.copy()), expression=exp.paren(node.expression.copy()))
    equal = call("equal", node.this, node.expression) if compares_nan else plain
    node.replace(
        exp.case()
        .when(equal, exp.Null())
        .when(exp.false(), node.expression.copy())
        .else_(node.this.copy())
    )


def _translate_case(node: Any, _: str) -> None:
    """Write the comparisons of a CASE with a value as conditions, where both sides can be NaN."""
    from sqlglot import expressions as exp

    value = node.this
    compared = [each.this for each in node.args["ifs"]]
    if value is None or isinstance(value, exp.Tuple | exp.Struct) or _is_no_number(value):
        return
    if not _can_be_nan(value) or not any(map(_can_be_nan, compared)):
        return
    for other in compared:
        differs = _can_be_nan(other) and not _is_no_number(other)
        plain = exp.EQ(this=exp.paren(value.copy()), expression=exp.paren(other.copy()))
        other.replace(call("equal", value, other) if differs else plain)
    node.set("this", None)


def _translate_least(node: Any, _: str) -> None:
    """Make NaN the least number, too; DuckDB takes it for the largest."""
    from sqlglot import expressions as exp

    values = [node.this, *node.expressions]
    if any(map(_can_be_nan, values)) and not any(map(_is_no_number, values)):
        node.replace(call("least", exp.Greatest(**node.copy().args), node))


def _translate_sign(node: Any, _: str) -> None:
    node.replace(call("sign", node.this))


def _translate_shift(sign: int) -> Callable[[Any, str], None]:
    def translate(node: Any, _: str) -> None:
        from sqlglot import expressions as exp

        bits = node.expression.copy()
        node.replace(call("shift", node.this, bits if sign > 0 else exp.Neg(this=exp.paren(bits))))

    return translate


def _translate_safe(name: str) -> Callable[[Any, str], None]:
    def translate(node: Any, _: str) -> None:
        from sqlglot import expressions as exp

        operands = {key: exp.paren(value.copy()) for key, value in node.args.items() if value}
        made = getattr(exp, name)(**operands)
        if name != "Neg":
            finite = exp.and_(*(call("is_finite", each) for each in operands.values()))
            made = call("result", made, finite)
        node.replace(exp.Anonymous(this="TRY", expressions=[made]))

    return translate


ARITHMETIC: Final[dict[str, Callable[[Any, str], None]]] = {
    "Avg": _translate_average,
    "BitwiseLeftShift": _translate_shift(1),
    "BitwiseRightShift": _translate_shift(-1),
    "Case": _translate_case,
    "Div": _translate_division,
    "EQ": _compare("equal", both=True),
    "GT": _compare("less", both=False, swaps=True),
    "GTE": _compare("less_or_equal", both=False, swaps=True),
    "IntDiv": _translate_whole_division,
    "Least": _translate_least,
    "LT": _compare("less", both=False),
    "LTE": _compare("less_or_equal", both=False),
    "Pad": _translate_padding,
    "Round": _translate_rounding,
    "Trunc": _translate_rounding,
    "NEQ": _compare("not_equal", both=True),
    "Nullif": _translate_null_if,
    "SafeAdd": _translate_safe("Add"),
    "SafeDivide": _translate_safe_division,
    "SafeMultiply": _translate_safe("Mul"),
    "SafeNegate": _translate_safe("Neg"),
    "SafeSubtract": _translate_safe("Sub"),
    "Sign": _translate_sign,
    "StddevPop": _translate_population,
    "Sum": _translate_sum,
    "VariancePop": _translate_population,
}
