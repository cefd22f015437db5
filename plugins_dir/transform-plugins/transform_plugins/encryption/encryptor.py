"""The transforms Encryptor and Decryptor, their properties, and ciphers by their names in Java."""

from __future__ import annotations

import datetime
import decimal
import functools
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from localcdap.api import (
    Field,
    LineageRecorder,
    LogicalType,
    PluginConfig,
    Schema,
    SparkContext,
    StageConfigurer,
    StageError,
    Transform,
    Type,
    field,
    plugin,
)

from .keystores import TYPES as STORES
from .keystores import KeystoreError, SecretKey, read_secret_key

if TYPE_CHECKING:
    import pyarrow as pa
    from cryptography.hazmat.primitives.ciphers import Cipher
    from pyspark.sql import DataFrame


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


TYPES: Final = (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE, Type.STRING, Type.BYTES)
"""The types of fields that can be encrypted; logical types are those of the values that stand for them."""
_FORMS: Final = {Type.INT: ">i", Type.LONG: ">q", Type.FLOAT: ">f", Type.DOUBLE: ">d"}
_WITHIN: Final = {LogicalType.TIME_MILLIS: 1000, LogicalType.TIMESTAMP_MILLIS: 1000}
"""Microseconds of a unit."""


class FieldBytesError(ValueError):
    """Bytes are not a value of the type of a field."""


def list_values(column: pa.Array, schema: Schema) -> list[Any]:
    """Return the values of a column as the type that stands for its logical type has them."""
    import pyarrow as pa

    inner = schema.non_nullable
    match inner.logical_type:
        case LogicalType.DATE:
            return list(column.cast(pa.int32()).to_pylist())
        case LogicalType.DECIMAL:
            return [_to_unscaled(v, inner.scale or 0) for v in column.to_pylist()]
        case LogicalType.DATETIME:
            return [None if value is None else value.isoformat() for value in column.to_pylist()]
        case None:
            return list(column.to_pylist())
        case other:
            unit = _WITHIN.get(other, 1)
            found = column.cast(pa.int64()).to_pylist()
            return [None if value is None else value // unit for value in found]


def build_column(values: list[Any], schema: Schema, type: pa.DataType) -> pa.Array:
    """Return the column of values that :func:`list_values` returned.

    :param type: of the column.
    """
    import pyarrow as pa

    inner = schema.non_nullable
    match inner.logical_type:
        case LogicalType.DATE:
            return pa.array(values, pa.int32()).cast(type)
        case LogicalType.DECIMAL:
            scale = inner.scale or 0
            return pa.array([None if v is None else _from_unscaled(v, scale) for v in values], type)
        case LogicalType.DATETIME:
            moments = [None if v is None else datetime.datetime.fromisoformat(v) for v in values]
            return pa.array(moments, type)
        case None:
            return pa.array(values, type)
        case other:
            unit = _WITHIN.get(other, 1)
            scaled = [None if value is None else value * unit for value in values]
            return pa.array(scaled, pa.int64()).cast(type)


def to_bytes(value: Any, schema: Schema) -> bytes:
    """Return the bytes of a value."""
    kind = schema.non_nullable.type
    if kind in _FORMS:
        return struct.pack(_FORMS[kind], value)
    return value if isinstance(value, bytes) else str(value).encode()


def from_bytes(data: bytes, schema: Schema) -> Any:
    """Return the value that bytes stand for.

    :raises FieldBytesError: when they are not a value of the type.
    """
    kind = schema.non_nullable.type
    try:
        if kind in _FORMS:
            return struct.unpack(_FORMS[kind], data)[0]
        return data.decode() if kind is Type.STRING else data
    except (struct.error, UnicodeDecodeError) as error:
        raise FieldBytesError(f"it is not a {schema.non_nullable.display_name}: {error}") from None


def _to_unscaled(value: decimal.Decimal | None, scale: int) -> bytes | None:
    """Return the digits of a decimal as Java's ``BigInteger.toByteArray`` does."""
    if value is None:
        return None
    number = int(value.scaleb(scale))
    return number.to_bytes(
        (number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True
    )


def _from_unscaled(data: bytes, scale: int) -> decimal.Decimal:
    return decimal.Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale)


@plugin(name="Encryptor", description="Encrypts fields with a secret key of a Java keystore.")
class Encryptor(Transform):
    """As CDAP's plugin (transform-plugins, ``io/cdap/plugin/Encryptor.java``), which fails in the run where
    this one is invalid: an unknown field is ignored there and not encrypted. Dates and times are the numbers
    that stand for them in CDAP.
    """

    class Config(KeystoreConfig, macros=True, rename="camel"):
        encrypt_fields: list[str] = field(
            "The fields to encrypt, comma-separated.", form="{input-field},", macro=False
        )

    config: Config
    one_to_one = True

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)
        schema = stage.input_schema
        if schema is None:
            return
        wanted = self.config.encrypt_fields or []
        for name in wanted:
            given = schema.field(name)
            if given is None:
                stage.failures.add(
                    f"Encrypt field '{name}' must be present in input schema.",
                    f"Fields are: {', '.join(schema.field_names)}.",
                ).with_config_property("encryptFields", element=name)
            elif given.schema.non_nullable.type not in TYPES:
                stage.failures.add(
                    f"Encrypt field '{name}' is of unsupported type '{given.schema.display_name}'.",
                    "Convert it to a string or bytes.",
                ).with_config_property("encryptFields", element=name).with_input_field(name)
        stage.output_schema = Schema.record(
            schema.name or "record",
            [
                (each.name, Schema.BYTES.as_nullable if each.name in wanted else each.schema)
                for each in schema
            ],
        )

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_key(stage)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        for name in dict.fromkeys(self.config.encrypt_fields):
            lineage.derive(name, [name], "encrypt", masking=True)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        assert context.output_schema is not None
        run = functools.partial(
            encrypt_batches,
            cipher=open_cipher(self.config, context),
            names=self.config.encrypt_fields,
            given=context.input_schema,
        )
        return context.in_batches(df, run, context.output_schema)


