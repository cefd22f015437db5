"""The functions of expressions by namespace: those that ``EL.java`` of Wrangler registers.

An expression calls a function as ``namespace:function(arguments)``; the docstring of each module names
its namespaces.
"""

from __future__ import annotations

from localcdap.plugin_lib.jexl.functions import (
    arithmetics,
    arrays,
    byte_arrays,
    data_quality,
    dates,
    decimals,
    escapes,
    everywhere,
    json_values,
    schemas,
    string_parts,
    string_replacement,
    string_search,
)
from localcdap.plugin_lib.jexl.functions.registry import FUNCTIONS, Function, Overload

NAMESPACES = frozenset(namespace for namespace, _ in FUNCTIONS if namespace)
"""The names that may precede the colon of a call."""

__all__ = [
    "FUNCTIONS",
    "NAMESPACES",
    "Function",
    "Overload",
    "arithmetics",
    "arrays",
    "byte_arrays",
    "data_quality",
    "dates",
    "decimals",
    "escapes",
    "everywhere",
    "json_values",
    "schemas",
    "string_parts",
    "string_replacement",
    "string_search",
]
