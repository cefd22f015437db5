"""The transforms Encoder, Decoder, Compressor, Decompressor and Hasher, which apply codecs to fields."""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from localcdap.api import (
    EdgeKind,
    Emitter,
    LineageRecorder,
    PluginConfig,
    Record,
    Schema,
    SparkContext,
    StageConfigurer,
    StageContext,
    Transform,
    Type,
    field,
    plugin,
)
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


Codec = Callable[[bytes], bytes]
NONE: Final = "NONE"
MALFORMED: Final = 31
"""The error code of a value that cannot be converted."""


class CodecError(ValueError):
    """A codec cannot convert a value; the message says why."""


class CodecOptions(NamedTuple):
    """The property of a plugin, and the types of its fields."""

    property: str
    """The property that lists fields and codecs, an attribute of the config too; messages use it as the word
    for a codec."""
    takes: tuple[Type, ...]
    """The types of input fields."""
    gives: tuple[Type, ...]
    """The types of output fields."""


class CodedFields(Transform):
    """Converts the fields of a list ``field:codec,…``; other fields of the output schema are copied.

    Null stays null. A value that cannot be converted makes its record an error record, where CDAP fails the
    run or gives null.
    """

    options: CodecOptions
    codecs: Mapping[str, Codec]

    config: Any

    def configure(self, stage: StageConfigurer) -> None:
        stage.error_schema = stage.input_schema
        stage.output_schema = self.config.schema
        coded = {name: codec for name, codec in self._parse_codecs(stage).items() if codec != NONE}
        for name, codec in coded.items():
            self._check_input(stage, name, f"{name}:{codec}")
            self._check_output(stage, name, f"{name}:{codec}")
        if stage.input_schema is not None and self.config.schema:
            _check_passed(stage, stage.input_schema, set(coded))

    def _parse_codecs(self, stage: StageConfigurer | None = None) -> dict[str, str]:
        """Return the codec of each field.

        :param stage: gets the failures; None if the list was already validated.
        """
        found: dict[str, str] = {}
        listed = getattr(self.config, self.options.property) or ""
        for element in filter(None, map(str.strip, listed.split(","))):
            name, _, codec = (part.strip() for part in element.partition(":"))
            problem = self._find_problem(name, codec.upper(), found, element)
            if problem is None:
                found[name] = codec.upper()
            elif stage is not None:
                failure = stage.failures.add(*problem)
                failure.with_config_property(self.options.property, element=element)
        return found

    def _find_problem(
        self, name: str, codec: str, found: Mapping[str, str], element: str
    ) -> tuple[str, str] | None:
        word = self.options.property
        if not name or not codec:
            return (
                f"Configuration '{element}' is incorrectly formed.",
                f"Specify the configuration in the format <fieldname>:<{word} type>.",
            )
        if codec != NONE and codec not in self.codecs:
            choices = ", ".join([*self.codecs, NONE])
            return f"Field '{name}' has an unknown {word} type '{codec}'.", f"Use one of {choices}."
        if name in found:
            return f"Field '{name}' occurs twice.", "Remove one of them."
        return None

    def _check_input(self, stage: StageConfigurer, name: str, element: str) -> None:
        if stage.input_schema is None:
            return
        given = stage.input_schema.field(name)
        if given is None:
            stage.failures.add(
                f"Field '{name}' must be present in the input schema."
            ).with_config_property(self.options.property, element=element)
        elif not _is_any(given.schema, self.options.takes):
            failure = stage.failures.add(
                f"Input field '{name}' is of unsupported type '{given.schema.display_name}'.",
                f"Supported input types: {_format_types(self.options.takes)}.",
            )
            failure.with_input_field(name)
            failure.with_config_property(self.options.property, element=element)

    def _check_output(self, stage: StageConfigurer, name: str, element: str) -> None:
        if not self.config.schema:
            return
        made = self.config.schema.field(name)
        if made is None:
            stage.failures.add(
                f"Field '{name}' must be in output schema.",
                f"Add it to the output schema, or remove it from '{self.options.property}'.",
            ).with_config_property(self.options.property, element=element)
        elif not _is_any(made.schema, self.options.gives):
            failure = stage.failures.add(
                f"Output field '{name}' is of invalid type '{made.schema.display_name}'.",
                f"Ensure the field is of type {_format_types(self.options.gives)}.",
            )
            failure.with_output_field(name)
            failure.with_config_property(self.options.property, element=element)

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        # Error records hold the whole input record.
        return None

    def record_lineage(self, lineage: LineageRecorder) -> None:
        coded = [name for name, codec in self._parse_codecs().items() if codec != NONE]
        for name in coded:
            lineage.derive(name, [name], f"{type(self).__name__} {name}")
        lineage.influence(EdgeKind.FILTER, coded)

    def initialize(self, context: StageContext) -> None:
        output: Schema = self.config.schema
        self._names = [name for name in output.field_names if context.input_schema.field(name)]
        texts = {each.name for each in output if _is_any(each.schema, (Type.STRING,))}
        self._coded = [
            (name, self.codecs[codec], name in texts)
            for name, codec in self._parse_codecs().items()
            if codec != NONE
        ]

    def transform(self, record: Record, emit: Emitter) -> None:
        out: dict[str, Any] = {name: record[name] for name in self._names}
        for name, codec, is_text in self._coded:
            value = record[name]
            if value is None:
                continue
            try:
                coded = codec(value.encode() if isinstance(value, str) else bytes(value))
                out[name] = coded.decode() if is_text else coded
            except ValueError as error:
                emit.error(record, MALFORMED, f"Field '{name}' cannot be converted: {error}.")
                return
        emit(out)


