"""Encryptor and Decryptor: keystores that ``keytool`` made, and values that Java encrypted with their keys.

The values were made by ``javax.crypto.Cipher`` of OpenJDK 17; Java's own messages are compared, too.
"""

from __future__ import annotations

import datetime
import json
from decimal import Decimal

import pytest
from transform_plugins.encryption.encryptor import (
    CipherError,
    Decryptor,
    Encryptor,
    ValueCipher,
    parse_transformation,
)
from transform_plugins.encryption.keystores import (
    JavaObjectError,
    JavaObjectReader,
    KeystoreError,
    SecretKey,
    read_secret_key,
)

from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.testing import StageTester, run_stage
from tests.plugins.transform.encryption_keys import IV, KEYSTORE, STORES

LONG_IV, SHORT_IV = bytes.fromhex(IV), bytes(range(1, 9))
TEXTS = (b"", b"abc", b"0123456789abcdef", b"\0\0\0\x2a")
BLOCKS = "cb1219cc264f462f31f43e64467f48cd"
TRIPLE = "be8faf57f54a2aea"
MADE_BY_JAVA = {
    ("aes/cbc/pkcs5padding", LONG_IV): "c5d26e9578ef778f5abd21c5fb4a85f5 "
    "ee43b0d5944497ad58b9f377306456f1 a8ddf37545c6278fca855db0d0ab005faeee36b1af605213fa100f74f6468e85 "
    "9c220696ecd2668784aad95e3d22f9a0",
    (
        "AES",
        None,
    ): f"{BLOCKS} 001fcd2557327c5766a36084e7ab1b6a 7cd4b240c7e5261dfc9864e20cc449e0{BLOCKS} "
    "3bd503e429f165b87c67a03e3d5103bd",
    ("AES/CTR/NoPadding", LONG_IV): " 7a2785 2b74d40bdf0075ed9d4f3040329a6e47 1b45e612",
    ("AES/CFB/NoPadding", LONG_IV): " 7a2785 2b74d40bdf0075ed9d4f3040329a6e47 1b45e612",
    ("AES/CFB8/NoPadding", LONG_IV): " 7aafd4 2b9a911f8b46ae5f65030d156c7e0756 1b5e350c",
    ("AES/OFB/NoPadding", LONG_IV): " 7a2785 2b74d40bdf0075ed9d4f3040329a6e47 1b45e612",
    (
        "AES/CFB/PKCS5Padding",
        LONG_IV,
    ): "0b55f628fb2553cab566413241ee1b31 7a278535e6384ed7a87b5c2f5cf3062c "
    "2b74d40bdf0075ed9d4f3040329a6e47cfb050387d87a18afcaa302e8a7c2e83 1b45e612e7394fd6a97a5d2e5df2072d",
    ("DESede/CBC/PKCS5Padding", SHORT_IV): "7937b1bd13d0a9c6 2d30f7c12f9accb1 "
    "98795c5a5630aa136132c018499a9629438013198023d966 d001030897e494fc",
    ("TripleDES/ECB/PKCS5Padding", None): f"{TRIPLE} 31106236c827ba03 "
    f"3d8accf72dac76820a100c57f97df1d2{TRIPLE} 0d7ac9625fc5c1ea",
    ("DES/CBC/PKCS5Padding", SHORT_IV): "a273188e8b65b46a ffc840b51ebf776f "
    "e8f583bfb4737b082aa58f861007c03a06d18303b0d89284 4edcc9f24fbcd111",
    ("Blowfish/CBC/PKCS5Padding", SHORT_IV): "1243434d10fe4953 a206c34265c0b934 "
    "dc3740a04f33f0b48388a7d374eaa6389ec19283b34fcde4 bb344e073c4e275d",
}
SIZES = {"AES": 16, "DESede": 24, "DES": 8, "Blowfish": 16}
WIDE = Schema.record(
    "r",
    [
        ("id", Schema.INT),
        ("big", Schema.LONG.as_nullable),
        ("ratio", Schema.FLOAT.as_nullable),
        ("price", Schema.DOUBLE.as_nullable),
        ("name", Schema.STRING.as_nullable),
        ("raw", Schema.BYTES.as_nullable),
        ("day", Schema.DATE.as_nullable),
        ("at", Schema.TIMESTAMP.as_nullable),
        ("amount", Schema.decimal(10, 2).as_nullable),
        ("plain", Schema.BOOLEAN),
    ],
)
ROWS = [
    {
        "id": 42,
        "big": -(2**40),
        "ratio": 0.5,
        "price": 1.25,
        "name": "añ",
        "raw": b"\0\1",
        "day": datetime.date(1969, 12, 31),
        "at": datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.UTC),
        "amount": Decimal("-1.28"),
        "plain": True,
    },
    dict.fromkeys(WIDE.field_names) | {"id": 1, "plain": False},
]
SECRET = [name for name in WIDE.field_names if name != "plain"]


