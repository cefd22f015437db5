"""Directives for encodings and digests: base64, base32, hex, URLs, character sets, digests by Java's names.

MD2 (RFC 1319), which hashlib lacks, is here.

Message digests by the names that Java gives them; MD2 (RFC 1319), which hashlib lacks, is here.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import re
from typing import Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.charsets import decode, find_encoding
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    ColumnMap,
    find_column,
    make_text_schema_like,
    report_missing_column,
    require_text,
    require_text_column,
)

METHODS: Final = ("base64", "base32", "hex")


def read_bytes(value: Any, name: str) -> bytes:
    """Return a text or bytes as bytes.

    :raises DirectiveError: for any other value.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, bytes):
        return value
    kind = "null" if value is None else f"a {type(value).__name__}"
    raise DirectiveError(f"column '{name}' is {kind}; a text or bytes are needed")


class _EncodingDirective(Directive):
    """A directive that puts another form of a column into a new one; null and missing columns are ignored."""

    word: str
    method: str = argument.text("base64, base32 or hex.", choices=METHODS)
    column: str = argument.column("The column.")

    def _name_target(self) -> str:
        return f"{self.column}_{self.word}_{self.method}"

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            columns.put(self._name_target(), make_text_schema_like(columns, self.column))

    def transcode(self, value: bytes) -> str:
        raise NotImplementedError

    def change(self, row: Row, context: RowContext) -> None:
        value = row.value(self.column)
        if value is not None:
            row.put(self._name_target(), self.transcode(read_bytes(value, self.column)))


@plugin(
    name="encode",
    description="Puts the base64, base32 or hex form of a column into <column>_encode_<method>.",
)
class Encode(_EncodingDirective):
    categories = ("transform",)
    examples = ("encode base64 :body",)
    word = "encode"

    def transcode(self, value: bytes) -> str:
        match self.method:
            case "base64":
                return base64.b64encode(value).decode()
            case "base32":
                return base64.b32encode(value).decode()
            case _:
                return value.hex()

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        if frame.columns.find(self.column) is None:
            return
        require_text_column(frame, self.column)
        encoded = f.encode(frame.column(self.column), "UTF-8")
        if self.method == "hex":
            value = f.lower(f.hex(encoded))
        elif self.method == "base64":
            # Spark splits base64 into lines.
            value = f.regexp_replace(f.base64(encoded), "[\\r\\n]", "")
        else:
            raise NoNativeFormError("Spark has no base32")
        frame.put(self._name_target(), value, make_text_schema_like(frame.columns, self.column))


@plugin(
    name="decode",
    description="Decodes base64, base32 or hex into the column <column>_decode_<method>.",
)
class Decode(_EncodingDirective):
    categories = ("transform",)
    examples = ("decode base64 :body",)
    word = "decode"

    def transcode(self, value: bytes) -> str:
        match self.method:
            case "base64":
                decoded = _decode_letters(value, rb"[^A-Za-z0-9+/]", 6, _to_standard_alphabet)
            case "base32":
                decoded = _decode_letters(value, rb"[^A-Z2-7]", 5, bytes)
            case _:
                try:
                    decoded = binascii.unhexlify(value)
                except binascii.Error as error:
                    raise DirectiveError(f"column '{self.column}' is not hex: {error}") from None
        return decoded.decode("utf-8", "replace")


def _to_standard_alphabet(value: bytes) -> bytes:
    return value.translate(bytes.maketrans(b"-_", b"+/"))


def _decode_letters(value: bytes, foreign: bytes, bits: int, prepare: Any) -> bytes:
    """Decode a text as Commons Codec does: it ends at ``=``, foreign characters are skipped, and bits that
    fill no byte are dropped.
    """
    letters = re.sub(foreign, b"", prepare(value.partition(b"=")[0]))
    group = 4 if bits == 6 else 8
    count = len(letters) * bits // 8
    padded = letters + b"A" * (-len(letters) % group)
    decode = base64.b64decode if bits == 6 else base64.b32decode
    return decode(padded)[:count]


@plugin(name="url-encode", description="Encodes texts for the query of a URL.")
class UrlEncode(Directive):
    categories = ("transform",)
    examples = ("url-encode :name",)
    column: str = argument.column("The column to change.")

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.column, "encode")

    def change(self, row: Row, context: RowContext) -> None:
        from urllib.parse import quote_plus

        text = require_text(row, self.column)
        # Java leaves the star as it is, and writes the tilde in digits.
        quoted = quote_plus(text, safe="*", errors="replace").replace("~", "%7E")
        row[find_column(row, self.column)] = quoted

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        schema = require_text_column(frame, self.column)
        value = frame.column(self.column)
        frame.fail_where(value.isNull(), f"column '{self.column}' is null; a text is needed")
        frame.put(self.column, f.url_encode(value), schema)


