"""A keystore that ``keytool`` of Java has made, and a value that is encrypted with one of its keys.

``keytool -importkeystore -J-Djdk.jceks.iterationCount=10000`` has copied the secret keys of ``aes.jceks``,
which derives what protects them in 200,000 rounds: a sixth of a second of the processor in each stage.
"""

from __future__ import annotations

from pathlib import Path

STORES = Path(__file__).parent / "keystores"
IV = "22BA219FC88FC0826CCAC88C474801D3"
KEYSTORE = {
    "transformation": "AES/CBC/PKCS5Padding",
    "ivHex": IV,
    "keystorePath": str(STORES / "quick.jceks"),
    "keystorePassword": "myKeystorePassword",
    "keystoreType": "JCEKS",
    "keyAlias": "mySecretKey",
    "keyPassword": "mySecretKeyPassword",
}
ENCRYPTED = bytes.fromhex("0b65e8495e92ab8d6fd028694d6912da")
"""The text ``x``."""
