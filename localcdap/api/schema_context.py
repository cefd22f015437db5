"""The context in which a source finds its schema."""

from __future__ import annotations

from typing import Protocol

from localcdap.api.stage import SourceContext


class SchemaContext(SourceContext, Protocol):
    """The context of :meth:`BatchSource.find_schema`, in the run's own process, before the plan is made."""

    def set_argument(self, name: str, value: str) -> None:
        """Set an argument of the run for the other stages (CDAP ``BatchSourceContext.getArguments``)."""
