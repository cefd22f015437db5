"""Expressions as Spark columns, where Spark gives the same answers.

Each node decides by the types of its operands. If one node has no equivalent in Spark, the whole
expression has none. Spark calculates with booleans, ints, longs, doubles and texts; other types are
only passed on and compared with null. The batch form handles long arithmetic, which Spark would let
overflow, and numbers in texts whose type depends on the text.
"""

from __future__ import annotations

from localcdap.plugin_lib.jexl.native.expression import NativeExpression, build_native
from localcdap.plugin_lib.jexl.native.parts import NoNativeError

__all__ = ["NativeExpression", "NoNativeError", "build_native"]
