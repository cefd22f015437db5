"""The directive that finds the stems of words."""

from __future__ import annotations

import re
from typing import Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.directives.error_messages import make_type_error
from localcdap.plugin_lib.wrangler.values.porter import list_stems

_WORD_SEPARATOR: Final = re.compile(r"\W+", re.ASCII)


@plugin(
    name="stemming",
    description="Puts the stems of English words into the column <column>_porter, as an array.",
)
class Stemming(Directive):
    categories = ("nlp",)
    examples = ("stemming :words",)
    keeps_values = True
    column: str = argument.column("The column with words: a text, or an array of texts.")

    def propagate(self, columns: Columns) -> None:
        columns.add(f"{self.column}_porter", Schema.array(Schema.STRING))

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        words = [] if found is None else self._split_words(row[found])
        row.add(f"{self.column}_porter", list_stems(words))

    def _split_words(self, value: Any) -> list[str]:
        if isinstance(value, str):
            return _WORD_SEPARATOR.split(value)
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return value
        raise make_type_error(self.column, value, "a text or texts are needed")
