"""Expectations of the rows that a recipe makes of a file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema
from localcdap.expectations.batches import BatchChecker
from localcdap.expectations.results import RuleResult, describe_result
from localcdap.expectations.rules import Expectation, explain_violation
from localcdap.expectations.schema_checks import find_schema_problems
from localcdap.plugin_lib.jexl.row_conditions import create_row_test, find_condition_problems


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
