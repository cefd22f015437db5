"""Secret keys of JCEKS keystores (OpenJDK, ``com/sun/crypto/provider/JceKeyStore.java``)."""

from __future__ import annotations

import hashlib
import hmac
import struct
from typing import Any, Final

from .java_objects import JavaObjectError, JavaObjectReader
from .secret_keys import KeystoreError, SecretKey, remove_padding

MAGIC: Final = b"\xce\xce\xce\xce"
_DIGEST: Final = 20
_SALT: Final = b"Mighty Aphrodite"
_SECRET_KEY: Final = 3


def list_sealed_keys(content: bytes, password: str) -> dict[str, Any]:
    """Return the sealed secret keys of a keystore by alias; None for other entries.

    :raises KeystoreError: when the password or the keystore is wrong.
    """
    entries, digest = content[:-_DIGEST], content[-_DIGEST:]
    encoded = password.encode("utf-16-be")
    made = hashlib.sha1(encoded + _SALT + entries).digest()  # noqa: S324 - the format has it
    if not hmac.compare_digest(made, digest):
        raise KeystoreError("Keystore was tampered with, or password was incorrect.")
    reader = _EntryReader(entries)
    try:
        return dict(reader.read_entry() for _ in range(reader.count))
    except (struct.error, UnicodeDecodeError, JavaObjectError) as error:
        raise KeystoreError(f"The keystore cannot be read: {error}") from None


class _EntryReader:
    def __init__(self, data: bytes) -> None:
        self._data: Final = data
        self._at = 4
        self._version: Final = self._unpack(">i")
        self.count: Final = self._unpack(">i")

    def read_entry(self) -> tuple[str, Any]:
        tag, alias = self._unpack(">i"), self._read_text()
        self._at += 8  # the date
        if tag == _SECRET_KEY:
            reader = JavaObjectReader(self._data, self._at)
            sealed = reader.read()
            self._at = reader.at
            return alias, sealed
        if tag == 1:
            self._skip_bytes()
            for _ in range(self._unpack(">i")):
                self._skip_certificate()
        else:
            self._skip_certificate()
        return alias, None

    def _skip_certificate(self) -> None:
        if self._version > 1:
            self._read_text()
        self._skip_bytes()

    def _skip_bytes(self) -> None:
        size = self._unpack(">i")
        self._at += size

    def _read_text(self) -> str:
        size = self._unpack(">H")
        self._at += size
        return self._data[self._at - size : self._at].decode()

    def _unpack(self, form: str) -> Any:
        (found,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return found


def unseal_key(sealed: dict[str, Any], password: str) -> SecretKey:
    """Decrypt a sealed key.

    :raises KeystoreError: when the password is wrong, or the key is sealed in another way.
    """
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

    if sealed.get("sealAlg") != "PBEWithMD5AndTripleDES":
        raise KeystoreError(f"The key is protected by '{sealed.get('sealAlg')}'.")
    salt, iterations = _parse_parameters(sealed["encodedParams"])
    key, iv = _derive(password, salt, iterations)
    decryptor = Cipher(TripleDES(key), modes.CBC(iv)).decryptor()
    content = remove_padding(decryptor.update(sealed["encryptedContent"]) + decryptor.finalize(), 8)
    try:
        found = JavaObjectReader(content).read()
    except JavaObjectError as error:
        raise KeystoreError(f"The key cannot be read, or its password is wrong: {error}") from None
    # SecretKeySpec has the field 'key', and KeyRep, which stands for other classes, 'encoded'.
    encoded = found.get("key") or found.get("encoded")
    return SecretKey(found["algorithm"], encoded)


def _parse_parameters(encoded: bytes) -> tuple[bytes, int]:
    """Return the salt and the number of iterations of ``SEQUENCE {OCTET STRING, INTEGER}``."""
    from asn1crypto import core

    parts = core.SequenceOf.load(encoded, spec=core.Any)
    return parts[0].native, parts[1].native


def _derive(password: str, salt: bytes, iterations: int) -> tuple[bytes, bytes]:
    """Return the key and the initialization vector (``PBES1Core.java``)."""
    halves = [salt[:4], salt[4:]]
    if halves[0] == halves[1]:
        first = halves[0]  # meant to be reversed there, but it is not
        halves[0] = bytes((first[3], first[0], first[1], first[3]))
    made = b""
    for half in halves:
        digest = half
        for _ in range(iterations):
            digest = hashlib.md5(digest + password.encode("ascii", "replace")).digest()  # noqa: S324
        made += digest
    return made[:24], made[24:]
