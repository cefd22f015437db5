"""MD2 (RFC 1319), which Java has and Python's hashlib does not."""

from __future__ import annotations

import functools
from typing import Final

_BLOCK: Final = 16
_ROUNDS: Final = 18
_DIGITS: Final = 1000
"""Of pi, more than the substitution takes."""


def md2(value: bytes) -> bytes:
    """The digest of bytes."""
    table = _substitution()
    missing = _BLOCK - len(value) % _BLOCK
    padded = value + bytes([missing]) * missing
    padded += _checksum(padded, table)
    state = [0] * (3 * _BLOCK)
    for at in range(0, len(padded), _BLOCK):
        for i, byte in enumerate(padded[at : at + _BLOCK]):
            state[_BLOCK + i] = byte
            state[2 * _BLOCK + i] = byte ^ state[i]
        last = 0
        for number in range(_ROUNDS):
            for i, one in enumerate(state):
                last = state[i] = one ^ table[last]
            last = (last + number) % 256
    return bytes(state[:_BLOCK])


def _checksum(padded: bytes, table: list[int]) -> bytes:
    found, last = [0] * _BLOCK, 0
    for at, byte in enumerate(padded):
        last = found[at % _BLOCK] = found[at % _BLOCK] ^ table[byte ^ last]
    return bytes(found)


@functools.cache
def _substitution() -> list[int]:
    """The numbers below 256 in an order that the digits of pi decide."""
    digits = iter(_pi())

    def below(limit: int) -> int:
        while True:
            number, most = next(digits), 10
            while limit > most:
                number, most = number * 10 + next(digits), most * 10
            if number < most - most % limit:
                return number % limit

    table = list(range(256))
    for count in range(2, 257):
        other = below(count)
        table[count - 1], table[other] = table[other], table[count - 1]
    return table


def _pi() -> list[int]:
    """The first digits of pi, by Machin's formula."""
    unit: int = 10 ** (_DIGITS + 10)

    def arctan_of_one_by(number: int) -> int:
        total = term = unit // number
        divisor = 1
        while term:
            term //= -number * number
            divisor += 2
            total += term // divisor
        return total

    found = 4 * (4 * arctan_of_one_by(5) - arctan_of_one_by(239))
    return [int(digit) for digit in str(found)[:_DIGITS]]
