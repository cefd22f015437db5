"""Expressions as Spark columns, where Spark gives the same answers.

Each node decides by the types of its operands; where one has no equal in Spark, the whole expression has
none. Booleans, ints, longs, doubles and texts are calculated with, other types only passed on and compared
with null. Long arithmetic is left to the batch form, which does not overflow, and so is all that reads
numbers from texts with a result whose type depends on the text.
"""

from __future__ import annotations

from localcdap.plugin_lib.jexl.native.expression import Native, build_native
from localcdap.plugin_lib.jexl.native.parts import NoNativeError

__all__ = ["Native", "NoNativeError", "build_native"]
