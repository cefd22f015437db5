"""The properties by which Encryptor and Decryptor find their key, and the cipher that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from localcdap.api import PluginConfig, SparkContext, StageConfigurer, field

from .ciphers import CipherError, ValueCipher, check_iv, parse_transformation
from .keystores import TYPES as STORES
from .keystores import read_secret_key
from .secret_keys import KeystoreError

_DECIDING: Final = ("keystorePath", "keystoreType", "keystorePassword", "keyAlias", "keyPassword")


class KeystoreConfig(PluginConfig, macros=True, rename="camel"):
    """Properties as CDAP's (hydrator-common, ``io/cdap/plugin/common/KeystoreConf.java``)."""

    transformation: str = field(
        "Algorithm, mode and padding, as AES/CBC/PKCS5Padding. Algorithms: AES, DESede, DES, Blowfish; "
        "modes: ECB, CBC, CFB, CFB8, OFB, CTR; paddings: PKCS5Padding, NoPadding."
    )
    iv_hex: str | None = field(
        "Initialization vector of all values, in hexadecimal digits; for each mode but ECB.",
        default=None,
    )
    keystore_path: str = field("The keystore, a file.", form="{path}", group="key")
    keystore_password: str = field(
        "Password of the keystore.", default="", secret=True, group="key"
    )
    keystore_type: str = field(
        f"Type of the keystore: {', '.join(STORES)}. JKS is for files of the type PKCS12, as in Java.",
        group="key",
    )
    key_alias: str = field("Alias of the secret key.", group="key")
    key_password: str = field("Password of the key.", secret=True, group="key")

    def check(self, stage: StageConfigurer) -> None:
        """Add failures for what is wrong by itself."""
        type = self.keystore_type or STORES[0]
        if not self.contains_macro("keystoreType") and type.upper() not in STORES:
            stage.failures.add(
                f"{type} not found: there is no such type of keystores.",
                f"Use one of {', '.join(STORES)}.",
            ).with_config_property("keystoreType")
        if self.transformation is None or self.contains_macro("transformation"):
            return
        try:
            how = parse_transformation(self.transformation)
        except CipherError as error:
            stage.failures.add(f"{error}.").with_config_property("transformation")
            return
        if self.contains_macro("ivHex"):
            return
        try:
            check_iv(how, self.get_iv())
        except (CipherError, ValueError) as error:
            text = str(error).rstrip(".")
            stage.failures.add(f"{text}.").with_config_property("ivHex")

    def get_iv(self) -> bytes | None:
        """Return the initialization vector.

        :raises ValueError: when it is not in hexadecimal digits.
        """
        try:
            return bytes.fromhex(self.iv_hex.strip()) if self.iv_hex else None
        except ValueError:
            raise ValueError(f"'{self.iv_hex}' is not in hexadecimal digits") from None

    def check_key(self, stage: StageConfigurer) -> None:
        """Add a failure if the key cannot be read, or is not one for the transformation."""
        is_open = any(map(self.contains_macro, (*_DECIDING, "transformation", "ivHex")))
        if is_open or stage.locations is None or stage.locations.remote:
            return
        try:
            self.create_cipher(Path(stage.resolve_path(self.keystore_path)))
        except KeystoreError as error:
            stage.failures.add(str(error)).with_config_property("keystorePath")
        except CipherError as error:
            stage.failures.add(f"{error}.").with_config_property("transformation")

    def create_cipher(self, keystore: Path) -> ValueCipher:
        """Return the cipher with the key of a keystore.

        :raises KeystoreError: when the key cannot be read.
        :raises CipherError: when it is not one for the transformation.
        """
        key = read_secret_key(
            keystore,
            self.keystore_type,
            self.keystore_password or "",
            self.key_alias,
            self.key_password,
        )
        return ValueCipher(parse_transformation(self.transformation), key, self.get_iv())


def open_cipher(config: KeystoreConfig, context: SparkContext) -> ValueCipher:
    """Return the cipher of a run. The key is read in the run's own process, and sent to the workers.

    :raises StageError: when there is no such key.
    """
    path = context.resolve_path(config.keystore_path)
    try:
        return config.create_cipher(Path(path))
    except (KeystoreError, CipherError) as error:
        raise context.fail(str(error)) from None
