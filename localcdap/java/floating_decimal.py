"""The digits of floating-point numbers in Java before version 19 (``jdk.internal.math.FloatingDecimal``).

``Double.toString`` and ``Float.toString`` write the shortest digits that are read back as the number, as
Python does, except for numbers beyond the digits of their type, powers of two and subnormal numbers: the
float nearest to 123456789 is ``1.23456792E8``, where ``1.2345679E8`` would do.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Final, NamedTuple

_LARGEST_FIVE: Final = 27
"""The powers of five from this one on have an estimate of their bits in Java."""


class NumberFormat(NamedTuple):
    """A type of floating-point numbers."""

    bits: int
    """Of the significand."""
    smallest: float
    """The smallest number that is not subnormal."""


DOUBLE: Final = NumberFormat(53, 2.0**-1022)
FLOAT: Final = NumberFormat(24, 2.0**-126)


def has_shortest_digits(value: float, kind: NumberFormat) -> bool:
    """Return whether Java writes the shortest digits of a positive number for certain."""
    if 1e-3 <= value < 1e7:
        return True
    return kind.smallest <= value < 2.0 ** (kind.bits + 1) and math.frexp(value)[0] != 0.5


def find_digits(value: float, kind: NumberFormat) -> tuple[str, int]:
    """Return the digits of a positive finite number, and the power of ten of the last one.

    :param value: a number that the type holds, or the double with the same shortest digits.
    """
    if has_shortest_digits(value, kind):
        _, digits, last = Decimal(repr(value)).as_tuple()
        assert isinstance(last, int)
        return "".join(map(str, digits)), last
    if kind is FLOAT:
        (value,) = struct.unpack("f", struct.pack("f", value))
    fraction, exponent = math.frexp(value)
    mantissa, power = int(fraction * 2.0**53), exponent - 1
    significant = kind.bits
    if value < kind.smallest:
        significant -= round(math.log2(kind.smallest)) - power
    zeros = (mantissa & -mantissa).bit_length() - 1
    if 0 <= power <= 62 and zeros + power >= 52:
        return _find_whole_digits(int(value), power, significant)
    return _find_digits(mantissa, power, zeros, significant)


def _find_whole_digits(number: int, power: int, significant: int) -> tuple[str, int]:
    """Return the digits of a whole number of at most 63 bits, rounded to the digits that its bits hold."""
    below = power - significant - 1
    dropped = len(str(1 << below)) - 1 if below > 1 else 0
    unit: int = 10**dropped
    return str((number + unit // 2) // unit), dropped


def _find_digits(mantissa: int, power: int, zeros: int, significant: int) -> tuple[str, int]:
    """Return the digits by division, until the rest is less than half of the last bit.

    :param mantissa: of 53 bits.
    :param power: the power of two of its highest bit.
    :param zeros: how many of its low bits are 0.
    """
    bits = 53 - zeros
    behind_point = max(0, bits - power - 1)
    estimate = (mantissa / 2.0**52 - 1.5) * 0.289529654 + 0.176091259 + power * 0.301029995663981
    ten = math.floor(estimate)
    fives, fives_below = max(0, -ten), max(0, ten)
    twos, twos_below = fives + behind_point + power, fives_below + behind_point
    twos_of_half = twos - significant - (bits == 1)
    twos -= bits - 1
    common = min(twos, twos_below)
    common = min(common, twos_of_half)
    number = (mantissa >> zeros) * 5**fives << twos - common
    divisor = 5**fives_below << twos_below - common
    half = 5**fives << twos_of_half - common
    width = _find_width(
        bits + twos - common + _count_bits(fives),
        twos_below - common + 1 + _count_bits(fives_below + 1),
    )
    return _divide(number, divisor, half, ten, width)


def _find_width(*bits: int) -> int:
    """Return the bits of the numbers with which Java calculates; 0 for numbers of any size."""
    return 0 if max(bits) >= 64 else 64 if max(bits) >= 32 else 32


def _count_bits(five: int) -> int:
    """Return about how many bits a power of five has."""
    if five >= _LARGEST_FIVE:
        return five * 3
    return int(5**five).bit_length() if five else 0


def _divide(number: int, divisor: int, half: int, ten: int, width: int) -> tuple[str, int]:
    """Divide until what is left is within ``half``, or that much below the next digit."""
    digits = 0
    count = 0
    is_first = True
    while True:
        digit, number = divmod(number, divisor)
        number *= 10
        half *= 10
        if width:
            half = _wrap(half, width)
            is_low, is_high = number < half, _wrap(number + half, width) > 10 * divisor
            if half <= 0 and not is_first:
                is_low = is_high = True
        else:
            is_low, is_high = number < half, number + half >= 10 * divisor
        if is_first and digit == 0 and not is_high:
            ten -= 1
        else:
            digits, count = digits * 10 + digit, count + 1
        # At least two digits are written with an exponent.
        is_complete = (is_low or is_high) and not (is_first and not -3 <= ten < 8)
        is_first = False
        if is_complete:
            break
    rest = 2 * number - 10 * divisor
    if is_high and (not is_low or rest > 0 or (rest == 0 and digits % 2)):
        digits += 1
    return str(digits), ten - count + 1


def _wrap(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number
