"""The directive that replaces columns by their digests.

Message digests by the names that Java gives them; MD2 (RFC 1319), which hashlib lacks, is here.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any, Final

from localcdap.api.directive import (
    Columns,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.directives.columns import find_column, report_missing_column
from localcdap.plugin_lib.wrangler.directives.encodings import read_bytes
from localcdap.plugin_lib.wrangler.recipe.base_directives import ColumnMap, require_text_column

_NAMES: Final = {
    "MD4": "md4",
    "MD5": "md5",
    "SHA": "sha1",
    "SHA-1": "sha1",
    "SHA-224": "sha224",
    "SHA-256": "sha256",
    "SHA-384": "sha384",
    "SHA-512": "sha512",
    "SHA-512/224": "sha512_224",
    "SHA-512/256": "sha512_256",
    "SHA3-224": "sha3_224",
    "SHA3-256": "sha3_256",
    "SHA3-384": "sha3_384",
    "SHA3-512": "sha3_512",
    "RIPEMD160": "ripemd160",
    "SM3": "sm3",
    "WHIRLPOOL": "whirlpool",
}
_BLAKE: Final = {f"BLAKE2B-{bits}": bits // 8 for bits in (160, 256, 384, 512)}
_OTHERS: Final = (
    *("GOST3411", "GOST3411-2012-256", "GOST3411-2012-512"),
    *("KECCAK-224", "KECCAK-256", "KECCAK-288", "KECCAK-384", "KECCAK-512"),
    *("RIPEMD128", "RIPEMD256", "RIPEMD320", "Tiger", "TIGER"),
    *(f"Skein-1024-{bits}" for bits in (1024, 384, 512)),
    *(f"Skein-256-{bits}" for bits in (128, 160, 224, 256)),
    *(f"Skein-512-{bits}" for bits in (128, 160, 224, 256, 384, 512)),
)
ALGORITHMS: Final = tuple(sorted(("MD2", *_NAMES, *_BLAKE, *_OTHERS)))
"""The algorithms that the original knows by name."""


def find_unavailability(name: str) -> str | None:
    """Return why an algorithm is not available; None for an available one."""
    if name in _BLAKE or name == "MD2":
        return None
    if name in _OTHERS:
        return f"algorithm '{name}' is not available; use a SHA-2, SHA-3 or BLAKE2B algorithm"
    return _find_openssl_problem(name)


@functools.cache
def _find_openssl_problem(name: str) -> str | None:
    try:
        hashlib.new(_NAMES[name], usedforsecurity=False)
    except ValueError:
        return f"algorithm '{name}' is not part of this machine's OpenSSL"
    return None


def compute_digest(name: str, value: bytes) -> bytes:
    """Compute the digest of bytes by an available algorithm."""
    if name == "MD2":
        return compute_md2(value)
    if name in _BLAKE:
        return hashlib.blake2b(value, digest_size=_BLAKE[name]).digest()
    return hashlib.new(_NAMES[name], value, usedforsecurity=False).digest()


_BLOCK: Final = 16
_ROUNDS: Final = 18
_DIGITS: Final = 1000
"""Digits of pi, more than the substitution needs."""


def compute_md2(value: bytes) -> bytes:
    """Compute the digest of bytes."""
    table = _build_substitution()
    missing = _BLOCK - len(value) % _BLOCK
    padded = value + bytes([missing]) * missing
    padded += _compute_checksum(padded, table)
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


def _compute_checksum(padded: bytes, table: list[int]) -> bytes:
    found, last = [0] * _BLOCK, 0
    for at, byte in enumerate(padded):
        last = found[at % _BLOCK] = found[at % _BLOCK] ^ table[byte ^ last]
    return bytes(found)


@functools.cache
def _build_substitution() -> list[int]:
    """Return the numbers below 256 in the order that the digits of pi define."""
    digits = iter(_compute_pi())

    def draw_below(limit: int) -> int:
        while True:
            number, most = next(digits), 10
            while limit > most:
                number, most = number * 10 + next(digits), most * 10
            if number < most - most % limit:
                return number % limit

    table = list(range(256))
    for count in range(2, 257):
        other = draw_below(count)
        table[count - 1], table[other] = table[other], table[count - 1]
    return table


def _compute_pi() -> list[int]:
    """Compute the first digits of pi, by Machin's formula."""
    unit: int = 10 ** (_DIGITS + 10)

    def compute_arctan(number: int) -> int:
        total = term = unit // number
        divisor = 1
        while term:
            term //= -number * number
            divisor += 2
            total += term // divisor
        return total

    found = 4 * (4 * compute_arctan(5) - compute_arctan(239))
    return [int(digit) for digit in str(found)[:_DIGITS]]


@plugin(name="hash", description="Replaces a column by its digest, for instance SHA-256.")
class Hash(ColumnMap):
    categories = ("transform", "hash")
    examples = ("hash :ssn 'SHA-256' true",)
    masks = True
    column: str = argument.column("The column to replace.")
    algorithm: str = argument.text("The algorithm, such as MD5, SHA-1, SHA-256, SHA3-512.")
    encode: bool = argument.boolean(
        "Whether the digest becomes a hexadecimal text of at least 64 digits instead of bytes.",
        default=False,
    )

    def problem(self) -> str | None:
        name = self.algorithm
        if name not in ALGORITHMS:
            return f"there is no algorithm '{name}'; there are {', '.join(ALGORITHMS)}"
        return find_unavailability(name)

    def propagate(self, columns: Columns) -> None:
        if not report_missing_column(columns, self.column, "hash"):
            columns.put(self.column, Schema.STRING if self.encode else Schema.BYTES)

    def change(self, row: Row, context: RowContext) -> None:
        find_column(row, self.column)  # fails for a missing column
        super().change(row, context)

    def map(self, value: Any) -> Any:
        hashed = compute_digest(self.algorithm, read_bytes(value, self.column))
        return to_hex(hashed) if self.encode else hashed

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        require_text_column(frame, self.column)
        value = frame.column(self.column)
        encoded = f.encode(value, "UTF-8")
        match self.algorithm:
            case "MD5":
                digits = f.md5(encoded)
            case "SHA" | "SHA-1":
                digits = f.sha1(encoded)
            case "SHA-224" | "SHA-256" | "SHA-384" | "SHA-512":
                digits = f.sha2(encoded, int(self.algorithm[4:]))
            case _:
                raise NoNativeFormError(f"Spark has no {self.algorithm}")
        frame.fail_where(
            value.isNull(), f"column '{self.column}' is null; a text or bytes are needed"
        )
        if self.encode:
            padded = f.concat(f.lit("0" * 64), digits)
            shown = f.regexp_replace(padded, "^0+(?=.{64})", "")
            frame.put(self.column, shown, Schema.STRING)
        else:
            frame.put(self.column, f.unhex(digits), Schema.BYTES)


def to_hex(hashed: bytes) -> str:
    """Return a digest as a hexadecimal number, padded to 64 digits, as the original does."""
    return f"{int.from_bytes(hashed, 'big'):064x}"