@plugin(name="url-decode", description="Decodes texts from the query of a URL.")
class UrlDecode(Directive):
    categories = ("transform",)
    examples = ("url-decode :name",)
    column: str = argument.column("The column to change.")

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.column, "decode")

    def change(self, row: Row, context: RowContext) -> None:
        from urllib.parse import unquote_plus

        text = require_text(row, self.column)
        if re.search(r"%(?![0-9a-fA-F]{2})", text):
            raise DirectiveError(
                f"column '{self.column}' has a % without two hexadecimal digits after it"
            )
        row[find_column(row, self.column)] = unquote_plus(text, errors="replace")

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        schema = require_text_column(frame, self.column)
        value = frame.column(self.column)
        is_wrong = value.rlike("%(?![0-9a-fA-F]{2})")
        frame.fail_where(value.isNull(), f"column '{self.column}' is null; a text is needed")
        frame.fail_where(
            is_wrong, f"column '{self.column}' has a % without two hexadecimal digits after it"
        )
        frame.put(self.column, f.when(~is_wrong, f.try_url_decode(value)), schema.as_nullable)


@plugin(name="set-charset", description="Reads bytes as text of a character set.")
class SetCharset(Directive):
    categories = ("language",)
    examples = ("set-charset :body 'UTF-8'",)
    column: str = argument.column("The column with bytes.")
    charset: str = argument.text("The character set, such as UTF-8 or ISO-8859-1.")

    def problem(self) -> str | None:
        is_known = find_encoding(self.charset) is not None
        return None if is_known else f"there is no character set '{self.charset}'"

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.column):
            columns.put(self.column, make_text_schema_like(columns, self.column))

    def start(self, context: RowContext) -> None:
        self._encoding = find_encoding(self.charset) or ""

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None or row[found] is None:
            return
        value = row[found]
        if not isinstance(value, bytes):
            raise DirectiveError(
                f"column '{self.column}' is a {type(value).__name__}; bytes are needed"
            )
        row[found] = decode(value, self._encoding)


