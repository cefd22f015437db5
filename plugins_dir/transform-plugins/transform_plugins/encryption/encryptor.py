"""The transforms Encryptor and Decryptor."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from localcdap.api import (
    Field,
    LineageRecorder,
    Schema,
    SparkContext,
    StageConfigurer,
    StageError,
    Transform,
    Type,
    field,
    plugin,
)

from .ciphers import CipherError, ValueCipher
from .field_bytes import (
    TYPES,
    FieldBytesError,
    build_column,
    from_bytes,
    list_values,
    to_bytes,
)
from .keystore_config import KeystoreConfig, open_cipher

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


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
