"""The operators of JEXL 3 in its strict form, which the original uses (``JexlArithmetic``).

A null operand of arithmetic or logic is an error; comparisons accept null. Java's Integer, Long and
BigInteger are Python's int, Double and Float are float, BigDecimal is Decimal. Whole numbers never
overflow: they grow, as the original's do. Every function raises only :class:`EvaluationError`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Set
from decimal import Decimal
from typing import Any, Final, NoReturn

from localcdap.java import numbers
from localcdap.java.big_decimal import divide_whole, drop_zero_sign, get_remainder
from localcdap.java.regex import RegexError, compile_regex
from localcdap.java.strings import format_double, to_java_string
from localcdap.java.text_units import compare_units, count_units, needs_units
from localcdap.plugin_lib.jexl.errors import EvaluationError, fail, fail_on_null_operand, type_name

_FLOATING: Final = re.compile(r"[+-]?\d*(\.\d*)?([eE][+-]?\d+)?\Z")


def to_boolean(value: Any) -> bool:
    """Return a value as a bool: NaN, 0, empty text and ``"false"`` are false; null is an error."""
    if value is True or value is False:
        return bool(value)
    if value is None:
        fail("A condition is null: a column is null or not there")
    if isinstance(value, int | float | Decimal):
        return value == value and value != 0
    if isinstance(value, str):
        return bool(value) and value != "false"
    return True


def to_long(value: Any) -> int:
    kind = value.__class__
    if kind is int:
        return numbers.wrap(value, 64)
    if kind is float:
        return numbers.truncate_to_int(value, 64)
    if kind is bool:
        return int(value)
    if kind is Decimal:
        return numbers.wrap(int(value), 64)
    if kind is str:
        try:
            return numbers.parse_long(value) if value else 0
        except numbers.NumberFormatError as error:
            _fail_on_type(error)
    return fail(f"A {type_name(value)} is not a whole number")


def to_whole(value: Any) -> int:
    """Return the big integer of a value."""
    if value.__class__ is int:
        return int(value)
    if value.__class__ is str:
        try:
            return numbers.parse_whole(value) if value else 0
        except numbers.NumberFormatError as error:
            _fail_on_type(error)
    return int(value) if isinstance(value, Decimal) else to_long(value)


def to_double(value: Any) -> float:
    """Return a value as a double; an empty text is NaN."""
    kind = value.__class__
    if kind is float:
        return float(value)
    if kind is int or kind is bool or kind is Decimal:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if kind is str:
        try:
            return numbers.parse_double(value) if value else math.nan
        except numbers.NumberFormatError as error:
            _fail_on_type(error)
    return fail(f"A {type_name(value)} is not a number")


def to_decimal(value: Any) -> Decimal:
    """Return a value as a decimal; an empty text and NaN are zero."""
    kind = value.__class__
    if kind is Decimal:
        return Decimal(value)
    if kind is int:
        return numbers.DECIMAL128.create_decimal(value)
    if kind is bool:
        return Decimal("1.0") if value else Decimal("0.0")
    try:
        if kind is float:
            return Decimal(0) if value != value else numbers.parse_decimal(format_double(value))
        if kind is str:
            return numbers.parse_decimal(value) if value else Decimal(0)
    except numbers.NumberFormatError as error:
        _fail_on_type(error)
    return fail(f"A {type_name(value)} is not a decimal")


def to_text(value: Any) -> str:
    """Return the text of an operand of a concatenation; NaN is empty."""
    return "" if value != value else to_java_string(value)


def is_floating(value: Any) -> bool:
    """Return whether a value is a double, or a text that is read as one."""
    if value.__class__ is str:
        found = _FLOATING.match(value)
        return found is not None and bool(found.group(1) is not None or found.group(2))
    return value.__class__ is float


def _fail_on_type(error: Exception) -> NoReturn:
    message = "Type mismatch: change the type of the constant, or convert with a function such as toDouble"
    raise EvaluationError(f"{message} ({error})") from None


def add(left: Any, right: Any) -> Any:
    if left is None or right is None:
        fail_on_null_operand("+")
    if left.__class__ is str or right.__class__ is str or _is_infinite_beside_decimal(left, right):
        return to_text(left) + to_text(right)
    return _calculate("+", left, right)


def _is_infinite_beside_decimal(left: Any, right: Any) -> bool:
    """Return whether operands cannot be added as decimals; the original joins their texts then."""
    if left.__class__ is Decimal:
        return right.__class__ is float and math.isinf(right)
    return right.__class__ is Decimal and left.__class__ is float and math.isinf(left)


def subtract(left: Any, right: Any) -> Any:
    return _calculate("-", left, right)


def multiply(left: Any, right: Any) -> Any:
    return _calculate("*", left, right)


def divide(left: Any, right: Any) -> Any:
    return _calculate("/", left, right)


def compute_modulo(left: Any, right: Any) -> Any:
    return _calculate("%", left, right)


def _calculate(symbol: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        fail_on_null_operand(symbol)
    whole, floating, decimal = _OPERATIONS[symbol]
    if left.__class__ is int and right.__class__ is int:
        return whole(left, right)
    if left.__class__ is Decimal or right.__class__ is Decimal:
        result = drop_zero_sign(decimal(to_decimal(left), to_decimal(right)))
        return _narrow(result) if int in (left.__class__, right.__class__) else result
    if is_floating(left) or is_floating(right):
        return floating(to_double(left), to_double(right))
    return whole(to_whole(left), to_whole(right))


def _narrow(value: Decimal) -> Decimal | int:
    """Return the result of a decimal and a whole number as a whole number if it fits a long."""
    if value.is_finite() and value == value.to_integral_value():
        whole = int(value)
        if numbers.LONG_MIN <= whole <= numbers.LONG_MAX:
            return whole
    return value


def _reject_zero(symbol: str, value: Any) -> None:
    if value == 0:
        fail(f"'{symbol}' has zero on its right side")


def _divide_whole(left: int, right: int) -> int:
    _reject_zero("/", right)
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _compute_whole_modulo(left: int, right: int) -> int:
    """Return ``BigInteger.mod``, which is never negative and has no negative modulus: -7 % 3 is 2."""
    if right < 0:
        fail("'%' of whole numbers has a negative number on its right side")
    _reject_zero("%", right)
    return left % right


def _divide_floating(left: float, right: float) -> float:
    _reject_zero("/", right)
    return left / right


def _compute_floating_modulo(left: float, right: float) -> float:
    _reject_zero("%", right)
    return math.nan if math.isinf(left) else math.fmod(left, right)


def _divide_decimal(left: Decimal, right: Decimal) -> Decimal:
    _reject_zero("/", right)
    return numbers.DECIMAL128.divide(left, right)


def _compute_decimal_modulo(left: Decimal, right: Decimal) -> Decimal:
    _reject_zero("%", right)
    if len(divide_whole(left, right).as_tuple().digits) > numbers.DECIMAL128.prec:
        fail("Division impossible: the quotient has more than 34 digits")
    return get_remainder(left, right)


_Operation = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]
_OPERATIONS: Final[dict[str, _Operation]] = {
    "+": (operator.add, operator.add, numbers.DECIMAL128.add),
    "-": (operator.sub, operator.sub, numbers.DECIMAL128.subtract),
    "*": (operator.mul, operator.mul, numbers.DECIMAL128.multiply),
    "/": (_divide_whole, _divide_floating, _divide_decimal),
    "%": (_compute_whole_modulo, _compute_floating_modulo, _compute_decimal_modulo),
}


def negate(value: Any) -> Any:
    if value is True or value is False:
        return not value
    if isinstance(value, int | float | Decimal):
        return -value
    return fail(f"'-' cannot be used with a {type_name(value)}")


def confirm(value: Any) -> Any:
    if isinstance(value, int | float | Decimal):
        return value
    return fail(f"'+' cannot be used with a {type_name(value)}")


def invert_bits(value: Any) -> int:
    return ~_to_bits("~", value)


def and_bits(left: Any, right: Any) -> int:
    return _to_bits("&", left) & _to_bits("&", right)


def or_bits(left: Any, right: Any) -> int:
    return _to_bits("|", left) | _to_bits("|", right)


def xor_bits(left: Any, right: Any) -> int:
    return _to_bits("^", left) ^ _to_bits("^", right)


def shift_left(left: Any, right: Any) -> int:
    return numbers.wrap(_to_bits("<<", left) << (_to_bits("<<", right) & 63), 64)


def shift_right(left: Any, right: Any) -> int:
    return _to_bits(">>", left) >> (_to_bits(">>", right) & 63)


def _to_bits(symbol: str, value: Any) -> int:
    if value is None:
        fail_on_null_operand(symbol)
    return to_long(value)


def compare(left: Any, right: Any) -> int:
    """Return a number below, at or above 0. NaN is below all numbers and equals itself. Neither side is
    null.
    """
    kinds = (left.__class__, right.__class__)
    if Decimal in kinds:
        a: Any = to_decimal(left)
        b: Any = to_decimal(right)
    elif float in kinds:
        a, b = to_double(left), to_double(right)
        if a != a or b != b:
            return int(b != b) - int(a != a)
    elif kinds == (int, int):
        a, b = left, right
    elif int in kinds:
        a, b = _compare_with_whole(left), _compare_with_whole(right)
    elif str in kinds:
        a, b = to_text(left), to_text(right)
        if needs_units(a) or needs_units(b):
            return compare_units(a, b)
    else:
        a, b = left, right
    try:
        return int(a > b) - int(a < b)
    except TypeError:
        fail(f"A {type_name(left)} cannot be compared with a {type_name(right)}")


def _compare_with_whole(value: Any) -> int:
    """Return the value that a whole number is compared with: read as a long, like the number itself."""
    return int(value) if value.__class__ is int else to_long(value)


def is_equal(left: Any, right: Any) -> bool:
    if left is right:
        return True
    if left is None or right is None:
        return False
    if left.__class__ is bool or right.__class__ is bool:
        return to_boolean(left) == to_boolean(right)
    kinds = (left.__class__, right.__class__)
    if not (str in kinds or int in kinds or float in kinds or Decimal in kinds):
        return bool(left == right)
    return compare(left, right) == 0


def is_different(left: Any, right: Any) -> bool:
    return not is_equal(left, right)


def is_less(left: Any, right: Any) -> bool:
    return left is not None and right is not None and compare(left, right) < 0


def is_greater(left: Any, right: Any) -> bool:
    return left is not None and right is not None and compare(left, right) > 0


def is_at_most(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return compare(left, right) <= 0


def is_at_least(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return compare(left, right) >= 0


def is_match(left: Any, right: Any) -> bool:
    """Return ``left =~ right``: the whole text matches the pattern, or the map or list contains the value."""
    if left is None or right is None:
        return left is right
    if right.__class__ is str:
        return _is_pattern_match(to_java_string(left), right)
    if isinstance(right, Mapping):
        keys = left if isinstance(left, Mapping) else (left,)
        return all(_contains(right, key) for key in keys)
    if isinstance(right, list | Set | range | tuple):
        items = left if isinstance(left, list | Set | range) else (left,)
        return all(_contains(right, item) for item in items)
    return is_equal(left, right)


def _contains(values: Collection[Any], wanted: Any) -> bool:
    """Return whether a value is among others as ``equals`` says: 1 is neither 1.0 nor true."""
    return any(each.__class__ is wanted.__class__ and each == wanted for each in values)


def _is_pattern_match(text: str, pattern: str) -> bool:
    try:
        return compile_regex(pattern).matches(text)
    except RegexError as error:
        fail(str(error))
    except TimeoutError:
        fail(f"The pattern '{pattern}' took too long on a text of {len(text)} characters")


def is_no_match(left: Any, right: Any) -> bool:
    return not is_match(left, right)


def is_prefixed(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return left.startswith(to_text(right)) if left.__class__ is str else is_equal(left, right)


def is_not_prefixed(left: Any, right: Any) -> bool:
    return not is_prefixed(left, right)


def is_suffixed(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return left.endswith(to_text(right)) if left.__class__ is str else is_equal(left, right)


def is_not_suffixed(left: Any, right: Any) -> bool:
    return not is_suffixed(left, right)


def is_empty(value: Any) -> bool:
    """Return ``empty x``: true for null, zero, NaN, and values without characters or elements."""
    if value is None:
        return True
    if value is True or value is False:
        return False
    if isinstance(value, int | float | Decimal):
        return value != value or value == 0
    return isinstance(value, Collection) and len(value) == 0


def count_elements(value: Any) -> int | None:
    """Return ``size(x)``: the characters (UTF-16 units) or elements; 0 for null, null for a value without a
    size.
    """
    if value.__class__ is str:
        return count_units(value)
    if value is None:
        return 0
    return len(value) if isinstance(value, Collection) else None
