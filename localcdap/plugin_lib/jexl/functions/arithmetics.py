"""``arithmetic:``, ``logical:`` and ``math:``: ``Arithmetic``, ``Logical`` and ``java.lang.Math``."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any

from localcdap.java import fdlibm, numbers
from localcdap.java.big_decimal import (
    EXACT,
    divide,
    drop_zero_sign,
    get_remainder,
    multiply_exactly,
    scale_of,
    strip_zeros,
    with_scale,
)
from localcdap.java.numbers import wrap
from localcdap.java.strings import format_double
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

# ruff: noqa: N802 - functions have the names that expressions call them by

arithmetic = FunctionNamespace("arithmetic")


def _find_widest_type(values: tuple[Any, ...]) -> type | None:
    """Return the widest type of the values: Decimal, float or int; None if a value is null."""
    if any(value is None for value in values):
        return None
    kinds = [kind for kind in (Decimal, float) if any(isinstance(v, kind) for v in values)]
    return kinds[0] if kinds else int


def _to_decimal(value: Any) -> Decimal:
    """Return a number as ``new BigDecimal(value.toString())``.

    :raises ValueError: for NaN and infinities.
    """
    if not isinstance(value, float):
        return Decimal(value)
    if not math.isfinite(value):
        raise ValueError(f"{format_double(value)} cannot be a decimal")
    return drop_zero_sign(Decimal(format_double(value)))


def _convert(kind: type, values: tuple[Any, ...]) -> list[Any]:
    return [_to_decimal(value) if kind is Decimal else kind(value) for value in values]


@arithmetic("N* -> O")
def add(*values: Any) -> Any:
    kind = _find_widest_type(values)
    if kind is None:
        return None
    operands = _convert(kind, values)
    if kind is not Decimal:
        return sum(operands, kind(0))
    total = Decimal(0)
    for operand in operands:
        total = EXACT.add(total, operand)
    return strip_zeros(total)


@arithmetic("N N -> O")
def minus(first: Any, second: Any) -> Any:
    kind = _find_widest_type((first, second))
    if kind is None:
        return None
    x, y = _convert(kind, (first, second))
    return strip_zeros(EXACT.subtract(x, y)) if kind is Decimal else x - y


@arithmetic("N* -> O")
def multiply(*values: Any) -> Any:
    kind = _find_widest_type(values)
    if kind is None:
        return None
    product: Any = kind(1)
    for operand in _convert(kind, values):
        product = multiply_exactly(product, operand) if kind is Decimal else product * operand
    return product


@arithmetic("N N -> O")
def divideq(dividend: Any, divisor: Any) -> Any:
    kind = _find_widest_type((dividend, divisor))
    if kind is None or float(divisor) == 0:
        return None
    if kind is Decimal:
        return strip_zeros(divide(_to_decimal(dividend), _to_decimal(divisor)))
    return float(dividend) / float(divisor)


@arithmetic("N N -> O")
def divider(dividend: Any, divisor: Any) -> Any:
    kind = _find_widest_type((dividend, divisor))
    if kind is None or float(divisor) == 0:
        return None
    x, y = _convert(kind, (dividend, divisor))
    if kind is Decimal:
        return get_remainder(x, y)
    if kind is float:
        return math.nan if math.isinf(x) else math.fmod(x, y)
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


@arithmetic("N N -> O")
def lcm(first: Any, second: Any) -> Any:
    kind = _find_widest_type((first, second))
    if kind is None:
        return None
    x, y = _to_decimal(first), _to_decimal(second)
    if kind is int:
        return math.lcm(int(x), int(y))
    power = max(scale_of(x), scale_of(y), 0)
    whole = [int(value.scaleb(power, EXACT)) for value in (x, y)]
    common = math.gcd(*whole)
    if common == 0:
        return kind(0)
    scale = min(scale_of(x), scale_of(y))
    exact = Fraction(abs(whole[0] * whole[1]), common * 10**power)
    result = EXACT.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return kind(with_scale(result, scale, ROUND_HALF_EVEN))


@arithmetic("N* -> B?")
def equal(*values: Any) -> bool | None:
    """Return whether all values are equal; null if a null comes before the first difference."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        raise ValueError("the values are of different types")
    for value in values:
        if value is None:
            return None
        if value != values[0] or _get_scale(value) != _get_scale(values[0]):
            return False
    return True


