"""Checks rules on batches of records in this process, without Spark."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.schema import Schema
from localcdap.expectations.results import RuleResult, create_result
from localcdap.expectations.rules import (
    Expectation,
    InRange,
    InSet,
    MatchesPattern,
    MeetsCondition,
    NotNull,
    Reference,
    RuleAction,
    Unique,
)
from localcdap.expectations.schema_checks import to_column_value
from localcdap.java.regex import compile_regex

if TYPE_CHECKING:
    import pyarrow as pa

CreateRowTest = Callable[[str], Callable[[Sequence[Mapping[str, Any]]], list[bool]]]
"""Returns the test of a condition, which returns for each row whether the condition holds."""
ReadKeys = Callable[[str, str], "Collection[Any]"]
"""Returns the values of a column of a table, by the names of both."""


class BatchChecker:
    """Checks the rules of one stage on its batches, one after another.

    Of records with the same values in the columns of :class:`.rules.Unique`, the first one holds. Rules name
    only columns of the schema (:func:`.schema_checks.find_schema_problems`).

    :param schema: of the batches; any field may be null.
    """

    def __init__(
        self,
        stage: str,
        rules: Sequence[Expectation],
        schema: Schema,
        create_row_test: CreateRowTest,
        read_keys: ReadKeys,
    ) -> None:
        self._stage: Final = stage
        self._rules: Final = list(rules)
        self._checks: Final = [
            _create_check(rule, schema, create_row_test, read_keys) for rule in self._rules
        ]
        self._violations: Final = [0] * len(self._rules)
        self._checked = 0

    def check(self, batch: pa.RecordBatch) -> list[int | None]:
        """Count the violations in a batch.

        :returns: for each record the index of the first rule with the action ``error`` that it violates, or
            None.
        """
        self._checked += batch.num_rows
        first: list[int | None] = [None] * batch.num_rows
        for index, (rule, check) in enumerate(zip(self._rules, self._checks, strict=True)):
            if check is None:
                continue
            violating = check(batch)
            self._violations[index] += len(violating)
            if rule.action is RuleAction.ERROR:
                for row in violating:
                    if first[row] is None:
                        first[row] = index
        return first

    def get_results(self) -> list[RuleResult]:
        """Return the results of all batches so far."""
        return [
            create_result(self._stage, rule, self._checked, violations)
            for rule, violations in zip(self._rules, self._violations, strict=True)
        ]


_Check = Callable[["pa.RecordBatch"], list[int]]
"""Returns the indexes of the records that violate a rule."""


def _create_check(
    rule: Expectation, schema: Schema, create_row_test: CreateRowTest, read_keys: ReadKeys
) -> _Check | None:
    match rule:
        case NotNull():
            return lambda batch: _list_true(batch.column(rule.column).is_null())
        case Unique():
            return _Uniqueness(rule.columns).check
        case InRange():
            return _create_range_check(rule, schema)
        case MatchesPattern():
            pattern = compile_regex(rule.pattern)
            return _create_value_check(rule.column, pattern.matches)
        case InSet():
            values = {_convert(schema, rule.column, value) for value in rule.values}
            return _create_value_check(rule.column, values.__contains__)
        case Reference():
            keys = frozenset(map(_unite_nan, read_keys(rule.table, rule.key)))
            return _create_value_check(rule.column, lambda value: _unite_nan(value) in keys)
        case MeetsCondition():
            test, codec = create_row_test(rule.condition), RecordCodec(schema)
            return lambda batch: [
                row for row, holds in enumerate(test(codec.decode(batch))) if not holds
            ]
    return None


def _create_range_check(rule: InRange, schema: Schema) -> _Check:
    low, high = (
        None if bound is None else _convert(schema, rule.column, bound)
        for bound in (rule.min, rule.max)
    )

    def holds(value: Any) -> bool:
        # NaN is neither above a minimum nor below a maximum.
        return (low is None or value >= low) and (high is None or value <= high)

    return _create_value_check(rule.column, holds)


def _create_value_check(column: str, holds: Callable[[Any], bool]) -> _Check:
    """Return a check of the values of a column, each once; null holds."""

    def check(batch: pa.RecordBatch) -> list[int]:
        coded = batch.column(column).dictionary_encode()
        wrong = [
            code
            for code, value in enumerate(coded.dictionary.to_pylist())
            if value is not None and not holds(value)
        ]
        if not wrong:
            return []
        codes = set(wrong)
        return [row for row, code in enumerate(coded.indices.to_pylist()) if code in codes]

    return check


class _Uniqueness:
    """Finds values that came before. It keeps all of them."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns: Final = columns
        self._seen: Final[set[Any]] = set()

    def check(self, batch: pa.RecordBatch) -> list[int]:
        found = []
        columns = [map(_unite_nan, batch.column(name).to_pylist()) for name in self._columns]
        for row, key in enumerate(zip(*columns, strict=True)):
            if None in key:
                continue
            if key in self._seen:
                found.append(row)
            self._seen.add(key)
        return found


def _unite_nan(value: Any) -> Any:
    """Return a value, the same object for each NaN: they are equal then, as they are for Spark."""
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def _convert(schema: Schema, column: str, value: Any) -> Any:
    field = schema.field(column)
    assert field is not None
    return to_column_value(field.schema, value)


def _list_true(mask: pa.BooleanArray) -> list[int]:
    import pyarrow.compute as pc

    found: list[int] = pc.indices_nonzero(mask).to_pylist()
    return found
