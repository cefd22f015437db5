"""Message digests by the names that Java gives them."""

from __future__ import annotations

import functools
import hashlib
from typing import Final

from localcdap.plugin_lib.wrangler.values.md2 import md2

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
"""What the original knows by name."""


def unavailable(name: str) -> str | None:
    """Why an algorithm cannot be used here; None when it can."""
    if name in _BLAKE or name == "MD2":
        return None
    if name in _OTHERS:
        return f"algorithm '{name}' is not available; use a SHA-2, SHA-3 or BLAKE2B algorithm"
    return _missing(name)


@functools.cache
def _missing(name: str) -> str | None:
    try:
        hashlib.new(_NAMES[name], usedforsecurity=False)
    except ValueError:
        return f"algorithm '{name}' is not part of this machine's OpenSSL"
    return None


def digest(name: str, value: bytes) -> bytes:
    """The digest of bytes by an algorithm that is available."""
    if name == "MD2":
        return md2(value)
    if name in _BLAKE:
        return hashlib.blake2b(value, digest_size=_BLAKE[name]).digest()
    return hashlib.new(_NAMES[name], value, usedforsecurity=False).digest()
