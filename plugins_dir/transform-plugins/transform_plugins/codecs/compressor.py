"""The Compressor and Decompressor transforms: fields as Snappy, ZIP or GZIP, and back."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Final

from localcdap.api import PluginConfig, Schema, Type, field, plugin

from .coded_fields import Codec, CodedFields, CodingError, Wording

LARGEST: Final = 256 * 1024 * 1024
"""Bytes that a value may have once decompressed: a few kilobytes can stand for a machine's memory."""
_ENTRY: Final = "c"
_FORM: Final = "{input-field}:{type:SNAPPY|ZIP|GZIP|NONE}"


def _snappy(data: bytes) -> bytes:
    import cramjam

    return bytes(cramjam.snappy.compress_raw(data))


def _zip(data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(zipfile.ZipInfo(_ENTRY), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


@plugin(
    type="transform",
    name="Compressor",
    description="Compresses fields with Snappy, ZIP or GZIP.",
)
class Compressor(CodedFields):
    class Config(PluginConfig):
        compressor: str = field(
            description=(
                "Fields and how to compress them, a comma-separated list of 'field:type', such as "
                "'body:GZIP'. Types: SNAPPY, ZIP, GZIP, NONE."
            ),
            form=_FORM,
        )
        schema: Schema = field(description="The output schema. Compressed fields are bytes in it.")

    config: Config
    wording = Wording("compressor", (Type.BYTES, Type.STRING), (Type.BYTES,))
    codecs: Mapping[str, Codec] = {"SNAPPY": _snappy, "ZIP": _zip, "GZIP": _gzip}

    def coding(self) -> str:
        return self.config.compressor


def _unsnappy(data: bytes) -> bytes:
    import cramjam

    try:
        _refuse_over(cramjam.snappy.decompress_raw_len(data))
        return bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        raise CodingError(f"it is not compressed with Snappy ({error})") from None


def _unzip(data: bytes) -> bytes:
    """All entries, one after the other."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts: list[bytes] = []
            for entry in archive.infolist():
                with archive.open(entry) as opened:
                    parts.append(_limited(opened, LARGEST - sum(len(part) for part in parts)))
            return b"".join(parts)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise CodingError(f"it is not a ZIP archive ({error})") from None


def _ungzip(data: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(data)) as opened:
            return _limited(opened, LARGEST)
    except (OSError, EOFError, zlib.error) as error:
        raise CodingError(f"it is not compressed with GZIP ({error})") from None


def _limited(opened: IO[bytes] | gzip.GzipFile, limit: int) -> bytes:
    data = opened.read(limit + 1)
    _refuse_over(LARGEST - limit + len(data))
    return data


def _refuse_over(size: int) -> None:
    if size > LARGEST:
        raise CodingError(f"it has more than {LARGEST >> 20} MB when decompressed")


@plugin(
    type="transform",
    name="Decompressor",
    description="Decompresses fields that were compressed with Snappy, ZIP or GZIP.",
)
class Decompressor(CodedFields):
    class Config(PluginConfig):
        decompressor: str = field(
            description=(
                "Fields and how they are compressed, a comma-separated list of 'field:type', such as "
                "'body:GZIP'. Types: SNAPPY, ZIP, GZIP, NONE."
            ),
            form=_FORM,
        )
        schema: Schema = field(
            description="The output schema. Decompressed fields are strings or bytes in it."
        )

    config: Config
    wording = Wording("decompressor", (Type.BYTES,), (Type.BYTES, Type.STRING))
    codecs: Mapping[str, Codec] = {"SNAPPY": _unsnappy, "ZIP": _unzip, "GZIP": _ungzip}

    def coding(self) -> str:
        return self.config.decompressor
