"""Objects of JSON made columns (wrangler ``JsParser.jsonFlatten``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localcdap.api.directive.rows import Row
from localcdap.java.gson import leaf


def flatten(members: Mapping[str, Any], name: str, depth: int | None, row: Row) -> None:
    """Add the members of an object to a row as columns ``<name>_<member>``, those of objects in it too.

    Arrays stay whole, and so do objects below the depth.

    :param depth: how many levels are opened, 1 for the members alone; None for all.
    :raises RecursionError: when objects are nested a thousand times.
    """
    if depth is not None and depth < 1:
        row.put(name, dict(members))
        return
    below = None if depth is None else depth - 1
    for member, value in members.items():
        column = f"{name}_{member}"
        if isinstance(value, Mapping):
            flatten(value, column, below, row)
        else:
            row.add(column, leaf(value))