_NAMES: Final = {
    "MD4": "md4",
    "MD5": "md5",
    "SHA": "sha1",
    "SHA-1": "sha1",
    "SHA-224": "sha224",
    "SHA-256": "sha256",
    "SHA-384": "sha384",
    "SHA-512": "sha512",
    "SHA-512/224": "sha512_224",
    "SHA-512/256": "sha512_256",
    "SHA3-224": "sha3_224",
    "SHA3-256": "sha3_256",
    "SHA3-384": "sha3_384",
    "SHA3-512": "sha3_512",
    "RIPEMD160": "ripemd160",
    "SM3": "sm3",
    "WHIRLPOOL": "whirlpool",
}
_BLAKE: Final = {f"BLAKE2B-{bits}": bits // 8 for bits in (160, 256, 384, 512)}
_OTHERS: Final = (
    *("GOST3411", "GOST3411-2012-256", "GOST3411-2012-512"),
    *("KECCAK-224", "KECCAK-256", "KECCAK-288", "KECCAK-384", "KECCAK-512"),
    *("RIPEMD128", "RIPEMD256", "RIPEMD320", "Tiger", "TIGER"),
    *(f"Skein-1024-{bits}" for bits in (1024, 384, 512)),
    *(f"Skein-256-{bits}" for bits in (128, 160, 224, 256)),
    *(f"Skein-512-{bits}" for bits in (128, 160, 224, 256, 384, 512)),
)
ALGORITHMS: Final = tuple(sorted(("MD2", *_NAMES, *_BLAKE, *_OTHERS)))
"""The algorithms that the original knows by name."""


def find_unavailability(name: str) -> str | None:
    """Return why an algorithm is not available; None for an available one."""
    if name in _BLAKE or name == "MD2":
        return None
    if name in _OTHERS:
        return f"algorithm '{name}' is not available; use a SHA-2, SHA-3 or BLAKE2B algorithm"
    return _find_openssl_problem(name)


@functools.cache
def _find_openssl_problem(name: str) -> str | None:
    try:
        hashlib.new(_NAMES[name], usedforsecurity=False)
    except ValueError:
        return f"algorithm '{name}' is not part of this machine's OpenSSL"
    return None


def compute_digest(name: str, value: bytes) -> bytes:
    """Compute the digest of bytes by an available algorithm."""
    if name == "MD2":
        return compute_md2(value)
    if name in _BLAKE:
        return hashlib.blake2b(value, digest_size=_BLAKE[name]).digest()
    return hashlib.new(_NAMES[name], value, usedforsecurity=False).digest()


_BLOCK: Final = 16
_ROUNDS: Final = 18
_DIGITS: Final = 1000
"""Digits of pi, more than the substitution needs."""


def compute_md2(value: bytes) -> bytes:
    """Compute the digest of bytes."""
    table = _build_substitution()
    missing = _BLOCK - len(value) % _BLOCK
    padded = value + bytes([missing]) * missing
    padded += _compute_checksum(padded, table)
    state = [0] * (3 * _BLOCK)
    for at in range(0, len(padded), _BLOCK):
        for i, byte in enumerate(padded[at : at + _BLOCK]):
            state[_BLOCK + i] = byte
            state[2 * _BLOCK + i] = byte ^ state[i]
        last = 0
        for number in range(_ROUNDS):
            for i, one in enumerate(state):
                last = state[i] = one ^ table[last]
            last = (last + number) % 256
    return bytes(state[:_BLOCK])


def _compute_checksum(padded: bytes, table: list[int]) -> bytes:
    found, last = [0] * _BLOCK, 0
    for at, byte in enumerate(padded):
        last = found[at % _BLOCK] = found[at % _BLOCK] ^ table[byte ^ last]
    return bytes(found)


@functools.cache
def _build_substitution() -> list[int]:
    """Return the numbers below 256 in the order that the digits of pi define."""
    digits = iter(_compute_pi())

    def draw_below(limit: int) -> int:
        while True:
            number, most = next(digits), 10
            while limit > most:
                number, most = number * 10 + next(digits), most * 10
            if number < most - most % limit:
                return number % limit

    table = list(range(256))
    for count in range(2, 257):
        other = draw_below(count)
        table[count - 1], table[other] = table[other], table[count - 1]
    return table


def _compute_pi() -> list[int]:
    """Compute the first digits of pi, by Machin's formula."""
    unit: int = 10 ** (_DIGITS + 10)

    def compute_arctan(number: int) -> int:
        total = term = unit // number
        divisor = 1
        while term:
            term //= -number * number
            divisor += 2
            total += term // divisor
        return total

    found = 4 * (4 * compute_arctan(5) - compute_arctan(239))
    return [int(digit) for digit in str(found)[:_DIGITS]]


@plugin(name="hash", description="Replaces a column by its digest, for instance SHA-256.")
class Hash(ColumnMap):
    categories = ("transform", "hash")
    examples = ("hash :ssn 'SHA-256' true",)
    masks = True
    column: str = argument.column("The column to replace.")
    algorithm: str = argument.text("The algorithm, such as MD5, SHA-1, SHA-256, SHA3-512.")
    encode: bool = argument.boolean(
        "Whether the digest becomes a hexadecimal text of at least 64 digits instead of bytes.",
        default=False,
    )

    def problem(self) -> str | None:
        name = self.algorithm
        if name not in ALGORITHMS:
            return f"there is no algorithm '{name}'; there are {', '.join(ALGORITHMS)}"
        return find_unavailability(name)

    def propagate(self, columns: Columns) -> None:
        if not report_missing_column(columns, self.column, "hash"):
            columns.put(self.column, Schema.STRING if self.encode else Schema.BYTES)

    def change(self, row: Row, context: RowContext) -> None:
        find_column(row, self.column)  # fails for a missing column
        super().change(row, context)

    def map(self, value: Any) -> Any:
        hashed = compute_digest(self.algorithm, read_bytes(value, self.column))
        return to_hex(hashed) if self.encode else hashed

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        require_text_column(frame, self.column)
        value = frame.column(self.column)
        encoded = f.encode(value, "UTF-8")
        match self.algorithm:
            case "MD5":
                digits = f.md5(encoded)
            case "SHA" | "SHA-1":
                digits = f.sha1(encoded)
            case "SHA-224" | "SHA-256" | "SHA-384" | "SHA-512":
                digits = f.sha2(encoded, int(self.algorithm[4:]))
            case _:
                raise NoNativeFormError(f"Spark has no {self.algorithm}")
        frame.fail_where(
            value.isNull(), f"column '{self.column}' is null; a text or bytes are needed"
        )
        if self.encode:
            padded = f.concat(f.lit("0" * 64), digits)
            shown = f.regexp_replace(padded, "^0+(?=.{64})", "")
            frame.put(self.column, shown, Schema.STRING)
        else:
            frame.put(self.column, f.unhex(digits), Schema.BYTES)


def to_hex(hashed: bytes) -> str:
    """Return a digest as a hexadecimal number, padded to 64 digits, as the original does."""
    return f"{int.from_bytes(hashed, 'big'):064x}"
