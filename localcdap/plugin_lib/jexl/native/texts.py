"""Changes of texts that functions and methods share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from localcdap.api.schema import Schema
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.jexl.native.part import NoNativeError, Part

if TYPE_CHECKING:
    from pyspark.sql import Column

Make = Callable[[Sequence[Part]], Part]
"""Of the arguments; a method's first is what it is a method of."""


def need_texts(parts: Sequence[Part]) -> None:
    """Refuses what is no text: the functions refuse it too, on each row."""
    if not all(part.is_text for part in parts):
        raise NoNativeError


def of_text(change: Callable[[Column], Column], kind: Schema = Schema.STRING) -> Make:
    """A function of one text that is null for null."""

    def make(parts: Sequence[Part]) -> Part:
        need_texts(parts)
        return replace(parts[0], column=change(parts[0].column), type=kind)

    return make


def spark(name: str) -> Callable[..., Column]:
    """A function of Spark, which is loaded when it is called."""

    def call(*columns: Column) -> Column:
        from pyspark.sql import functions as f

        made: Column = getattr(f, name)(*columns)
        return made

    return call


def trim(text: Column) -> Column:
    """Without the control characters and spaces at both ends."""
    from pyspark.sql import functions as f

    return f.btrim(text, f.lit(TRIM_CHARACTERS))
