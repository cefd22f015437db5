"""The transforms Compressor and Decompressor, for Snappy, ZIP and GZIP."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Final

from localcdap.api import PluginConfig, Schema, Type, field, plugin

from .coded_fields import Codec, CodecError, CodecOptions, CodedFields

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
