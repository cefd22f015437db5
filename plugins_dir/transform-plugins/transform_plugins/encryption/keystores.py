"""Keystores of Java: files with secret keys under aliases, protected by passwords.

The formats are JCEKS (OpenJDK, ``com/sun/crypto/provider/JceKeyStore.java``) with keys as Java serializes
objects (Java Object Serialization Specification, chapter 6), and PKCS #12 as Java makes them
(``sun/security/pkcs12/PKCS12KeyStore.java``; RFC 7292, RFC 8018).
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from pathlib import Path
from typing import Any, Final, NamedTuple


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


_NULL: Final = 0x70
_REFERENCE: Final = 0x71
_CLASS: Final = 0x72
_END: Final = 0x78
_MAGIC: Final = b"\xac\xed\x00\x05"
_FIRST_HANDLE: Final = 0x7E0000
_PRIMITIVES: Final = dict(B=">b", C=">H", D=">d", F=">f", I=">i", J=">q", S=">h", Z=">?")  # noqa: C408


class JavaObjectError(ValueError):
    """The bytes are not a serialized object, or one of a kind that keys do not have."""


class _ClassDescription:
    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.fields: list[tuple[str, str]] = []
        """The type code and the name of each field, in the order of the values."""
        self.parent: _ClassDescription | None = None


class JavaObjectReader:
    """Reads serialized objects: those of classes as values by field, and texts, bytes and enums.

    :param data: bytes with an object somewhere.
    :param at: where the stream of objects begins; afterwards, where it ends.
    """

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data: Final = data
        self.at = at
        self._handles: Final[list[Any]] = []

    def read(self) -> Any:
        """Return the first object of a stream.

        :raises JavaObjectError: when it cannot be read.
        """
        if self._take(4) != _MAGIC:
            raise JavaObjectError("It is not a serialized Java object.")
        try:
            return self._read_content()
        except (struct.error, IndexError, UnicodeDecodeError, RecursionError) as error:
            raise JavaObjectError(f"The serialized Java object is damaged: {error}.") from None

    def _take(self, size: int) -> bytes:
        taken = self._data[self.at : self.at + size]
        if len(taken) != size:
            raise JavaObjectError("The serialized Java object is incomplete.")
        self.at += size
        return taken

    def _unpack(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _read_text(self) -> str:
        return self._take(self._unpack(">H")).decode()

    def _read_content(self) -> Any:
        match self._unpack(">B"):
            case 0x70:
                return None
            case 0x71:
                return self._handles[self._unpack(">i") - _FIRST_HANDLE]
            case 0x73:
                return self._read_object()
            case 0x74:
                return self._keep(self._read_text())
            case 0x75:
                return self._read_array()
            case 0x7E:  # an enum: its value is its name
                self._read_class()
                self._keep(None)
                return self._read_content()
            case other:
                raise JavaObjectError(f"The serialized Java object has the element 0x{other:02x}.")

    def _keep(self, value: Any) -> Any:
        self._handles.append(value)
        return value

    def _read_array(self) -> bytes:
        description = self._read_class()
        number = len(self._handles)
        self._keep(None)
        if description is None or description.name != "[B":
            raise JavaObjectError("The serialized Java object has an array that is not of bytes.")
        found = self._handles[number] = self._take(self._unpack(">i"))
        return found

    def _read_object(self) -> dict[str, Any]:
        description = self._read_class()
        values: dict[str, Any] = self._keep({})
        chain: list[_ClassDescription] = []
        while description is not None:
            chain.insert(0, description)
            description = description.parent
        for each in chain:
            for code, name in each.fields:
                is_plain = code in _PRIMITIVES
                values[name] = self._unpack(_PRIMITIVES[code]) if is_plain else self._read_content()
        return values

    def _read_class(self) -> _ClassDescription | None:
        kind = self._unpack(">B")
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            found = self._handles[self._unpack(">i") - _FIRST_HANDLE]
            if not isinstance(found, _ClassDescription):
                raise JavaObjectError("The serialized Java object refers to no class.")
            return found
        if kind != _CLASS:
            raise JavaObjectError(f"The serialized Java object has a class 0x{kind:02x}.")
        description = _ClassDescription(self._read_text())
        self._take(8)
        self._keep(description)
        flags = self._unpack(">B")
        if flags & 0x01 or flags & 0x04:
            raise JavaObjectError(f"Objects of the Java class {description.name} cannot be read.")
        for _ in range(self._unpack(">H")):
            code, name = chr(self._unpack(">B")), self._read_text()
            if code in "[L":
                self._read_content()  # the name of the field's class
            description.fields.append((code, name))
        if self._unpack(">B") != _END:
            raise JavaObjectError(f"The Java class {description.name} has annotations.")
        description.parent = self._read_class()
        return description


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


TYPES: Final = ("JCEKS", "JKS", "PKCS12")
_JKS_MAGIC: Final = b"\xfe\xed\xfe\xed"
_ACTION: Final = "Correct 'keystorePath', 'keystoreType' and 'keystorePassword'."


def read_secret_key(
    file: Path, type: str, password: str, alias: str, key_password: str
) -> SecretKey:
    """Return the secret key of an alias, which is compared without regard to case.

    As in Java, a keystore of the type JKS may be a file of the type PKCS12, and the other way round.

    :raises KeystoreError: when there is no such key, or a password is wrong.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise KeystoreError(f"The keystore cannot be read: {error.strerror}: '{file}'.") from None
    is_jceks, is_jks = content.startswith(MAGIC), content.startswith(_JKS_MAGIC)
    if is_jceks != (type.upper() == "JCEKS"):
        raise KeystoreError(f"'{file}' is not a keystore of the type {type}.")
    if is_jks:
        raise KeystoreError(f"'{file}' is a keystore of the type JKS, which holds no secret keys.")
    read = list_sealed_keys if is_jceks else list_encrypted_keys
    keys = read(content, password)
    protected = keys.get(alias.lower())
    if protected is None:
        names = ", ".join(sorted(name for name, key in keys.items() if key is not None))
        raise KeystoreError(
            f"The keystore has no secret key '{alias}'; its secret keys are: {names or 'none'}."
        )
    if is_jceks:
        return unseal_key(protected, key_password)
    return decrypt_key(protected, key_password)
