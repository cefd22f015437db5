"""Encoder, Decoder, Compressor, Decompressor: values there and back, what cannot be decoded, failures."""

from __future__ import annotations

import base64
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transform_plugins.codecs import Compressor, Decoder, Decompressor, Encoder

from localcdap.api import Schema
from tests.plugins.transform.support import causes, configure, messages, only_failure, record, run

INPUT = record(id=Schema.INT, body=Schema.STRING.as_nullable)
BYTES = record(id=Schema.INT, body=Schema.BYTES.as_nullable)
ENCODINGS = ["STRING_BASE64", "BASE64", "STRING_BASE32", "BASE32", "HEX"]
COMPRESSIONS = ["SNAPPY", "ZIP", "GZIP"]


def body(cls, coding, schema, given, value):
    output = run(cls, coding | {"schema": str(schema)}, given, [{"id": 1, "body": value}])
    assert output.errors == []
    (made,) = output.records
    assert made["id"] == 1
    return made["body"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("BASE64", "aMOpbGxv"),
        ("string_base64", "aMOpbGxv"),
        ("BASE32", "NDB2S3DMN4======"),
        ("HEX", "68c3a96c6c6f"),
        ("NONE", "héllo"),
    ],
)
def test_texts_are_encoded(kind, text):
    assert body(Encoder, {"encode": f"body:{kind}"}, INPUT, INPUT, "héllo") == text


@given(st.sampled_from(ENCODINGS), st.binary(max_size=40))
def test_what_was_encoded_is_decoded(kind, value):
    encoded = body(Encoder, {"encode": f"body:{kind}"}, BYTES, BYTES, value)
    assert body(Decoder, {"decode": f"body:{kind}"}, BYTES, BYTES, encoded) == value


@given(st.sampled_from(COMPRESSIONS), st.binary(max_size=200))
def test_what_was_compressed_is_decompressed(kind, value):
    packed = body(Compressor, {"compressor": f"body:{kind}"}, BYTES, BYTES, value)
    assert body(Decompressor, {"decompressor": f"body:{kind}"}, BYTES, BYTES, packed) == value


def test_a_compressed_text_comes_back_as_a_text():
    packed = body(Compressor, {"compressor": "body:GZIP"}, BYTES, INPUT, "größe")
    assert gzip.decompress(packed).decode() == "größe"
    assert body(Decompressor, {"decompressor": "body:GZIP"}, INPUT, BYTES, packed) == "größe"


def test_null_stays_null_and_other_fields_pass_where_the_output_has_them():
    schema = record(body=Schema.STRING.as_nullable, more=Schema.STRING.as_nullable)
    made = run(
        Encoder,
        {"encode": "body:HEX", "schema": str(schema)},
        INPUT,
        [{"id": 1, "body": None}],
    ).records
    assert [(each["body"], each.get("more")) for each in made] == [(None, None)]


def test_base64_may_lack_padding_and_hold_line_ends_and_url_digits():
    value = bytes(range(250))
    text = base64.urlsafe_b64encode(value).decode().rstrip("=")
    assert (
        body(Decoder, {"decode": "body:BASE64"}, BYTES, INPUT, f"{text[:70]}\r\n{text[70:]}")
        == value
    )


@pytest.mark.parametrize(
    ("cls", "name", "kind", "value", "why"),
    [
        (Decoder, "decode", "HEX", "abc", "odd-length"),
        (Decoder, "decode", "HEX", "zz", "non-hexadecimal"),
        (Decoder, "decode", "BASE64", "/w==", "'utf-8' codec can't decode"),
        (Decompressor, "decompressor", "GZIP", b"no", "not compressed with GZIP"),
        (
            Decompressor,
            "decompressor",
            "GZIP",
            gzip.compress(b"cut off", mtime=0)[:-9],
            "not compressed with GZIP",
        ),
        (Decompressor, "decompressor", "ZIP", b"no", "not a ZIP archive"),
        (Decompressor, "decompressor", "SNAPPY", b"\xff\xff\xff", "not compressed with Snappy"),
    ],
)
def test_what_cannot_be_decoded_is_an_error_record(cls, name, kind, value, why):
    schema = INPUT if isinstance(value, str) else BYTES
    output = run(
        cls, {name: f"body:{kind}", "schema": str(INPUT)}, schema, [{"id": 7, "body": value}]
    )
    ((failed, code, message),) = output.errors
    assert (output.records, failed["id"], code) == ([], 7, 31)
    assert message.startswith("Field 'body' cannot be converted:")
    assert why in message


def test_a_bomb_is_refused(monkeypatch):
    monkeypatch.setattr("transform_plugins.codecs.MAX_BYTES", 1000)
    for kind in COMPRESSIONS:
        packed = body(Compressor, {"compressor": f"body:{kind}"}, BYTES, BYTES, bytes(1001))
        output = run(
            Decompressor,
            {"decompressor": f"body:{kind}", "schema": str(BYTES)},
            BYTES,
            [{"id": 1, "body": packed}],
        )
        assert "when decompressed" in output.errors[0][2]


@pytest.mark.parametrize(
    ("coding", "message"),
    [
        ("body", "Configuration 'body' is incorrectly formed."),
        ("body:ROT13", "Field 'body' has an unknown encode type 'ROT13'."),
        ("body:HEX,body:BASE64", "Field 'body' occurs twice."),
        ("gone:HEX", "Field 'gone' must be present in the input schema."),
        ("id:HEX", "Input field 'id' is of unsupported type 'int'."),
    ],
)
def test_failures_name_the_element(coding, message):
    stage = configure(Encoder, {"encode": coding, "schema": str(INPUT)}, INPUT)
    first = next(iter(stage.failures))
    assert first.message == message
    assert any(cause.get("stageConfig") == "encode" for cause in causes(first))


def test_the_output_schema_is_compared_with_the_input():
    output = record(id=Schema.LONG, body=Schema.INT, extra=Schema.STRING)
    stage = configure(Encoder, {"encode": "body:HEX", "schema": str(output)}, INPUT)
    assert messages(stage) == [
        "Output field 'body' is of invalid type 'int'.",
        "Output field 'id' must have same schema as input schema.",
        "Output field 'extra' is not in the input schema, so it is always null.",
    ]


def test_compressed_fields_are_bytes():
    stage = configure(Compressor, {"compressor": "body:ZIP", "schema": str(INPUT)}, INPUT)
    assert only_failure(stage).corrective_action == "Ensure the field is of type bytes."
