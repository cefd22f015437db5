"""The methods of texts that have an equal in Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl.native.part import Part, either, fails_on_null
from localcdap.plugin_lib.jexl.native.texts import Make, need_texts, of_text, spark, trim

if TYPE_CHECKING:
    from pyspark.sql import Column


def _with_text(change: Callable[[Column, Column], Column], kind: Schema = Schema.BOOLEAN) -> Make:
    """A method of a text with one more text."""

    def make(parts: Sequence[Part]) -> Part:
        need_texts(parts)
        text, other = parts
        failing = either(text.failing, fails_on_null(other))
        return Part(change(text.column, other.column), kind, True, failing)

    return make


METHODS: Final[dict[tuple[str, int], Make]] = {
    ("trim", 0): of_text(trim),
    ("toUpperCase", 0): of_text(spark("upper")),
    ("toLowerCase", 0): of_text(spark("lower")),
    ("isEmpty", 0): of_text(lambda text: text == "", Schema.BOOLEAN),
    ("contains", 1): _with_text(lambda text, other: text.contains(other)),
    ("startsWith", 1): _with_text(lambda text, other: text.startswith(other)),
    ("endsWith", 1): _with_text(lambda text, other: text.endswith(other)),
    ("concat", 1): _with_text(spark("concat"), Schema.STRING),
}
"""By name and number of further arguments; a null text is told by their caller."""