def _get_scale(value: Any) -> int:
    return scale_of(value) if isinstance(value, Decimal) else 0


@arithmetic("N* -> O")
def max_(*values: Any) -> Any:
    kind = _find_widest_type(values)
    return None if kind is None else max(_convert(kind, values))


@arithmetic("N* -> O")
def min_(*values: Any) -> Any:
    kind = _find_widest_type(values)
    return None if kind is None else min(_convert(kind, values))


@arithmetic("N* -> O")
def average(*values: Any) -> Any:
    """Return the average of the values that are not null.

    A running mean is updated with each value, so that no sum can overflow.
    """
    mean: Any = 0.0
    count = 0
    for value in values:
        if value is None:
            continue
        count += 1
        if isinstance(value, Decimal) and not isinstance(mean, Decimal):
            mean = Decimal(format_double(mean)) if count > 1 else Decimal(0)
        if isinstance(mean, Decimal):
            distance = EXACT.subtract(_to_decimal(value), mean)
            mean = EXACT.add(mean, divide(distance, Decimal(count)))
        else:
            mean += (float(value) - mean) / count
    return mean if count else None


logical = FunctionNamespace("logical")


@logical("L L -> L")
def BitAnd(first: int, second: int) -> int:
    return first & second


@logical("L L -> L")
def BitOr(first: int, second: int) -> int:
    return first | second


@logical("L L -> L")
def BitXor(first: int, second: int) -> int:
    return first ^ second


@logical("S -> I", "Not")
def not_text(value: str | None) -> int:
    return 0 if value else 1


@logical("D -> I", "Not")
def not_number(value: float) -> int:
    return 1 if value == 0 else 0


@logical("S -> L")
def BitCompress(value: str | None) -> int:
    digits = value or ""
    if not digits or digits.strip("01") or len(digits.lstrip("0")) > 64:
        raise ValueError(f"'{value}' is not a binary number of 64 bits at most")
    return wrap(int(digits, 2), 64)


@logical("L -> S!")
def BitExpand(value: int) -> str:
    return format(value & ((1 << 64) - 1), "b")


@logical("L A I -> L")
def SetBit(value: int, positions: Any, bit: int) -> int:
    """Set bits, which are counted from 1.

    As in the original, the mask is an int, so bit 32 also sets all higher bits.
    """
    if positions is None:
        raise ValueError("the positions are null")
    for position in positions:
        mask = wrap(1 << ((int(position) - 1) & 31), 32)
        value = value | mask if bit > 0 else value & ~mask
    return wrap(value, 64)


# ruff: noqa: N802 - functions have the names that expressions call them by


maths = FunctionNamespace("math")


def _of_doubles(run: Callable[..., float], *arguments: float) -> float:
    """Return Java's answer where Python raises an error: NaN outside the domain, infinity on overflow."""
    try:
        return float(run(*arguments))
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf


def _declare_doubles() -> None:
    for name in ("sin", "cos", "tan", "exp"):
        _declare_one(name, getattr(math, name))
    for name in ("asin", "acos", "atan", "sinh", "cosh", "tanh", "expm1", "log1p", "cbrt"):
        _declare_one(name, getattr(fdlibm, name))
    _declare_one("toRadians", lambda degrees: degrees * 0.017453292519943295)
    _declare_one("toDegrees", lambda radians: radians * 57.29577951308232)
    _declare_one("sqrt", lambda value: math.sqrt(value) if value >= 0 else math.nan)
    _declare_one("log", lambda value: math.log(value) if value else -math.inf)
    _declare_one("log10", fdlibm.log10)


def _declare_one(name: str, run: Callable[[float], float]) -> None:
    maths("D -> D", name)(lambda value: _of_doubles(run, value))


_declare_doubles()


@maths("D D -> D")
def atan2(y: float, x: float) -> float:
    return fdlibm.atan2(y, x)


@maths("D D -> D")
def hypot(x: float, y: float) -> float:
    return fdlibm.hypot(x, y)


@maths("D D -> D", "IEEEremainder")
def ieee_remainder(dividend: float, divisor: float) -> float:
    return _of_doubles(math.remainder, dividend, divisor)


