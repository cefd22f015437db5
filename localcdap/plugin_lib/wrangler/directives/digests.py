"""The directive that replaces columns by their digests."""

from __future__ import annotations

from typing import Any

from localcdap.api.directive import (
    Columns,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.directives.columns import find_column, report_missing_column
from localcdap.plugin_lib.wrangler.directives.encodings import read_bytes
from localcdap.plugin_lib.wrangler.directives.native_helpers import require_text_column
from localcdap.plugin_lib.wrangler.recipe.base_directives import ColumnMap
from localcdap.plugin_lib.wrangler.values.digests import (
    ALGORITHMS,
    compute_digest,
    find_unavailability,
)


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