def _check_passed(stage: StageConfigurer, given: Schema, coded: set[str]) -> None:
    """Check that copied fields keep their type, and that other output fields are nullable."""
    for made in stage.output_schema or ():
        source = given.field(made.name)
        if source is None and made.name not in coded and not made.schema.is_nullable:
            stage.failures.add(
                f"Output field '{made.name}' is not in the input schema, so it is always null.",
                "Make it nullable, or remove it from the output schema.",
            ).with_output_field(made.name)
        if source is None or made.name in coded:
            continue
        if made.schema not in (source.schema, source.schema.as_nullable):
            stage.failures.add(
                f"Output field '{made.name}' must have same schema as input schema.",
                "Ensure input and output schema for the field is same.",
            ).with_input_field(made.name).with_output_field(made.name)


def _is_any(schema: Schema, types: tuple[Type, ...]) -> bool:
    inner = schema.non_nullable
    return inner.type in types and inner.logical_type is None


def _format_types(types: tuple[Type, ...]) -> str:
    return " or ".join(type.value for type in types)


MAX_BYTES: Final = 256 * 1024 * 1024
"""The size limit of a decompressed value, because a few kilobytes can decompress to many gigabytes."""
_ENTRY: Final = "c"
_FORM: Final = "{input-field}:{type:SNAPPY|ZIP|GZIP|NONE}"


def _compress_snappy(data: bytes) -> bytes:
    import cramjam

    return bytes(cramjam.snappy.compress_raw(data))


