"""Objects opened to columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localcdap.api.directive import Directive, DirectiveError, Row
from localcdap.plugin_lib.wrangler.values.flattening import flatten


class Opening(Directive):
    """A directive that makes columns of the members of an object, and of the objects among these."""

    column: str
    depth: int | None

    def problem(self) -> str | None:
        if self.depth is None or self.depth == int(self.depth):
            return None
        return f"the depth {self.depth} is no whole number"

    def open(self, value: Mapping[str, Any], name: str, row: Row) -> None:
        """Adds the columns ``<name>_<member>`` to a row.

        :raises DirectiveError: when objects are nested too deeply for Python.
        """
        try:
            flatten(value, name, None if self.depth is None else int(self.depth), row)
        except RecursionError:
            raise DirectiveError(
                f"column '{name}': objects are nested too deeply; give a depth"
            ) from None
