"""The nodes that call functions and methods."""

from __future__ import annotations

from dataclasses import replace

from localcdap.plugin_lib.jexl.native.functions import FUNCTIONS
from localcdap.plugin_lib.jexl.native.methods import METHODS
from localcdap.plugin_lib.jexl.native.part import NoNativeError, Part, PartOf, either, fails_on_null
from localcdap.plugin_lib.jexl.tree import Node


def call(of: PartOf, node: Node) -> Part:
    make = FUNCTIONS.get((*node.value, len(node.parts)))
    if make is None:
        raise NoNativeError
    return make([of(part) for part in node.parts])


def protected(of: PartOf, node: Node) -> Part:
    """A method of null is null right inside of ``? :``."""
    return method(of, node, safe=True) if node.kind == "method" else of(node)


def method(of: PartOf, node: Node, *, safe: bool = False) -> Part:
    """A method of a text; null is an error, or null where it is safe."""
    from pyspark.sql import functions as f

    name, null_safe = node.value
    value = of(node.parts[0])
    make = METHODS.get((name, len(node.parts) - 1))
    if make is None or not value.is_text:
        raise NoNativeError
    found = make([value, *(of(part) for part in node.parts[1:])])
    if safe or null_safe:
        column = f.when(value.column.isNotNull(), found.column)
        return replace(found, column=column, nullable=value.nullable or found.nullable)
    return replace(found, failing=either(found.failing, fails_on_null(value)))
