"""Helpers for the native (Spark) forms of directives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from localcdap.api.directive import Frame, NoNativeFormError
from localcdap.api.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column

WHOLE_NUMBERS: Final = (Schema.INT, Schema.LONG)
WHOLE: Final = r"\A[+-]?[0-9]+\z"
"""The texts that Java reads as whole numbers."""

_PLAIN_REGEX: Final = re.compile(
    r"""(?x)
    (?: [^\\\[\](){}*+?|^$]                                  # a character that stands for itself
      | \\[dDwWsStnr] | \\[^\w\s]                            # a class, a quoted character
      | \[\^?(?: [^\\\[\]&^] | \\[dDwWsStnr] | \\[^\w\s] )+\]   # a class in brackets
      | [()|^$] | \(\?: | [*+?] | \{\d+(?:,\d*)?\}
    )*"""
)
_REPEATED_GROUP: Final = re.compile(r"\)[*+?{]|[*+?}][*+{]")


def is_text(schema: Schema | None) -> bool:
    """Whether a schema is text, nullable or not."""
    return schema is not None and schema.non_nullable == Schema.STRING


def require_column(frame: Frame, name: str) -> Schema:
    """Return the schema of a column that must exist.

    :raises NoNativeFormError: for a missing column: the batch form reports it for each row.
    """
    schema = frame.columns.schema(name)
    if schema is None:
        raise NoNativeFormError(f"there is no column '{name}'")
    return schema


def require_text_column(frame: Frame, name: str) -> Schema:
    """Return the schema of a column that must exist and hold texts."""
    schema = require_column(frame, name)
    if not is_text(schema):
        raise NoNativeFormError(f"column '{name}' is {schema.non_nullable.display_name}, not text")
    return schema


def as_text(frame: Frame, name: str) -> Column:
    """Return a column of texts or whole numbers as texts; null stays null.

    :raises NoNativeFormError: for any other type: Java formats it differently from Spark.
    """
    schema = require_column(frame, name)
    if is_text(schema):
        return frame.column(name)
    if schema.non_nullable in WHOLE_NUMBERS:
        return frame.column(name).cast("string")
    raise NoNativeFormError(
        f"column '{name}' is {schema.non_nullable.display_name}, neither text nor whole number"
    )


def require_plain_regex(pattern: str) -> None:
    """Reject patterns that may take very long in Spark, which has no time limit, or that Spark's Java reads
    differently from :mod:`localcdap.java.regex`.
    """
    if not _PLAIN_REGEX.fullmatch(pattern) or _REPEATED_GROUP.search(pattern):
        raise NoNativeFormError("the regular expression needs the time limit of batches")
    if len(re.findall(r"[*+}]", pattern)) > 2:
        raise NoNativeFormError(
            "the regular expression may need long, and Spark has no limit of time"
        )
