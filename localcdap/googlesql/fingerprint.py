"""FARM_FINGERPRINT: the Fingerprint64 of FarmHash (google/farmhash, ``src/farmhash.cc``, ``farmhashna``)."""

from __future__ import annotations

from typing import Final

_MASK: Final = 2**64 - 1
_SIGN: Final = 2**63
_K0: Final = 0xC3A5C85C97CB3127
_K1: Final = 0xB492B66FBE98F273
_K2: Final = 0x9AE16A3B2F90404F
_SEED: Final = 81
_BLOCK: Final = 64
_Pair = tuple[int, int]


def farm_fingerprint(data: bytes) -> int:
    """Return the fingerprint of bytes as a signed integer of 64 bits."""
    found = _hash(data)
    return found - 2**64 if found >= _SIGN else found


def _hash(data: bytes) -> int:
    size = len(data)
    if size <= 16:
        return _hash_up_to_16(data, size)
    if size <= 32:
        return _hash_17_to_32(data, size)
    if size <= _BLOCK:
        return _hash_33_to_64(data, size)
    return _hash_blocks(data, size)


def _read(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value >> bits) | (value << (64 - bits)) & _MASK


def _shift(value: int) -> int:
    value &= _MASK
    return value ^ (value >> 47)


def _mix(u: int, v: int, factor: int) -> int:
    a = _shift((u ^ v) * factor)
    b = _shift((v ^ a) * factor)
    return b * factor & _MASK


def _hash_up_to_16(data: bytes, size: int) -> int:
    factor = _K2 + size * 2 & _MASK
    if size >= 8:
        a, b = _read(data, 0) + _K2 & _MASK, _read(data, size - 8)
        c = _rotate(b, 37) * factor + a & _MASK
        d = (_rotate(a, 25) + b) * factor & _MASK
        return _mix(c, d, factor)
    if size >= 4:
        return _mix(size + (_read(data, 0, 4) << 3), _read(data, size - 4, 4), factor)
    if size == 0:
        return _K2
    y = data[0] + (data[size >> 1] << 8)
    z = size + (data[size - 1] << 2)
    return _shift(y * _K2 ^ z * _K0) * _K2 & _MASK


def _hash_17_to_32(data: bytes, size: int) -> int:
    factor = _K2 + size * 2 & _MASK
    a, b = _read(data, 0) * _K1 & _MASK, _read(data, 8)
    c, d = _read(data, size - 8) * factor, _read(data, size - 16) * _K2
    first = _rotate(a + b, 43) + _rotate(c, 30) + d & _MASK
    return _mix(first, a + _rotate(b + _K2, 18) + c & _MASK, factor)


def _hash_33_to_64(data: bytes, size: int) -> int:
    factor = _K2 + size * 2 & _MASK
    a, b = _read(data, 0) * _K2 & _MASK, _read(data, 8)
    c, d = _read(data, size - 8) * factor, _read(data, size - 16) * _K2
    y = _rotate(a + b, 43) + _rotate(c, 30) + d & _MASK
    z = _mix(y, a + _rotate(b + _K2, 18) + c & _MASK, factor)
    e, f = _read(data, 16) * factor & _MASK, _read(data, 24)
    g, h = (y + _read(data, size - 32)) * factor, (z + _read(data, size - 24)) * factor
    first = _rotate(e + f, 43) + _rotate(g, 30) + h & _MASK
    return _mix(first, e + _rotate(f + a, 18) + g & _MASK, factor)


def _hash_half_block(data: bytes, at: int, a: int, b: int) -> _Pair:
    first, second, third, last = (_read(data, at + offset) for offset in (0, 8, 16, 24))
    a += first
    b = _rotate(b + a + last, 21)
    start = a
    a += second + third
    return a + last & _MASK, b + _rotate(a, 44) + start & _MASK


def _hash_blocks(data: bytes, size: int) -> int:
    y = _SEED * _K1 + 113 & _MASK
    z = _shift(y * _K2 + 113) * _K2 & _MASK
    x = _SEED * _K2 + _read(data, 0) & _MASK
    v: _Pair = (0, 0)
    w: _Pair = (0, 0)
    for at in range(0, (size - 1) // _BLOCK * _BLOCK, _BLOCK):
        x = _rotate(x + y + v[0] + _read(data, at + 8), 37) * _K1 & _MASK ^ w[1]
        y = _rotate(y + v[1] + _read(data, at + 48), 42) * _K1 + v[0] + _read(data, at + 40) & _MASK
        z = _rotate(z + w[0], 33) * _K1 & _MASK
        v = _hash_half_block(data, at, v[1] * _K1, x + w[0])
        w = _hash_half_block(data, at + 32, z + w[1], y + _read(data, at + 16))
        z, x = x, z
    factor = _K1 + ((z & 0xFF) << 1) & _MASK
    at = size - _BLOCK
    w = (w[0] + (size - 1 & 63) & _MASK, w[1])
    v = (v[0] + w[0] & _MASK, v[1])
    w = (w[0] + v[0] & _MASK, w[1])
    x = _rotate(x + y + v[0] + _read(data, at + 8), 37) * factor & _MASK ^ w[1] * 9 & _MASK
    y = _rotate(y + v[1] + _read(data, at + 48), 42) * factor + v[0] * 9 + _read(data, at + 40)
    y &= _MASK
    z = _rotate(z + w[0], 33) * factor & _MASK
    v = _hash_half_block(data, at, v[1] * factor, x + w[0])
    w = _hash_half_block(data, at + 32, z + w[1], y + _read(data, at + 16))
    z, x = x, z
    first = _mix(v[0], w[0], factor) + _shift(y) * _K0 + z & _MASK
    return _mix(first, _mix(v[1], w[1], factor) + x & _MASK, factor)
