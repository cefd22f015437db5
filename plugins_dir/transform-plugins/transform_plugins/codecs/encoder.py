"""The transforms Encoder and Decoder, for Base64, Base32 and hexadecimal digits."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final

from localcdap.api import PluginConfig, Schema, Type, field, plugin

from .coded_fields import Codec, CodecError, CodecOptions, CodedFields

_FORM: Final = "{input-field}:{type:STRING_BASE64|BASE64|STRING_BASE32|BASE32|HEX|NONE}"
_TYPES: Final = (Type.BYTES, Type.STRING)
_NOT_BASE64: Final = re.compile(rb"[^A-Za-z0-9+/]")
_NOT_BASE32: Final = re.compile(rb"[^A-Z2-7]")


@plugin(name="Encoder", description="Encodes fields as Base64, Base32 or hexadecimal digits.")
class Encoder(CodedFields):
    class Config(PluginConfig):
        encode: str = field(
            "Fields and their encoding, a comma-separated list of 'field:type', such as "
            "'photo:BASE64'. Types: STRING_BASE64, BASE64, STRING_BASE32, BASE32, HEX, NONE.",
            form=_FORM,
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
            form=_FORM,
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