@plugin(name="Decryptor", description="Decrypts fields with a secret key of a Java keystore.")
class Decryptor(Transform):
    """As CDAP's plugin (transform-plugins, ``io/cdap/plugin/Decryptor.java``)."""

    class Config(KeystoreConfig, macros=True, rename="camel"):
        decrypt_fields: list[str] = field(
            "The fields to decrypt, comma-separated; they are bytes.",
            form="{input-field},",
            macro=False,
        )
        schema: Schema = field(
            "The output schema: all fields of the input, the decrypted ones with their types."
        )

    config: Config
    one_to_one = True

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)
        stage.output_schema = self.config.schema
        if stage.input_schema is not None:
            self._check_fields(stage, stage.input_schema)

    def _check_fields(self, stage: StageConfigurer, given: Schema) -> None:
        wanted = self.config.decrypt_fields or []
        for name in wanted:
            held = given.field(name)
            if held is None:
                stage.failures.add(
                    f"Decrypt field '{name}' must be present in input schema.",
                    f"Fields are: {', '.join(given.field_names)}.",
                ).with_config_property("decryptFields", element=name)
            elif held.schema.non_nullable != Schema.BYTES:
                stage.failures.add(
                    f"Decrypt field '{name}' is of unsupported type '{held.schema.display_name}'.",
                    "It must be of type bytes.",
                ).with_config_property("decryptFields", element=name).with_input_field(name)
        if self.config.schema is not None and not self.config.contains_macro("schema"):
            self._check_schema(stage, given, self.config.schema)

    def _check_schema(self, stage: StageConfigurer, given: Schema, schema: Schema) -> None:
        for each in schema:
            problem = self._find_problem(each, given.field(each.name))
            if problem is not None:
                stage.failures.add(
                    f"Field '{each.name}' of type '{each.schema.display_name}' {problem}.",
                    "Change the output schema.",
                ).with_output_field(each.name)
        for name in given.field_names:
            if schema.field(name) is None:
                stage.failures.add(
                    f"Field '{name}' of the input is not in the output schema.", "Add it."
                ).with_config_property("schema")

    def _find_problem(self, wanted: Field, held: Field | None) -> str | None:
        """Return why a field of the output cannot be had from the input."""
        if wanted.name in self.config.decrypt_fields:
            known = wanted.schema.non_nullable.type in TYPES
            return None if known else "cannot be decrypted"
        if held is None:
            may_be_null = wanted.schema.is_nullable
            return None if may_be_null else "is not in the input, and must not be null"
        same = held.schema.non_nullable == wanted.schema.non_nullable
        return None if same else f"is of type '{held.schema.display_name}' in the input"

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_key(stage)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        for name in dict.fromkeys(self.config.decrypt_fields):
            lineage.derive(name, [name], "decrypt")

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        schema = context.output_schema
        assert schema is not None
        run = functools.partial(
            decrypt_batches,
            cipher=open_cipher(self.config, context),
            names=self.config.decrypt_fields,
            schema=schema,
        )
        return context.in_batches(df, run, schema)


