"""Directives for encodings of texts and bytes: base64, base32, hex, URLs, character sets."""

from __future__ import annotations

import base64
import binascii
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
from localcdap.java.charsets import decode, find_encoding
from localcdap.plugin_lib.wrangler.directives.columns import find_column, report_missing_column
from localcdap.plugin_lib.wrangler.directives.masks import require_text
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    make_text_schema_like,
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