def make_cipher(text: str, iv: bytes | None) -> ValueCipher:
    how = parse_transformation(text)
    key = bytes((n * 7 + 1) % 256 for n in range(SIZES[how.algorithm]))
    return ValueCipher(how, SecretKey(how.algorithm, key), iv)


@pytest.mark.parametrize(("text", "iv"), MADE_BY_JAVA)
def test_values_are_those_that_java_encrypts(text, iv):
    cipher = make_cipher(text, iv)
    made = [bytes.fromhex(each) for each in MADE_BY_JAVA[text, iv].split(" ")]
    assert [cipher.encrypt(each) for each in TEXTS] == made
    assert [cipher.decrypt(each) for each in made] == list(TEXTS)


@pytest.mark.parametrize(
    ("text", "iv", "message"),
    [
        ("AES/CBC", LONG_IV, "Invalid transformation format: AES/CBC"),
        ("AES/CTR/PKCS5Padding", LONG_IV, "Cannot find any provider supporting"),
        ("AES_128/CBC/PKCS5Padding", LONG_IV, "Cannot find any provider supporting"),
        ("AES/GCM/NoPadding", LONG_IV, "an initialization vector of its own for each value"),
        ("AES", LONG_IV, "ECB mode cannot use IV"),
        ("AES/CBC/PKCS5Padding", None, "needs an initialization vector"),
        ("AES/CBC/PKCS5Padding", SHORT_IV, "Wrong IV length: must be 16 bytes long"),
    ],
)
def test_what_java_refuses_is_an_error(text, iv, message):
    with pytest.raises(CipherError, match=message):
        make_cipher(text, iv)


def test_keys_and_data_must_fit():
    how = parse_transformation("AES/CBC/NoPadding")
    with pytest.raises(CipherError, match="Wrong algorithm: AES required"):
        ValueCipher(how, SecretKey("DESede", bytes(24)), LONG_IV)
    with pytest.raises(CipherError, match="Invalid AES key length: 5 bytes"):
        ValueCipher(how, SecretKey("AES", bytes(5)), LONG_IV)
    cipher = make_cipher("AES/CBC/NoPadding", LONG_IV)
    assert cipher.encrypt(TEXTS[2]).hex() == "a8ddf37545c6278fca855db0d0ab005f"
    with pytest.raises(CipherError, match="Input length not multiple of 16 bytes"):
        cipher.encrypt(b"abc")
    padded = make_cipher("AES/CBC/PKCS5Padding", LONG_IV)
    for wrong, message in ((b"abc", "must be multiple of 16"), (bytes(16), "not properly padded")):
        with pytest.raises(CipherError, match=message):
            padded.decrypt(wrong)


@pytest.mark.parametrize(
    ("file", "type", "password", "alias", "key_password", "algorithm", "encoded"),
    [
        ("aes.jceks", "JCEKS", "myKeystorePassword", "mySecretKey", "mySecretKeyPassword", "AES",
         "a0ded431c21170151fb6855f02b7ef8c"),
        ("aes.jceks", "jceks", "myKeystorePassword", "DES3", "other123", "DESede",
         "bcbaeaf1da01bf6bf2e95438ef94549145ef01615868047a"),
        ("new.p12", "PKCS12", "secret123", "mykey", "secret123", "AES",
         "f7177e884744518b8ffb8d46d4c8fef410efefed700add98c73bef53f6d26273"),
        ("old.p12", "JKS", "secret123", "mykey", "secret123", "AES",
         "91d27150e62bff9dbabdac99a2c5e1ced8f0fb0075af0e239bf627ab861a21ec"),
    ],
)  # fmt: skip
def test_keys_are_those_that_java_reads(
    file, type, password, alias, key_password, algorithm, encoded
):
    found = read_secret_key(STORES / file, type, password, alias, key_password)
    assert found == SecretKey(algorithm, bytes.fromhex(encoded))


@pytest.mark.parametrize(
    ("file", "type", "password", "alias", "key_password", "message"),
    [
        ("none", "JCEKS", "x", "a", "x", "No such file or directory"),
        ("new.p12", "JCEKS", "secret123", "mykey", "x", "is not a keystore of the type JCEKS"),
        ("aes.jceks", "JKS", "x", "a", "x", "is not a keystore of the type JKS"),
        ("pair.jks", "JKS", "secret123", "pair", "secret123", "which holds no secret keys"),
        ("aes.jceks", "JCEKS", "wrong", "a", "x", "tampered with, or password was incorrect"),
        ("new.p12", "PKCS12", "wrong", "a", "x", "keystore password was incorrect"),
        ("aes.jceks", "JCEKS", "myKeystorePassword", "pair", "x", "are: des3, mysecretkey"),
        ("new.p12", "PKCS12", "secret123", "pair", "x", "secret keys are: mykey"),
        (
            "aes.jceks",
            "JCEKS",
            "myKeystorePassword",
            "des3",
            "wrong",
            "password of the key is wrong",
        ),
        ("new.p12", "PKCS12", "secret123", "mykey", "wrong", "password"),
    ],
)
def test_wrong_keystores_and_passwords_say_so(file, type, password, alias, key_password, message):
    with pytest.raises(KeystoreError, match=message):
        read_secret_key(STORES / file, type, password, alias, key_password)


