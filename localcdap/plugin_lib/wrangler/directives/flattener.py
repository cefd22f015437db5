"""JSON objects flattened to columns (wrangler ``JsParser.jsonFlatten``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localcdap.api.directive import Directive, DirectiveError, Row
from localcdap.java.gson import to_column_value


class FlattenDirective(Directive):
    """A directive that makes columns of the members of an object, and of the objects in it."""

    column: str
    depth: int | None

    def problem(self) -> str | None:
        if self.depth is None or self.depth == int(self.depth):
            return None
        return f"the depth {self.depth} is not a whole number"

    def flatten(self, value: Mapping[str, Any], name: str, row: Row) -> None:
        """Add the columns ``<name>_<member>`` to a row.

        :raises DirectiveError: for objects that are nested too deeply for Python.
        """
        try:
            _flatten(value, name, None if self.depth is None else int(self.depth), row)
        except RecursionError:
            raise DirectiveError(
                f"column '{name}': objects are nested too deeply; give a depth"
            ) from None


def _flatten(members: Mapping[str, Any], name: str, depth: int | None, row: Row) -> None:
    """Add the members of an object, and of objects in it, to a row as columns ``<name>_<member>``.

    Arrays stay whole, as do objects below the depth.

    :param depth: how many levels are flattened: 1 for the members alone, None for all.
    :raises RecursionError: for objects that are nested a thousand times.
    """
    if depth is not None and depth < 1:
        row.put(name, dict(members))
        return
    below = None if depth is None else depth - 1
    for member, value in members.items():
        column = f"{name}_{member}"
        if isinstance(value, Mapping):
            _flatten(value, column, below, row)
        else:
            row.add(column, to_column_value(value))
