"""The functions of ``java.lang.Math`` that Java itself computes, with its results to the last bit.

``StrictMath`` defines them by the algorithms of fdlibm, whose results differ from those of the C library in
the last digits: of :func:`math.cbrt`, for instance, 27 has the root 3.0000000000000004. Java computes
``exp``, ``log``, ``pow``, ``sin``, ``cos`` and ``tan`` with instructions of the processor, so that their last
bit depends on the machine there, too.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

_PI_LOW: Final = 1.2246467991473531772e-16
"""What is missing from ``math.pi``."""
_HALF_PI_LOW: Final = 6.12323399573676603587e-17
_QUARTER_PI: Final = 7.85398163397448278999e-01
_LN2_HIGH: Final = 6.93147180369123816490e-01
_LN2_LOW: Final = 1.90821492927058770002e-10
_LOG_MAX: Final = 709.78271289338397
"""The logarithm of the greatest double."""
_ATAN: Final = (
    *(3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01),
    *(-1.11111104054623557880e-01, 9.09088713343650656196e-02, -7.69187620504482999495e-02),
    *(6.66107313738753120669e-02, -5.83357013379057348645e-02, 4.97687799461593236017e-02),
    *(-3.65315727442169155270e-02, 1.62858201153657823623e-02),
)
_ATAN_POINTS: Final = (
    (4.63647609000806093515e-01, 2.26987774529616870924e-17),
    (7.85398163397448278999e-01, 3.06161699786838301793e-17),
    (9.82793723247329054082e-01, 1.39033110312309984516e-17),
    (1.57079632679489655800e00, 6.12323399573676603587e-17),
)
"""The arcus tangents of 0.5, 1, 1.5 and infinity, with what is missing from each."""
_ASIN_P: Final = (
    *(1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01),
    *(-4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05),
)
_ASIN_Q: Final = (
    *(1.0, -2.40339491173441421878e00, 2.02094576023350569471e00, -6.88283971605453293030e-01),
    7.70381505559019352791e-02,
)
_EXP: Final = (
    *(1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05),
    *(-1.65339022054652515390e-06, 4.13813679705723846039e-08),
)
_EXPM1: Final = (
    *(1.0, -3.33333333333331316428e-02, 1.58730158725481460165e-03, -7.93650757867487942473e-05),
    *(4.00821782732936239552e-06, -2.01099218183624371326e-07),
)
_LOG1P: Final = (
    *(6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01),
    *(2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01),
    1.479819860511658591e-01,
)


def cbrt(x: float) -> float:
    """Return the cubic root."""
    if x == 0 or not math.isfinite(x):
        return x
    size = abs(x)
    if size < 2.0**-1022:
        root = size * 2.0**54
        root = _with_high(root, _high(root) // 3 + 696219795)
    else:
        root = _with_high(0.0, _high(size) // 3 + 715094163)
    r = root * root / size
    s = 0.5428571428571428 + r * root
    root *= 0.35714285714285715 + 1.6071428571428572 / (
        s + 1.4142857142857144 + -0.7053061224489796 / s
    )
    root = _with_high(_without_low(root), _high(root) + 1)
    r = size / (root * root)
    return math.copysign(root + root * ((r - root) / (root + root + r)), x)


def hypot(x: float, y: float) -> float:
    """Return the length of the hypotenuse."""
    a, b = sorted((abs(x), abs(y)), reverse=True)
    if math.isinf(x) or math.isinf(y):
        return math.inf
    if x != x or y != y:
        return math.nan
    if _high(a) - _high(b) > 0x3C00000:
        return a + b
    high_a, high_b, scale = _high(a), _high(b), 1.0
    if high_a > 0x5F300000:
        a, b, scale = a * 2.0**-600, b * 2.0**-600, 2.0**600
        high_a, high_b = _high(a), _high(b)
    elif b < 2.0**-500:
        if b == 0:
            return a
        if b < 2.0**-1022:
            a, b, scale = a * 2.0**1022, b * 2.0**1022, 2.0**-1022
        else:
            a, b, scale = a * 2.0**600, b * 2.0**600, 2.0**-600
        high_a, high_b = _high(a), _high(b)
    w = a - b
    if w > b:
        t1 = _with_high(0.0, high_a)
        root = math.sqrt(t1 * t1 - (b * -b - (a - t1) * (a + t1)))
    else:
        a += a
        y1, t1 = _with_high(0.0, high_b), _with_high(0.0, high_a + 0x00100000)
        root = math.sqrt(t1 * y1 - (w * -w - (t1 * (b - y1) + (a - t1) * b)))
    return scale * root


def atan(x: float) -> float:
    """Return the arcus tangent."""
    size = abs(x)
    if x != x or size < 2.0**-29:
        return x
    if size >= 2.0**66:
        return math.copysign(sum(_ATAN_POINTS[3]), x)
    if size < 0.4375:
        return x - x * _sum_of_atan(x)
    if size < 0.6875:
        point, size = _ATAN_POINTS[0], (2.0 * size - 1.0) / (2.0 + size)
    elif size < 1.1875:
        point, size = _ATAN_POINTS[1], (size - 1.0) / (size + 1.0)
    elif size < 2.4375:
        point, size = _ATAN_POINTS[2], (size - 1.5) / (1.0 + 1.5 * size)
    else:
        point, size = _ATAN_POINTS[3], -1.0 / size
    high, low = point
    return math.copysign(high - ((size * _sum_of_atan(size) - low) - size), x)


def _sum_of_atan(x: float) -> float:
    z = x * x
    w = z * z
    return z * _evaluate(_ATAN[::2], w) + w * _evaluate(_ATAN[1::2], w)


def atan2(y: float, x: float) -> float:
    """Return the angle of a point."""
    if 0 in (x, y) or x != x or y != y or math.isinf(x) or math.isinf(y):
        return math.atan2(y, x)
    if x == 1:
        return atan(y)
    exponents = (_high(abs(y)) - _high(abs(x))) >> 20
    if exponents > 60:
        angle = math.pi / 2 + 0.5 * _PI_LOW
    else:
        angle = 0.0 if x < 0 and exponents < -60 else atan(abs(y / x))
    return math.copysign(math.pi - (angle - _PI_LOW) if x < 0 else angle, y)


def asin(x: float) -> float:
    """Return the arcus sine; NaN outside -1 … 1."""
    size = abs(x)
    if not size <= 1:
        return math.nan
    if size == 1:
        return x * (math.pi / 2) + x * _HALF_PI_LOW
    if size < 0.5:
        return x if size < 2.0**-27 else x + x * _divide_asin(x * x)
    w = (1.0 - size) * 0.5
    root, r = math.sqrt(w), _divide_asin(w)
    if _high(size) >= 0x3FEF3333:
        return math.copysign(math.pi / 2 - (2.0 * (root + root * r) - _HALF_PI_LOW), x)
    begin = _without_low(root)
    rest = (w - begin * begin) / (root + begin)
    p = 2.0 * root * r - (_HALF_PI_LOW - 2.0 * rest)
    return math.copysign(_QUARTER_PI - (p - (_QUARTER_PI - 2.0 * begin)), x)


def acos(x: float) -> float:
    """Return the arcus cosine; NaN outside -1 … 1."""
    size = abs(x)
    if not size <= 1:
        return math.nan
    if size == 1:
        return 0.0 if x > 0 else math.pi + 2.0 * _HALF_PI_LOW
    if size < 0.5:
        if size <= 2.0**-57:
            return math.pi / 2 + _HALF_PI_LOW
        return math.pi / 2 - (x - (_HALF_PI_LOW - x * _divide_asin(x * x)))
    z = (1.0 - size) * 0.5
    root, r = math.sqrt(z), _divide_asin(z)
    if x < 0:
        return math.pi - 2.0 * (root + (r * root - _HALF_PI_LOW))
    begin = _without_low(root)
    rest = (z - begin * begin) / (root + begin)
    return 2.0 * (begin + (r * root + rest))


def _divide_asin(z: float) -> float:
    return z * _evaluate(_ASIN_P, z) / _evaluate(_ASIN_Q, z)


def sinh(x: float) -> float:
    """Return the hyperbolic sine."""
    size, half = abs(x), math.copysign(0.5, x)
    if not math.isfinite(x) or size < 2.0**-28:
        return x
    if size < 22:
        t = expm1(size)
        return half * (2.0 * t - t * t / (t + 1.0) if size < 1 else t + t / (t + 1.0))
    return _exp_large(size, half)


def cosh(x: float) -> float:
    """Return the hyperbolic cosine."""
    size = abs(x)
    if not math.isfinite(x):
        return size
    if _high(size) < 0x3FD62E43:
        t = expm1(size)
        w = 1.0 + t
        return w if size < 2.0**-55 else 1.0 + (t * t) / (w + w)
    if size < 22:
        t = _exp(size)
        return 0.5 * t + 0.5 / t
    return _exp_large(size, 0.5)


def _exp_large(size: float, factor: float) -> float:
    if size < 709.78:
        return factor * _exp(size)
    w = _exp(0.5 * size)
    return factor * w * w


def _exp(x: float) -> float:
    """Return ``StrictMath.exp`` of a number that is 0.3 or more."""
    if x > _LOG_MAX:
        return math.inf
    k, high, low = _subtract_ln2(x)
    x = high - low
    t = x * x
    c = x - t * _evaluate(_EXP, t)
    y = 1.0 - ((low - (x * c) / (2.0 - c)) - high)
    return y * 2.0 * 2.0**1023 if k == 1024 else math.ldexp(y, k)


def tanh(x: float) -> float:
    """Return the hyperbolic tangent."""
    size = abs(x)
    if x != x or size < 2.0**-55:
        return x
    if size >= 22:
        return math.copysign(1.0, x)
    if size >= 1:
        return math.copysign(1.0 - 2.0 / (expm1(2.0 * size) + 2.0), x)
    t = expm1(-2.0 * size)
    return math.copysign(-t / (t + 2.0), x)


def expm1(x: float) -> float:
    """Return ``exp(x) - 1``, also for small numbers."""
    size = abs(x)
    if x != x or size < 2.0**-54:
        return x
    if x > _LOG_MAX:
        return math.inf
    if x <= -56 * math.log(2):
        return -1.0
    k, high, low = _subtract_ln2(x)
    x = high - low
    rest = (high - x) - low
    half = 0.5 * x
    square = x * half
    r = _evaluate(_EXPM1, square)
    t = 3.0 - r * half
    e = square * ((r - t) / (6.0 - x * t))
    if k == 0:
        return x - (x * e - square)
    e = (x * (e - rest) - rest) - square
    if k == -1:
        return 0.5 * (x - e) - 0.5
    if k == 1:
        return -2.0 * (e - (x + 0.5)) if x < -0.25 else 1.0 + 2.0 * (x - e)
    if k <= -2 or k > 56:
        y = 1.0 - (e - x)
        return (y * 2.0 * 2.0**1023 if k == 1024 else math.ldexp(y, k)) - 1.0
    if k < 20:
        return math.ldexp((1.0 - math.ldexp(1.0, -k)) - (e - x), k)
    return math.ldexp((x - (e + math.ldexp(1.0, -k))) + 1.0, k)


def _subtract_ln2(x: float) -> tuple[int, float, float]:
    """Return how often a number has the logarithm of 2, and two numbers whose difference is the rest."""
    size = _high(abs(x))
    if size <= 0x3FD62E42:
        return 0, x, 0.0
    one = math.copysign(1.0, x)
    k = int(one if size < 0x3FF0A2B2 else 1.44269504088896338700 * x + 0.5 * one)
    return k, x - k * _LN2_HIGH, k * _LN2_LOW


def log1p(x: float) -> float:
    """Return ``log(1 + x)``, also for small numbers; NaN below -1."""
    if not x > -1:
        return -math.inf if x == -1 else math.nan
    size = abs(x)
    if size < 2.0**-54 or math.isinf(x):
        return x
    if size < 2.0**-29:
        return x - x * x * 0.5
    k, rest, f, high = 0, 0.0, x, 1
    if not _is_near_zero(x):
        u = 1.0 + x if size < 2.0**53 else x
        high = _high(u)
        k = (high >> 20) - 1023
        if size < 2.0**53:
            rest = (1.0 - (u - x) if k > 0 else x - (u - 1.0)) / u
        high &= 0x000FFFFF
        if high < 0x6A09E:
            u = _with_high(u, high | 0x3FF00000)
        else:
            k += 1
            u = _with_high(u, high | 0x3FE00000)
            high = (0x00100000 - high) >> 2
        f = u - 1.0
    half = 0.5 * f * f
    if high == 0:
        if f == 0:
            return 0.0 if k == 0 else k * _LN2_HIGH + (rest + k * _LN2_LOW)
        r = half * (1.0 - 0.66666666666666666 * f)
        return f - r if k == 0 else k * _LN2_HIGH - ((r - (k * _LN2_LOW + rest)) - f)
    s = f / (2.0 + f)
    z = s * s
    r = z * _evaluate(_LOG1P, z)
    if k == 0:
        return f - (half - s * (half + r))
    return k * _LN2_HIGH - ((half - (s * (half + r) + (k * _LN2_LOW + rest))) - f)


def _is_near_zero(x: float) -> bool:
    """Return whether a number is between -0.2929 and 0.41422."""
    return _high(x) < 0x3FDA827A if x > 0 else _high(abs(x)) <= 0x3FD2BEC3


def log10(x: float) -> float:
    """Return the decimal logarithm, rounded correctly, as almost every result of Java is."""
    if not x > 0:
        return -math.inf if x == 0 else math.nan
    return float(Decimal(x).log10()) if math.isfinite(x) else x


def _evaluate(coefficients: Sequence[float], x: float) -> float:
    """Return a polynomial, whose coefficients begin with that of degree 0."""
    value = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = coefficient + x * value
    return value


def _high(x: float) -> int:
    """Return the high 32 bits of a number that is not negative."""
    high: int = struct.unpack(">I4x", struct.pack(">d", x))[0]
    return high


def _with_high(x: float, high: int) -> float:
    """Replace the high 32 bits."""
    number: float = struct.unpack(">d", struct.pack(">I", high) + struct.pack(">d", x)[4:])[0]
    return number


def _without_low(x: float) -> float:
    """Clear the low 32 bits."""
    number: float = struct.unpack(">d", struct.pack(">d", x)[:4] + bytes(4))[0]
    return number
