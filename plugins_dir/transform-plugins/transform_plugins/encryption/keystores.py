"""Keystores of Java: files with secret keys under aliases, protected by passwords."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from . import jceks, pkcs12
from .secret_keys import KeystoreError, SecretKey

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
    is_jceks, is_jks = content.startswith(jceks.MAGIC), content.startswith(_JKS_MAGIC)
    if is_jceks != (type.upper() == "JCEKS"):
        raise KeystoreError(f"'{file}' is not a keystore of the type {type}.")
    if is_jks:
        raise KeystoreError(f"'{file}' is a keystore of the type JKS, which holds no secret keys.")
    read = jceks.list_sealed_keys if is_jceks else pkcs12.list_encrypted_keys
    keys = read(content, password)
    protected = keys.get(alias.lower())
    if protected is None:
        names = ", ".join(sorted(name for name, key in keys.items() if key is not None))
        raise KeystoreError(
            f"The keystore has no secret key '{alias}'; its secret keys are: {names or 'none'}."
        )
    if is_jceks:
        return jceks.unseal_key(protected, key_password)
    return pkcs12.decrypt_key(protected, key_password)
