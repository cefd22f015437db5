"""Secret keys, and what is common to the formats of keystores."""

from __future__ import annotations

from typing import NamedTuple


class KeystoreError(Exception):
    """A keystore or one of its keys cannot be used; the message says why."""


class SecretKey(NamedTuple):
    """A secret key with the name of its algorithm in Java."""

    algorithm: str
    encoded: bytes


def remove_padding(data: bytes, block: int) -> bytes:
    """Remove the padding of PKCS #5.

    :raises KeystoreError: when there is none, as after a decryption with a wrong password.
    """
    size = data[-1] if data else 0
    if not 1 <= size <= block or data[-size:] != bytes([size]) * size:
        raise KeystoreError("The password of the key is wrong.")
    return data[:-size]
