"""Secret keys of PKCS #12 keystores, as Java makes them (OpenJDK, ``sun/security/pkcs12/
PKCS12KeyStore.java``; RFC 7292, RFC 8018).
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Final

from .secret_keys import KeystoreError, SecretKey, remove_padding

_ALGORITHMS: Final = {
    "2.16.840.1.101.3.4.1": "AES",
    "1.2.840.113549.3.7": "DESede",
    "1.3.14.3.2.7": "DES",
}
"""The names of the algorithms in Java."""
_KEY, _IV, _MAC = 1, 2, 3
"""What is derived from a password (RFC 7292, appendix B.3)."""
_BLOCKS: Final = {"sha1": 64, "sha224": 64, "sha256": 64, "sha384": 128, "sha512": 128}


def list_encrypted_keys(content: bytes, password: str) -> dict[str, Any]:
    """Return the encrypted secret keys of a keystore by alias; None for other entries.

    :raises KeystoreError: when the password or the keystore is wrong.
    """
    from asn1crypto import pkcs12

    try:
        pfx = pkcs12.Pfx.load(content, strict=True)
        _check_password(pfx, password)
        found: dict[str, Any] = {}
        for each in pfx.authenticated_safe:
            if each["content_type"].native == "data":
                bags = pkcs12.SafeContents.load(each["content"].native)
                found |= {_get_alias(bag): _get_encrypted(bag) for bag in bags}
    except (ValueError, TypeError, KeyError) as error:
        raise KeystoreError(f"The keystore cannot be read: {error}") from None
    return found


def _check_password(pfx: Any, password: str) -> None:
    if not pfx["mac_data"]:
        return
    mac = pfx["mac_data"]["mac"]
    name = mac["digest_algorithm"]["algorithm"].native
    if name not in _BLOCKS:
        raise KeystoreError(f"The keystore is protected by '{name}'.")
    salt, rounds = pfx["mac_data"]["mac_salt"].native, pfx["mac_data"]["iterations"].native
    size = hashlib.new(name).digest_size
    key = derive(name, password, salt, rounds, purpose=_MAC, size=size)
    made = hmac.digest(key, pfx["auth_safe"]["content"].native, name)
    if not hmac.compare_digest(made, mac["digest"].native):
        raise KeystoreError("keystore password was incorrect.")


def _get_alias(bag: Any) -> str:
    for each in bag["bag_attributes"]:
        if each["type"].native == "friendly_name":
            return str(each["values"].native[0]).lower()
    return ""


def _get_encrypted(bag: Any) -> Any:
    """Return the encrypted key of a secret bag; None for another bag."""
    from asn1crypto import keys

    if bag["bag_id"].native != "secret_bag":
        return None
    return keys.EncryptedPrivateKeyInfo.load(bag["bag_value"]["secret_value"].contents)


def decrypt_key(encrypted: Any, password: str) -> SecretKey:
    """Decrypt a key.

    :raises KeystoreError: when the password is wrong, or the key is encrypted in another way.
    """
    from asn1crypto import core

    algorithm = encrypted["encryption_algorithm"]
    data = encrypted["encrypted_data"].native
    try:
        plain = _decrypt(algorithm, data, password)
        parts = core.SequenceOf.load(plain, spec=core.Any)
        identifier = core.SequenceOf.load(parts[1].dump(), spec=core.Any)[0].native
        key: bytes = parts[2].native
    except (ValueError, TypeError, KeyError) as error:
        raise KeystoreError(f"The key cannot be read, or its password is wrong: {error}") from None
    if identifier not in _ALGORITHMS:
        raise KeystoreError(f"The key is for the algorithm {identifier}, which is not known here.")
    return SecretKey(_ALGORITHMS[identifier], key)


def _decrypt(algorithm: Any, data: bytes, password: str) -> bytes:
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    name = algorithm["algorithm"].native
    cipher: Cipher[modes.CBC]
    if name == "pbes2" and algorithm.kdf == "pbkdf2" and algorithm.encryption_cipher == "aes":
        key = hashlib.pbkdf2_hmac(
            algorithm.kdf_hmac,
            password.encode(),
            algorithm.kdf_salt,
            algorithm.kdf_iterations,
            algorithm.key_length,
        )
        cipher, block = Cipher(algorithms.AES(key), modes.CBC(algorithm.encryption_iv)), 16
    elif name == "pkcs12_sha1_tripledes_3key":
        salt, rounds = algorithm.kdf_salt, algorithm.kdf_iterations
        key = derive("sha1", password, salt, rounds, purpose=_KEY, size=24)
        iv = derive("sha1", password, salt, rounds, purpose=_IV, size=8)
        cipher, block = Cipher(TripleDES(key), modes.CBC(iv)), 8
    else:
        raise KeystoreError(f"The key is protected by '{name}', which is not known here.")
    decryptor = cipher.decryptor()
    return remove_padding(decryptor.update(data) + decryptor.finalize(), block)


def derive(
    digest: str, password: str, salt: bytes, rounds: int, *, purpose: int, size: int
) -> bytes:
    """Derive bytes from a password (RFC 7292, appendix B.2)."""
    block = _BLOCKS[digest]
    encoded = password.encode("utf-16-be") + b"\0\0"
    seed = bytearray(_repeat(salt, block) + _repeat(encoded, block))
    made = b""
    while True:
        part = bytes([purpose]) * block + bytes(seed)
        for _ in range(rounds):
            part = hashlib.new(digest, part).digest()
        made += part
        if len(made) >= size:
            return made[:size]
        added = int.from_bytes(_repeat(part, block)[:block], "big") + 1
        for at in range(0, len(seed), block):
            total = int.from_bytes(seed[at : at + block], "big") + added
            seed[at : at + block] = (total % (1 << (8 * block))).to_bytes(block, "big")


def _repeat(data: bytes, block: int) -> bytes:
    """Return bytes repeated to the next multiple of a block."""
    size = -(-len(data) // block) * block
    return (data * (size // len(data) + 1))[:size] if data else b""
