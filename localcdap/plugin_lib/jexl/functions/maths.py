"""``math:``: ``java.lang.Math``."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import math
import random
from collections.abc import Callable

from localcdap.java import fdlibm, numbers
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

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
