"""A keystore that ``keytool`` of Java has made, and a value that is encrypted with one of its keys."""

from __future__ import annotations

from pathlib import Path

STORES = Path(__file__).parent / "keystores"
IV = "22BA219FC88FC0826CCAC88C474801D3"
KEYSTORE = {
    "transformation": "AES/CBC/PKCS5Padding",
    "ivHex": IV,
    "keystorePath": str(STORES / "aes.jceks"),
    "keystorePassword": "myKeystorePassword",
    "keystoreType": "JCEKS",
    "keyAlias": "mySecretKey",
    "keyPassword": "mySecretKeyPassword",
}
ENCRYPTED = bytes.fromhex("0b65e8495e92ab8d6fd028694d6912da")
"""The text ``x``."""
