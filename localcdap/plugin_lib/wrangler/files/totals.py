"""What the rows are like that a recipe makes of a file: totals of the columns, and expectations.

The rows are Python's here. DuckDB takes twice the time for the same: most of it to get the values into Arrow.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from localcdap.api import Schema
from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError
from localcdap.expectations.batches import BatchChecker
from localcdap.expectations.results import RuleResult, describe_result
from localcdap.expectations.rules import Expectation, explain_violation
from localcdap.expectations.schema_checks import find_schema_problems
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.jexl.row_conditions import create_row_test, find_condition_problems
from localcdap.workspace_views import ColumnTotals

_MOST_DISTINCT: Final = 100_000
"""Different values that are counted; a column with more has at least so many."""
_LONGEST: Final = 200


class TotalsCounter:
    """Counts records of a schema."""

    def __init__(self, schema: Schema) -> None:
        self._columns: Final = [_ColumnCounter(each.name, each.schema) for each in schema]

    def add(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Count more records."""
        for column in self._columns:
            column.add([record.get(column.totals.name) for record in records])

    def find_totals(self) -> list[ColumnTotals]:
        """Return what all records are like."""
        return [column.find_totals() for column in self._columns]


class _ColumnCounter:
    def __init__(self, name: str, schema: Schema) -> None:
        self.totals = ColumnTotals(name, schema.display_name)
        self._is_text = schema.non_nullable == Schema.STRING
        self._distinct: set[Any] = set()
        self._ends: list[Any] = []
        """The lowest and the highest value so far."""

    def add(self, values: list[Any]) -> None:
        totals = self.totals
        present = [each for each in values if each is not None]
        totals.rows += len(values)
        totals.nulls += len(values) - len(present)
        if self._is_text:
            totals.empty += sum(not each.strip() for each in present)
        try:
            found = set(present)
        except TypeError:  # lists, maps and records
            found = set(map(repr, present))
        else:
            self._extend(found)
        if not totals.has_more:
            self._distinct |= found
            if len(self._distinct) > _MOST_DISTINCT:
                totals.distinct, totals.has_more = _MOST_DISTINCT, True
                self._distinct.clear()

    def _extend(self, values: set[Any]) -> None:
        ordered = [each for each in values if each == each and not isinstance(each, bool | bytes)]
        if ordered:
            ends = [*self._ends, *ordered]
            self._ends = [min(ends), max(ends)]

    def find_totals(self) -> ColumnTotals:
        totals = self.totals
        if not totals.has_more:
            totals.distinct = len(self._distinct)
        if self._ends:
            totals.lowest, totals.highest = (to_java_string(each)[:_LONGEST] for each in self._ends)
        return totals


class OutputRules:
    """Checks the rules for the rows of an output.

    :raises BadRequestError: when a rule does not suit the schema; with every problem.
    """

    def __init__(self, rules: Sequence[Expectation], schema: Schema) -> None:
        problems = [
            (f"'{rule.label}': {problem.message}", problem.action)
            for rule in rules
            for problem in find_schema_problems(rule, schema, find_condition_problems)
        ]
        if problems:
            raise BadRequestError(
                "\n".join(message for message, _ in problems),
                "\n".join(dict.fromkeys(action for _, action in problems)),
            )
        self._rules: Final = rules
        shown = Schema.record("row", [(f.name, f.schema.as_nullable) for f in schema])
        self._codec: Final = RecordCodec(shown)
        self._checker: Final = BatchChecker("", rules, shown, create_row_test, _read_keys)

    def check(self, records: Sequence[Any]) -> list[tuple[int, str] | None]:
        """Count the violations of records; return code and message of each that is left out, else None."""
        if not self._rules:
            return [None] * len(records)
        violated = self._checker.check(self._codec.encode(records))
        return [
            None if index is None else (index + 1, explain_violation(self._rules[index]))
            for index in violated
        ]

    def get_results(self) -> list[RuleResult]:
        """Return the results for all records.

        :raises BadRequestError: when the violations of a rule with the action ``fail`` are not allowed.
        """
        results = self._checker.get_results()
        failed = [each for each in results if each.is_failure]
        if failed:
            raise BadRequestError(
                "\n".join(f"Expected: {each.label}; {describe_result(each)}." for each in failed),
                "Correct the data, or let the rule allow it. Nothing was written.",
            )
        return results


def _read_keys(table: str, key: str) -> Collection[Any]:
    raise BadRequestError(
        f"A rule refers to '{key}' of the table '{table}', which is read in pipelines only.",
        "Run the recipe in a pipeline, or list the values with the rule 'in-set'.",
    )