def encrypt_batches(
    batches: Iterator[pa.RecordBatch], *, cipher: ValueCipher, names: Sequence[str], given: Schema
) -> Iterator[pa.RecordBatch]:
    """Yield batches in which the values of some fields are encrypted.

    :param given: the schema of the batches.
    :raises StageError: when a value cannot be encrypted.
    """
    import pyarrow as pa

    for batch in batches:
        columns = []
        for each in given:
            column = batch.column(each.name)
            if each.name in names:
                values = list_values(column, each.schema)
                column = pa.array(
                    [_encrypt(cipher, v, each.name, each.schema) for v in values], pa.binary()
                )
            columns.append(column)
        yield pa.RecordBatch.from_arrays(columns, given.field_names)


def decrypt_batches(
    batches: Iterator[pa.RecordBatch], *, cipher: ValueCipher, names: Sequence[str], schema: Schema
) -> Iterator[pa.RecordBatch]:
    """Yield batches in which the values of some fields are decrypted.

    :param schema: of the result.
    :raises StageError: when a value cannot be decrypted.
    """
    import pyarrow as pa

    from localcdap.api.arrow import to_arrow_schema

    wanted = to_arrow_schema(schema)
    for batch in batches:
        columns = []
        for each in schema:
            if each.name not in batch.schema.names:
                column = pa.nulls(batch.num_rows, wanted.field(each.name).type)
            elif each.name in names:
                found = batch.column(each.name).to_pylist()
                values = [_decrypt(cipher, v, each.name, each.schema) for v in found]
                column = build_column(values, each.schema, wanted.field(each.name).type)
            else:
                column = batch.column(each.name)
            columns.append(column)
        yield pa.RecordBatch.from_arrays(columns, schema.field_names)


def _encrypt(cipher: ValueCipher, value: Any, name: str, schema: Schema) -> bytes | None:
    if value is None:
        return None
    try:
        return cipher.encrypt(to_bytes(value, schema))
    except CipherError as error:
        raise StageError(f"Field '{name}' cannot be encrypted: {error}.") from None


def _decrypt(cipher: ValueCipher, value: bytes | None, name: str, schema: Schema) -> Any:
    if value is None:
        if schema.is_nullable or schema.type is Type.NULL:
            return None
        raise StageError(f"Field '{name}' is null, which the output schema does not allow.")
    try:
        return from_bytes(cipher.decrypt(value), schema)
    except (CipherError, FieldBytesError) as error:
        raise StageError(f"Field '{name}' cannot be decrypted: {error}.") from None