def test_damaged_keystores_are_errors(tmp_path):
    for content in (b"", b"garbage", (STORES / "new.p12").read_bytes()[:500]):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(KeystoreError):
            read_secret_key(tmp_path / "x", "PKCS12", "secret123", "mykey", "x")
    for data in (b"", b"\xac\xed\0\5", b"\xac\xed\0\5\x73", b"\xac\xed\0\5\x71\0\x7e\0\0"):
        with pytest.raises(JavaObjectError):
            JavaObjectReader(data).read()


def test_properties_are_checked():
    wrong = KEYSTORE | {"transformation": "AES/XYZ/NoPadding", "keystoreType": "BKS"}
    tester = StageTester(Encryptor, wrong | {"encryptFields": "plain,nowhere"}, WIDE)
    assert tester.problems == [
        "keystoreType: BKS not found: there is no such type of keystores.",
        "transformation: Cannot find any provider supporting AES/XYZ/NoPadding.",
        "encryptFields: Encrypt field 'plain' is of unsupported type 'boolean'.",
        "encryptFields: Encrypt field 'nowhere' must be present in input schema.",
    ]
    bad_iv = KEYSTORE | {"ivHex": "xyz", "encryptFields": "id"}
    assert StageTester(Encryptor, bad_iv, WIDE).problems == [
        "ivHex: 'xyz' is not in hexadecimal digits."
    ]
    schema = str(Schema.record("r", [("id", Schema.BOOLEAN), ("other", Schema.INT)]))
    decryptor = StageTester(Decryptor, KEYSTORE | {"decryptFields": "id", "schema": schema}, WIDE)
    assert decryptor.problems[:3] == [
        "decryptFields: Decrypt field 'id' is of unsupported type 'int'.",
        "Field 'id' of type 'boolean' cannot be decrypted.",
        "Field 'other' of type 'int' is not in the input, and must not be null.",
    ]


def test_the_key_is_read_when_a_pipeline_is_checked(tmp_path):
    wrong = KEYSTORE | {"keyPassword": "wrong", "encryptFields": "id"}
    assert StageTester(Encryptor, wrong, WIDE, directory=tmp_path).problems == [
        "keystorePath: The password of the key is wrong."
    ]


@pytest.mark.spark
def test_records_are_encrypted_and_decrypted(spark, tmp_path):
    encrypting = KEYSTORE | {"encryptFields": ",".join(SECRET)}
    made = run_stage(spark, Encryptor, encrypting, {"in": (WIDE, ROWS)}, directory=tmp_path)

    assert made.output_schema is not None
    first = next(each for each in made.records if each["plain"])
    cipher = ValueCipher(
        parse_transformation("AES"),
        SecretKey("AES", bytes.fromhex("a0ded431c21170151fb6855f02b7ef8c")),
        None,
    )
    assert all(first[name] is not None for name in SECRET)
    assert cipher.decrypt(cipher.encrypt(b"x")) == b"x"
    numbers = ValueCipher(
        parse_transformation("AES/CBC/PKCS5Padding"),
        SecretKey("AES", bytes.fromhex("a0ded431c21170151fb6855f02b7ef8c")),
        LONG_IV,
    )
    assert numbers.decrypt(first["id"]) == (42).to_bytes(4, "big")
    assert numbers.decrypt(first["day"]) == (-1).to_bytes(4, "big", signed=True)
    assert numbers.decrypt(first["amount"]) == b"\x80"

    decrypting = KEYSTORE | {"decryptFields": ",".join(SECRET), "schema": str(WIDE)}
    back = run_stage(
        spark, Decryptor, decrypting, {"in": (made.output_schema, made.records)}, directory=tmp_path
    )
    assert sorted(back.records, key=lambda row: -row["id"]) == ROWS

    strict = json.loads(json.dumps(decrypting))
    strict["keyAlias"], strict["keyPassword"] = "des3", "other123"
    strict["transformation"], strict["ivHex"] = "DESede/ECB/PKCS5Padding", ""
    with pytest.raises(StageError, match="Field 'id' cannot be decrypted"):
        run_stage(
            spark, Decryptor, strict, {"in": (made.output_schema, made.records)}, directory=tmp_path
        )
