"""A DataFrame that notes what is done with it, so that a recipe is compiled without Spark."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.sql_names import quote_column
from localcdap.plugin_lib.wrangler.scripts.sql_text import render_column

if TYPE_CHECKING:
    from pyspark.sql import Column

_CONNECT: Final = "SPARK_CONNECT_MODE_ENABLED"


class Selection(msgspec.Struct, frozen=True):
    """Columns that are selected: each the SQL of a value, and its name."""

    columns: tuple[tuple[str, str], ...]


class RowFilter(msgspec.Struct, frozen=True):
    """The rows for which a condition in SQL is true."""

    text: str


Step = Selection | RowFilter


class RecordedFrame:
    """Takes the place of the DataFrame of a recipe.

    :param names: the columns.
    """

    def __init__(self, names: tuple[str, ...], steps: tuple[Step, ...] = ()) -> None:
        self.names: Final = names
        self.steps: Final = steps

    def toDF(self, *names: str) -> RecordedFrame:  # noqa: N802 - the name of PySpark
        """Rename all columns."""
        pairs = zip(self.names, names, strict=True)
        return self._add(Selection(tuple((quote_column(old), new) for old, new in pairs)))

    def select(self, *columns: Column | str) -> RecordedFrame:
        """Select columns."""
        return self._add(Selection(tuple(map(_render, columns))))

    def where(self, condition: Column) -> RecordedFrame:
        """Keep the rows for which a condition is true."""
        return RecordedFrame(self.names, (*self.steps, RowFilter(render_column(condition)[0])))

    def limit(self, _: int) -> RecordedFrame:
        """Return the frame: it has no rows."""
        return self

    def _add(self, selection: Selection) -> RecordedFrame:
        if selection == _repeat(self.names):
            return self
        names = tuple(name for _, name in selection.columns)
        return RecordedFrame(names, (*self.steps, selection))


def _repeat(names: tuple[str, ...]) -> Selection:
    return Selection(tuple((name, name) for name in names))


def _render(column: Any) -> tuple[str, str]:
    if isinstance(column, str):
        return column, column
    text, alias = render_column(column)
    return text, alias or text.strip("`")


@contextlib.contextmanager
def without_session() -> Iterator[None]:
    """Have PySpark's functions make columns of Spark Connect, which need no session."""
    before = os.environ.get(_CONNECT)
    os.environ[_CONNECT] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_CONNECT]
        else:
            os.environ[_CONNECT] = before