def _compress_zip(data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(zipfile.ZipInfo(_ENTRY), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _compress_gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


@plugin(name="Compressor", description="Compresses fields with Snappy, ZIP or GZIP.")
class Compressor(CodedFields):
    class Config(PluginConfig):
        compressor: str = field(
            "Fields and their compression, a comma-separated list of 'field:type', such as "
            "'body:GZIP'. Types: SNAPPY, ZIP, GZIP, NONE.",
            form=_FORM,
        )
        schema: Schema = field("The output schema, in which compressed fields are bytes.")

    config: Config
    options = CodecOptions("compressor", (Type.BYTES, Type.STRING), (Type.BYTES,))
    codecs: Mapping[str, Codec] = {
        "SNAPPY": _compress_snappy,
        "ZIP": _compress_zip,
        "GZIP": _compress_gzip,
    }


def _decompress_snappy(data: bytes) -> bytes:
    import cramjam

    try:
        _check_size(cramjam.snappy.decompress_raw_len(data))
        return bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        raise CodecError(f"it is not compressed with Snappy ({error})") from None


def _decompress_zip(data: bytes) -> bytes:
    """Decompress all entries of a ZIP archive, one after the other."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts: list[bytes] = []
            for entry in archive.infolist():
                with archive.open(entry) as opened:
                    parts.append(
                        _read_limited(opened, MAX_BYTES - sum(len(part) for part in parts))
                    )
            return b"".join(parts)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise CodecError(f"it is not a ZIP archive ({error})") from None


def _decompress_gzip(data: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(data)) as opened:
            return _read_limited(opened, MAX_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise CodecError(f"it is not compressed with GZIP ({error})") from None


def _read_limited(opened: IO[bytes] | gzip.GzipFile, limit: int) -> bytes:
    data = opened.read(limit + 1)
    _check_size(MAX_BYTES - limit + len(data))
    return data


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise CodecError(f"it has more than {MAX_BYTES >> 20} MB when decompressed")


@plugin(
    name="Decompressor",
    description="Decompresses fields that were compressed with Snappy, ZIP or GZIP.",
)
class Decompressor(CodedFields):
    class Config(PluginConfig):
        decompressor: str = field(
            "Fields and their compression, a comma-separated list of 'field:type', such as "
            "'body:GZIP'. Types: SNAPPY, ZIP, GZIP, NONE.",
            form=_FORM,
        )
        schema: Schema = field(
            "The output schema, in which decompressed fields are strings or bytes."
        )

    config: Config
    options = CodecOptions("decompressor", (Type.BYTES,), (Type.BYTES, Type.STRING))
    codecs: Mapping[str, Codec] = {
        "SNAPPY": _decompress_snappy,
        "ZIP": _decompress_zip,
        "GZIP": _decompress_gzip,
    }


_ENCODER_FORM: Final = "{input-field}:{type:STRING_BASE64|BASE64|STRING_BASE32|BASE32|HEX|NONE}"
_TYPES: Final = (Type.BYTES, Type.STRING)
_NOT_BASE64: Final = re.compile(rb"[^A-Za-z0-9+/]")
_NOT_BASE32: Final = re.compile(rb"[^A-Z2-7]")


@plugin(name="Encoder", description="Encodes fields as Base64, Base32 or hexadecimal digits.")
class Encoder(CodedFields):
    class Config(PluginConfig):
        encode: str = field(
            "Fields and their encoding, a comma-separated list of 'field:type', such as "
            "'photo:BASE64'. Types: STRING_BASE64, BASE64, STRING_BASE32, BASE32, HEX, NONE.",
            form=_ENCODER_FORM,
        )
        schema: Schema = field("The output schema, in which encoded fields are strings or bytes.")

    config: Config
    options = CodecOptions("encode", _TYPES, _TYPES)
    codecs: Mapping[str, Codec] = {
        "STRING_BASE64": base64.b64encode,
        "BASE64": base64.b64encode,
        "STRING_BASE32": base64.b32encode,
        "BASE32": base64.b32encode,
        "HEX": binascii.hexlify,
    }


def _decode_base64(data: bytes) -> bytes:
    """Decode Base64; other characters are skipped and padding is optional, as in Apache Commons Codec."""
    digits = _NOT_BASE64.sub(b"", data.translate(bytes.maketrans(b"-_", b"+/")))
    digits = digits[:-1] if len(digits) % 4 == 1 else digits
    return base64.b64decode(digits + b"=" * (-len(digits) % 4))


def _decode_base32(data: bytes) -> bytes:
    digits = _NOT_BASE32.sub(b"", data.upper())
    while len(digits) % 8 in (1, 3, 6):  # a last digit with less than a byte
        digits = digits[:-1]
    return base64.b32decode(digits + b"=" * (-len(digits) % 8))


def _decode_hex(data: bytes) -> bytes:
    try:
        return binascii.unhexlify(data)
    except binascii.Error as error:
        raise CodecError(str(error).lower()) from None


@plugin(name="Decoder", description="Decodes fields with Base64, Base32 or hexadecimal digits.")
class Decoder(CodedFields):
    class Config(PluginConfig):
        decode: str = field(
            "Fields and their encoding, a comma-separated list of 'field:type', such as "
            "'photo:BASE64'. Types: STRING_BASE64, BASE64, STRING_BASE32, BASE32, HEX, NONE.",
            form=_ENCODER_FORM,
        )
        schema: Schema = field("The output schema, in which decoded fields are strings or bytes.")

    config: Config
    options = CodecOptions("decode", _TYPES, _TYPES)
    codecs: Mapping[str, Codec] = {
        "STRING_BASE64": _decode_base64,
        "BASE64": _decode_base64,
        "STRING_BASE32": _decode_base32,
        "BASE32": _decode_base32,
        "HEX": _decode_hex,
    }


_SHA2: Final = {"sha256": 256, "sha384": 384, "sha512": 512}
_KNOWN: Final = ("md5", "sha1", *_SHA2)


@plugin(
    name="Hasher",
    description="Replaces the values of string fields by their digests: MD5, SHA1, SHA256, SHA384 or SHA512.",
)
class Hasher(Transform):
    """Digests are hexadecimal strings of the value in UTF-8; null stays null.

    Unlike in CDAP, a field that is not in the input is a failure, because a misspelt field would not be
    hashed. MD2 is not supported: it is broken, and OpenSSL has removed it.
    """

    class Config(PluginConfig):
        hash: str = field("Digest: MD5, SHA1, SHA256, SHA384 or SHA512, in any case.")
        fields: list[str] = field(
            "Fields to hash, comma-separated; they must be strings.", form="{input-field}"
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        if self.config.hash and self.config.hash.lower() not in _KNOWN:
            stage.failures.add(
                f"Invalid hasher '{self.config.hash}' specified.",
                f"Allowed hashers are {', '.join(_KNOWN)}.",
            ).with_config_property("hash")
        if stage.input_schema is not None:
            self._check_fields(stage, stage.input_schema)
        stage.output_schema = stage.input_schema

    def _check_fields(self, stage: StageConfigurer, schema: Schema) -> None:
        for name in self.config.fields or ():
            given = schema.field(name)
            if given is None:
                stage.failures.add(
                    f"Field '{name}' must be present in the input schema."
                ).with_config_property("fields", element=name)
            elif given.schema.non_nullable.type is not Type.STRING:
                stage.failures.add(
                    f"Field '{name}' is of unsupported type '{given.schema.display_name}'.",
                    "Ensure all fields to hash are strings.",
                ).with_config_property("fields", element=name).with_input_field(name)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        for name in dict.fromkeys(self.config.fields):
            lineage.derive(name, [name], f"Hash {name}", masking=True)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        hashed = set(self.config.fields)
        return df.select(
            *(
                self._build_digest(get_column(name)).alias(name)
                if name in hashed
                else get_column(name)
                for name in context.input_schema.field_names
            )
        )

    def _build_digest(self, value: Column) -> Column:
        from pyspark.sql import functions as F  # noqa: N812

        chosen = self.config.hash.lower()
        if chosen in _SHA2:
            return F.sha2(value, _SHA2[chosen])
        return F.md5(value) if chosen == "md5" else F.sha1(value)
