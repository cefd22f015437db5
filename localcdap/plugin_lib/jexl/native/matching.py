"""Texts that match a pattern, or begin or end with another."""

from __future__ import annotations

from localcdap.api.schema import Schema
from localcdap.java.regex import compile_regex, has_nested_repeats
from localcdap.plugin_lib.jexl.native.conversions import to_text
from localcdap.plugin_lib.jexl.native.part import NoNativeError, Part, certain, is_null
from localcdap.plugin_lib.jexl.tree import Node


def matches(left: Part, pattern: Node) -> Part:
    """``=~`` with a constant pattern: the whole text matches it."""
    from pyspark.sql import functions as f

    if pattern.kind != "constant" or not isinstance(pattern.value, str):
        raise NoNativeError
    if has_nested_repeats(pattern.value) or "(?" in pattern.value.replace("(?:", ""):
        raise NoNativeError  # Spark has no limit of time, and flags mean more in one than in the other
    compile_regex(pattern.value)
    if left.type == Schema.NULL:
        return certain(f.lit(False), left)
    text = to_text(left)
    found = text.column.rlike(rf"\A(?:{pattern.value})\z")
    return certain(f.coalesce(found, f.lit(False)), left)


def has_affix(symbol: str, left: Part, right: Part) -> Part:
    """``=^``, begins with, or ``=$``, ends with."""
    from pyspark.sql import functions as f

    if not left.is_text or right.type == Schema.NULL:
        raise NoNativeError
    other = to_text(right)
    found = (left.column.startswith if symbol == "=^" else left.column.endswith)(other.column)
    nulls = is_null(left) & is_null(right)
    return certain(f.coalesce(found, nulls), left, right)
