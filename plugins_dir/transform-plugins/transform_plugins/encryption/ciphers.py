"""Ciphers by their names in Java, such as AES/CBC/PKCS5Padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .secret_keys import SecretKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher

_ALGORITHMS: Final = {
    "AES": ("AES", 16, (16, 24, 32)),
    "DESEDE": ("DESede", 8, (24,)),
    "TRIPLEDES": ("DESede", 8, (24,)),
    "DES": ("DES", 8, (8,)),
    "BLOWFISH": ("Blowfish", 8, tuple(range(4, 57))),
}
"""By name: the name of its keys, the size of a block, and the sizes of keys, in bytes."""
_MODES: Final = ("ECB", "CBC", "CFB", "CFB8", "OFB", "CTR")
_PADDED: Final = "PKCS5PADDING"
_PADDINGS: Final = (_PADDED, "NOPADDING")


class CipherError(ValueError):
    """A transformation is not known, or does not fit its key or data; the message is that of Java."""


class Transformation(NamedTuple):
    """An algorithm with its mode and padding."""

    algorithm: str
    """The name of its keys in Java."""
    mode: str
    is_padded: bool
    block: int
    """The size of a block in bytes."""
    key_sizes: tuple[int, ...]

    @property
    def needs_iv(self) -> bool:
        return self.mode != "ECB"


def parse_transformation(text: str) -> Transformation:
    """Parse the name of a transformation, as ``javax.crypto.Cipher.getInstance`` does.

    :raises CipherError: when it is not known.
    """
    parts = [part.strip().upper() for part in text.split("/")]
    if len(parts) not in (1, 3):
        raise CipherError(f"Invalid transformation format: {text}")
    name, mode, padding = parts if len(parts) == 3 else (parts[0], "ECB", _PADDED)
    if mode == "GCM":
        raise CipherError(
            f"{text} needs an initialization vector of its own for each value, for which the plugin "
            "has no place; in CDAP it fails, too"
        )
    is_known = name in _ALGORITHMS and mode in _MODES and padding in _PADDINGS
    if not is_known or (mode == "CTR" and padding == _PADDED):
        raise CipherError(f"Cannot find any provider supporting {text}")
    key_name, block, sizes = _ALGORITHMS[name]
    return Transformation(key_name, mode, padding == _PADDED, block, sizes)


class ValueCipher:
    """Encrypts or decrypts values, each by itself with the same initialization vector. It can be pickled.

    :raises CipherError: when the key or the initialization vector does not fit.
    """

    def __init__(self, how: Transformation, key: SecretKey, iv: bytes | None) -> None:
        if key.algorithm.upper() not in (how.algorithm.upper(), _OTHER.get(how.algorithm)):
            raise CipherError(
                f"Wrong algorithm: {how.algorithm} required, but the key is {key.algorithm}"
            )
        if len(key.encoded) not in how.key_sizes:
            raise CipherError(f"Invalid {how.algorithm} key length: {len(key.encoded)} bytes")
        check_iv(how, iv)
        self._how: Final = how
        self._key: Final = key.encoded
        self._iv: Final = iv

    def encrypt(self, value: bytes) -> bytes:
        """Return an encrypted value.

        :raises CipherError: when its size does not fit a transformation without padding.
        """
        block = self._how.block
        if self._how.is_padded:
            size = block - len(value) % block
            value += bytes([size]) * size
        self._check_size(value)
        encryptor = self._create().encryptor()
        return encryptor.update(value) + encryptor.finalize()

    def decrypt(self, value: bytes) -> bytes:
        """Return a decrypted value.

        :raises CipherError: when it was not encrypted with this key.
        """
        block = self._how.block
        if self._how.is_padded and (not value or len(value) % block):
            raise CipherError(
                f"Input length must be multiple of {block} when decrypting with padded cipher"
            )
        self._check_size(value)
        decryptor = self._create().decryptor()
        plain = decryptor.update(value) + decryptor.finalize()
        if not self._how.is_padded:
            return plain
        size = plain[-1]
        if not 1 <= size <= block or plain[-size:] != bytes([size]) * size:
            raise CipherError(
                "Given final block not properly padded. Such issues can arise if a bad key is used "
                "during decryption"
            )
        return plain[:-size]

    def _check_size(self, value: bytes) -> None:
        if self._how.mode in ("ECB", "CBC") and len(value) % self._how.block:
            raise CipherError(f"Input length not multiple of {self._how.block} bytes")

    def _create(self) -> Cipher[Any]:
        from cryptography.hazmat.decrepit.ciphers import algorithms as former
        from cryptography.hazmat.decrepit.ciphers import modes as former_modes
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        algorithm: Any
        match self._how.algorithm:
            case "AES":
                algorithm = algorithms.AES(self._key)
            case "Blowfish":
                algorithm = former.Blowfish(self._key)
            case "DES":
                algorithm = former.TripleDES(self._key * 3)  # which is DES if all keys are equal
            case _:
                algorithm = former.TripleDES(self._key)
        mode: Any
        iv = self._iv or b""
        match self._how.mode:
            case "ECB":
                mode = modes.ECB()  # noqa: S305 - the user has chosen it
            case "CBC":
                mode = modes.CBC(iv)
            case "CTR":
                mode = modes.CTR(iv)
            case name:
                mode = getattr(former_modes, name)(iv)
        return Cipher(algorithm, mode)


_OTHER: Final = {"DESede": "TRIPLEDES"}
"""Another name of the keys of an algorithm."""


def check_iv(how: Transformation, iv: bytes | None) -> None:
    """Check that an initialization vector fits a transformation.

    :raises CipherError: when it does not.
    """
    if not how.needs_iv and iv is not None:
        raise CipherError("ECB mode cannot use IV")
    if how.needs_iv and iv is None:
        raise CipherError(f"The mode {how.mode} needs an initialization vector")
    if iv is not None and len(iv) != how.block:
        raise CipherError(f"Wrong IV length: must be {how.block} bytes long")
