"""Expressions as Spark columns, where Spark gives the same answers; see :mod:`.spark` for how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from localcdap.api.schema import Schema
from localcdap.wrangler.jexl.tree import Node

if TYPE_CHECKING:
    from pyspark.sql import Column


@dataclass(frozen=True, slots=True)
class Native:
    """An expression over the columns of a DataFrame."""

    column: Column
    type: Schema
    """Nullable where a row can have null; rows that fail have null whatever it says."""
    failing: Column | None
    """True on the rows for which the batch form raises (never null); None: it never does."""


def native_of(root: Node, schema: Schema, column: Callable[[str], Column] | None) -> Native | None:
    """The Spark form of an expression, None where it has none."""
    return None
