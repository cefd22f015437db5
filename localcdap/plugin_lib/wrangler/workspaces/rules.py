"""Rules for the rows after a recipe, checked on the sample of a workspace."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from localcdap.api import Schema
from localcdap.api.arrow import to_arrow_schema
from localcdap.api.errors import BadRequestError
from localcdap.expectations.batches import BatchChecker
from localcdap.expectations.rules import Expectation, Reference, RowCount
from localcdap.expectations.schema_checks import find_schema_problems
from localcdap.plugin_lib.jexl.row_conditions import create_row_test, find_condition_problems
from localcdap.plugin_lib.wrangler.workspaces.tables import ColumnTable
from localcdap.workspace_views import RuleCheck

if TYPE_CHECKING:
    import pyarrow as pa


def check_rules(
    table: ColumnTable, schema: Schema | None, rules: Sequence[Expectation]
) -> list[RuleCheck]:
    """Return what was found for each rule.

    :param schema: of the rows; None without columns.
    """
    shown = None
    if schema is not None:
        shown = Schema.record("row", [(each.name, each.schema.as_nullable) for each in schema])
    return [_check_rule(table, shown, rule) for rule in rules]


def _check_rule(table: ColumnTable, schema: Schema | None, rule: Expectation) -> RuleCheck:
    if isinstance(rule, RowCount):
        return RuleCheck(problem="a run counts the rows")
    if isinstance(rule, Reference):
        return RuleCheck(problem="a run reads the table")
    if schema is None:
        return RuleCheck(problem="the rows have no columns")
    problems = find_schema_problems(rule, schema, find_condition_problems)
    if problems:
        return RuleCheck(problem=f"{problems[0].message} {problems[0].action}")
    checker = BatchChecker("", [rule], schema, create_row_test, _read_no_keys)
    try:
        checker.check(_make_batch(table, schema))
    except Exception as error:  # values that do not fit their type, as of rows with mixed types
        return RuleCheck(problem=f"the values do not fit the types of their columns: {error}")
    (result,) = checker.get_results()
    return RuleCheck(result.violations, result.checked)


def _make_batch(table: ColumnTable, schema: Schema) -> pa.RecordBatch:
    import pyarrow as pa

    wanted = to_arrow_schema(schema)
    arrays = [table.columns[field.name].array for field in wanted]
    cast = [
        array if array.type.equals(field.type) else array.cast(field.type)
        for array, field in zip(arrays, wanted, strict=True)
    ]
    return pa.RecordBatch.from_arrays(cast, schema=wanted)


def _read_no_keys(table: str, key: str) -> Collection[Any]:
    raise BadRequestError(f"The column '{key}' of the table '{table}' is read in pipelines only.")
