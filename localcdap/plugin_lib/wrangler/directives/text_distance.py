"""Directives that measure how similar the texts of two columns are."""

from __future__ import annotations

from functools import cached_property

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.strings import round_to_float
from localcdap.plugin_lib.wrangler.values.similarity import Measure, find_distance, find_metric


class _Comparison(Directive):
    makes = ("destination",)
    method: str = argument.text(
        "euclidean, block, identity, dice, jaccard, jaro, levenshtein, damerau-levenshtein, simon-white, "
        "overlap-cofficient, generalized-jaccard, longest-common-subsequence, longest-common-substring; "
        "cosine for any other word."
    )
    column1: str = argument.column("One column.")
    column2: str = argument.column("The other one.")
    destination: str = argument.column("The new column; 0 unless both values are texts.")

    @cached_property
    def _function(self) -> Measure:
        return self.find_measure()

    def find_measure(self) -> Measure:
        raise NotImplementedError

    def propagate(self, columns: Columns) -> None:
        columns.add(self.destination, Schema.FLOAT)

    def change(self, row: Row, context: RowContext) -> None:
        one, other = row.value(self.column1), row.value(self.column2)
        measured = 0.0
        if isinstance(one, str) and isinstance(other, str) and one and other:
            try:
                measured = round_to_float(self._function(one, other))
            except ValueError as error:
                raise DirectiveError(str(error)) from None
        row.add(self.destination, measured)


@plugin(name="text-distance", description="Measures the distance of two texts.")
class TextDistance(_Comparison):
    categories = ("transform",)
    examples = ("text-distance block :name :other_name :distance",)

    def find_measure(self) -> Measure:
        return find_distance(self.method)


@plugin(name="text-metric", description="Measures the similarity of two texts, 0 to 1.")
class TextMetric(_Comparison):
    categories = ("transform",)
    examples = ("text-metric jaro :name :other_name :likeness",)

    def find_measure(self) -> Measure:
        return find_metric(self.method)