@maths("D D -> D")
def pow(base: float, exponent: float) -> float:
    if exponent != exponent or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    if base == 0 and exponent < 0:
        odd = exponent % 2 == 1
        return math.copysign(math.inf, base) if odd else math.inf
    try:
        return math.pow(base, exponent)
    except ValueError:
        return math.nan
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def _round_half_up(value: float, run: Callable[[float], int]) -> float:
    if value != value or math.isinf(value):
        return value
    return math.copysign(float(run(value)), value)


@maths("D -> D")
def ceil(value: float) -> float:
    return _round_half_up(value, math.ceil)


@maths("D -> D")
def floor(value: float) -> float:
    return _round_half_up(value, math.floor)


@maths("D -> D")
def rint(value: float) -> float:
    return _round_half_up(value, round)


@maths("D -> L")
def round_(value: float) -> int:
    """Round half up, within the range of a long; NaN gives 0."""
    if value != value or math.isinf(value):
        return numbers.truncate_to_int(value, 64)
    low = math.floor(value)
    return numbers.truncate_to_int(float(low), 64) + (1 if value - low >= 0.5 else 0)


@maths("L -> L", "abs")
def abs_whole(value: int) -> int:
    return numbers.wrap(abs(value), 64)


@maths("D -> D", "abs")
def abs_double(value: float) -> float:
    return abs(value)


@maths("L L -> L", "max")
def max_whole(first: int, second: int) -> int:
    return max(first, second)


@maths("L L -> L", "min")
def min_whole(first: int, second: int) -> int:
    return min(first, second)


@maths("D D -> D", "max")
def max_double(first: float, second: float) -> float:
    if first != first or second != second:
        return math.nan
    if first == second == 0:
        return first if math.copysign(1, first) > 0 else second
    return max(first, second)


@maths("D D -> D", "min")
def min_double(first: float, second: float) -> float:
    return -max_double(-first, -second)


@maths("D -> D")
def signum(value: float) -> float:
    return value if value == 0 or value != value else math.copysign(1.0, value)


@maths("D D -> D")
def copySign(magnitude: float, sign: float) -> float:
    return math.copysign(magnitude, sign)


@maths("D -> D")
def ulp(value: float) -> float:
    return math.ulp(value)


@maths("D -> D")
def nextUp(value: float) -> float:
    return math.nextafter(value, math.inf)


@maths("D D -> D")
def nextAfter(start: float, direction: float) -> float:
    return math.nextafter(start, direction)


@maths("D I -> D")
def scalb(value: float, factor: int) -> float:
    try:
        return math.ldexp(value, factor)
    except OverflowError:
        return math.copysign(math.inf, value)


@maths("-> D")
def random_() -> float:
    return random.random()  # noqa: S311 - a number for data, not for a secret


def _exact(value: int) -> int:
    if not numbers.LONG_MIN <= value <= numbers.LONG_MAX:
        raise ValueError("long overflow")
    return value


@maths("L L -> L")
def addExact(first: int, second: int) -> int:
    return _exact(first + second)


@maths("L L -> L")
def subtractExact(first: int, second: int) -> int:
    return _exact(first - second)


@maths("L L -> L")
def multiplyExact(first: int, second: int) -> int:
    return _exact(first * second)


@maths("L -> L")
def negateExact(value: int) -> int:
    return _exact(-value)


@maths("L -> I")
def toIntExact(value: int) -> int:
    if not numbers.INT_MIN <= value <= numbers.INT_MAX:
        raise ValueError("integer overflow")
    return value


@maths("L L -> L")
def floorDiv(dividend: int, divisor: int) -> int:
    return numbers.wrap(dividend // divisor, 64)


@maths("L L -> L")
def floorMod(dividend: int, divisor: int) -> int:
    return dividend % divisor


@maths("L -> L")
def incrementExact(value: int) -> int:
    return _exact(value + 1)


@maths("L -> L")
def decrementExact(value: int) -> int:
    return _exact(value - 1)


@maths("D -> D")
def nextDown(value: float) -> float:
    return math.nextafter(value, -math.inf)


@maths("D -> I")
def getExponent(value: float) -> int:
    """Return the exponent of 2; 1024 for infinity and NaN, -1023 for 0 and subnormal numbers."""
    if math.isnan(value) or math.isinf(value):
        return 1024
    exponent = math.frexp(value)[1] - 1
    return max(exponent, -1023) if value else -1023
