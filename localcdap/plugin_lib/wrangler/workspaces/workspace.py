"""An open workspace: a sample that its process keeps, and what the recipe makes of it.

The rows before and after a step side by side.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import Schema
from localcdap.api.arrow import to_arrow_schema
from localcdap.api.directive.rows import Columns, Row
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records, encode_json_record
from localcdap.expectations.batches import BatchChecker
from localcdap.expectations.rules import Expectation, Reference, RowCount
from localcdap.expectations.schema_checks import find_schema_problems
from localcdap.files.delimited import UnreadableRow
from localcdap.files.formats import FileFormat, FileInput
from localcdap.files.rows import Item, RowReader
from localcdap.plugin_lib.jexl.row_conditions import create_row_test, find_condition_problems
from localcdap.plugin_lib.wrangler.files.formats import detect_recipe_format, find_first_directive
from localcdap.plugin_lib.wrangler.recipe.builder import BuiltRecipe
from localcdap.plugin_lib.wrangler.recipe.input import make_widener, type_rows
from localcdap.plugin_lib.wrangler.recipe.output import OutputConverter
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate, to_columns
from localcdap.plugin_lib.wrangler.recipe.spark_frame import SENT
from localcdap.plugin_lib.wrangler.values.clusters import METHODS, find_clusters
from localcdap.plugin_lib.wrangler.workspaces.engine import MEMORY, WorkspaceEngine
from localcdap.plugin_lib.wrangler.workspaces.examples import Example, find_candidates
from localcdap.plugin_lib.wrangler.workspaces.facets import apply_facets, list_facet_kinds
from localcdap.plugin_lib.wrangler.workspaces.profiles import (
    choose_columns,
    describe_columns,
    format_shown_value,
    show_rows,
)
from localcdap.plugin_lib.wrangler.workspaces.tables import (
    MISSING,
    Column,
    ColumnTable,
    OpenTables,
    SampleTables,
    list_tables,
)
from localcdap.workspace_views import (
    MOST_FAILURES,
    CandidateList,
    ClusterView,
    ColumnMatch,
    FailureView,
    MatchList,
    RecipeProblem,
    RowChange,
    RuleCheck,
    SampleRecords,
    ValueCluster,
    ValueCount,
    ViewRequest,
    WorkspaceView,
)

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


_COLUMNS: Final = 100
"""The first columns of each side that are compared."""
_MOST: Final = 12


def find_matches(left: Mapping[str, Column], right: Mapping[str, Column]) -> list[ColumnMatch]:
    """Return the pairs of columns that share values, those of most rows first; of equal ones those of a name.

    Values are compared as the texts that cells show, so that 1 and '1' are equal.
    """
    ours = {name: _count(column) for name, column in list(left.items())[:_COLUMNS]}
    theirs = {name: _count(column) for name, column in list(right.items())[:_COLUMNS]}
    found = []
    for name, counts in ours.items():
        for other, others in theirs.items():
            rows = sum(counts[value] for value in counts.keys() & others.keys())
            if rows:
                is_unique = max(others.values()) == 1
                total = len(left[name].values)
                found.append(ColumnMatch(name, other, rows, total, is_unique))
    found.sort(key=lambda each: (-each.rows, not each.is_unique, each.left != each.right))
    return found[:_MOST]


def _count(column: Column) -> Counter[str]:
    texts = map(format_shown_value, column.values)
    return Counter(each for each in texts if each)


def compare_rows(
    before: ColumnTable, after: ColumnTable, request: ViewRequest
) -> tuple[list[list[str | None]], list[RowChange]]:
    """Return the rows after a step, with those that it dropped in their places, and what became of each.

    Rows of the same record of the sample belong together, in order. A dropped row has its values as far as
    the columns are there after the step. At most as many rows are returned as the request asks for.
    """
    names = list(after.columns)[choose_columns(request)]
    old = [before.columns.get(name) for name in names]
    new = [after.columns[name] for name in names]
    rows: list[list[str | None]] = []
    changes: list[RowChange] = []
    for left, right in _pair(before.origins, after.origins):
        if len(rows) >= request.limit:
            break
        if right is None:
            assert left is not None
            rows.append([None if c is None else format_shown_value(c.values[left]) for c in old])
            changes.append(RowChange("dropped"))
            continue
        rows.append([format_shown_value(c.values[right]) for c in new])
        changes.append(RowChange("new") if left is None else _compare(old, new, left, right))
    return rows, changes


def _pair(before: Sequence[int], after: Sequence[int]) -> Iterator[tuple[int | None, int | None]]:
    """Yield the indices of the rows that belong together; None where there is none."""
    old, new = _group(before), _group(after)
    for record in sorted(old.keys() | new.keys()):
        yield from zip_longest(old.get(record, ()), new.get(record, ()))


def _group(origins: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for index, record in enumerate(origins):
        found.setdefault(record, []).append(index)
    return found


def _compare(
    old: Sequence[Column | None], new: Sequence[Column], left: int, right: int
) -> RowChange:
    before: list[tuple[int, str | None]] = []
    for place, (one, other) in enumerate(zip(old, new, strict=True)):
        if one is None or one is other:
            continue
        was, now = one.values[left], other.values[right]
        if was is not now and (type(was) is not type(now) or was != now):
            before.append((place, format_shown_value(was)))
    return RowChange("changed" if before else "same", before)


_MOST_RECORDS: Final = 100_000
_MOST_CLUSTERS: Final = 200
_HEAD: Final = 1000
"""The first records of a large sample, whose rows are shown while the recipe runs on the others."""
_HEAD_MEMORY: Final = 32 * 2**20


class SampleSource(msgspec.Struct):
    """Where the records of a sample come from: a file, or records that the caller has."""

    file: FileInput | None = None
    schema: Schema | None = None
    records: list[Any] = []
    """As JSON, see :mod:`localcdap.api.record_json`."""
    total: int | None = None
    """Of how many records these are a sample; None when that is not known."""
    limit: int = 1000
    seed: int | None = None
    """Takes random records of the whole file; None takes the first ones."""
    description: str = ""
    """What the records are a sample of, such as ``1,000 of 2.4 M records``."""
    reading: dict[str, str] = {}
    """How the caller read the records, such as the format that it found."""
    unreadable: list[str] = []
    """Why records were left out."""


class Workspace:
    """An open workspace.

    :raises BadRequestError: when the source cannot be read.
    :raises StageError: when a file cannot be read.
    """

    def __init__(
        self, source: SampleSource, first: tuple[str, bool] | None = None, memory: int = MEMORY
    ) -> None:
        self._unreadable: list[str] = list(source.unreadable)
        self._description, self._reading = source.description, source.reading
        self._format: FileFormat | None = None
        self._total = source.total
        if source.file is not None:
            rows, columns = self._read_file(source, source.file, first)
        elif source.schema is not None:
            records = decode_json_records(source.schema, source.records, "records")
            rows = list(map(make_widener(source.schema), records))
            columns = to_columns(source.schema)
        else:
            raise BadRequestError("A sample needs a file, or records with their schema.")
        self._columns = columns
        self.tables: Final = SampleTables()
        self._engine = WorkspaceEngine(rows, columns, memory, self.tables)
        self._checked: ColumnTable | None = None
        self._checks: dict[Expectation, RuleCheck] = {}
        """What was found for rules on these rows."""
        self._head: WorkspaceEngine | None = None
        """The recipe on the first records, so that rows show soon; None when there are few records."""
        if len(rows) > 2 * _HEAD:
            self._head = WorkspaceEngine(rows[:_HEAD], columns, _HEAD_MEMORY, self.tables)

    def view(self, recipe: BuiltRecipe, request: ViewRequest) -> WorkspaceView:
        """Run what has changed of a recipe, and return a part of the rows."""
        engine, is_complete = self._engine, self._engine.run(recipe, request.seconds)
        is_head = not is_complete and self._head is not None
        if is_head and self._head is not None and self._head.run(recipe, request.seconds):
            engine = self._head
        view = WorkspaceView(
            is_complete=is_complete,
            share=self._engine.share,
            head_count=_HEAD if engine is self._head else None,
            has_rows=is_complete or engine is self._head or _has_run(engine, request.step),
            record_count=len(self._engine.sample),
            total_count=self._total,
            description=self._description,
            reading=self._reading,
            format=self._format,
            steps=engine.counts,
            problems=self._list_problems(recipe, engine),
            unreadable=self._unreadable,
        )
        if view.has_rows:
            self._show_table(view, engine, request)
        if is_complete and request.rules:
            view.checks = self._check_rules(request.rules)
        return view

    def use_arguments(self, arguments: Mapping[str, str]) -> None:
        """Give directives the arguments of a run, see :meth:`.engine.WorkspaceEngine.use_arguments`."""
        self._engine.use_arguments(arguments)
        if self._head is not None:
            self._head.use_arguments(arguments)

    def _run(self, recipe: BuiltRecipe) -> bool:
        """Run a recipe; return whether it ran, and has all tables that it names."""
        has_tables = self.tables.lookups.keys() >= set(list_tables(recipe))
        return has_tables and self._engine.run(recipe)

    def _check_rules(self, rules: Sequence[Expectation]) -> list[RuleCheck]:
        """Return what was found for rules, without checking again what was checked on the same rows."""
        table = self._engine.get_table()
        if self._checked is not table:
            self._checked, self._checks = table, {}
        fresh = [rule for rule in rules if rule not in self._checks]
        self._checks |= zip(
            fresh, check_rules(table, self._engine.find_schema(), fresh), strict=True
        )
        return [self._checks[rule] for rule in rules]

    def _show_table(
        self, view: WorkspaceView, engine: WorkspaceEngine, request: ViewRequest
    ) -> None:
        """Add the rows after the step to a view."""
        table = engine.get_table(request.step)
        view.schema = engine.find_schema(request.step)
        view.column_count, view.row_count = len(table.columns), len(table)
        view.columns = describe_columns(table, view.schema, request)
        facets = apply_facets(table, request.facets)
        view.facets = facets.views
        view.kept_count = None if facets.rows is None else len(facets.rows)
        view.facet_kinds = {
            each.name: list_facet_kinds(table.columns[each.name])
            for each in view.columns
            if each.profile is not None
        }
        view.failures = self._show_failures(engine)
        profiles = request.profiles
        if any(
            each.profile is None
            for each in view.columns
            if profiles is None or each.name in profiles
        ):
            view.is_complete = False
        if request.compares and request.step:
            before = engine.get_table(request.step - 1)
            view.rows, view.changes = compare_rows(before, table, request)
        else:
            view.rows = show_rows(table, request, facets.rows)

    def _list_problems(self, recipe: BuiltRecipe, engine: WorkspaceEngine) -> list[RecipeProblem]:
        problems = list(recipe.problems)
        if not recipe.errors:
            problems += propagate(recipe.steps, self._columns).problems
        if engine.stopped is not None:
            number, message = engine.stopped
            call = recipe.known_steps[number].call
            advice = "Change the directive, or switch it off; the rows before it are shown."
            problems.append(
                RecipeProblem(message, call.line, call.column, corrective_action=advice)
            )
        return problems

    def find_by_example(
        self, recipe: BuiltRecipe, column: str, examples: Sequence[Example]
    ) -> CandidateList:
        """Return directives that make the wanted texts of a column after a recipe.

        :raises BadRequestError: when there is no such column.
        """
        if not self._run(recipe):
            return CandidateList(is_complete=False)
        return find_candidates(column, self._require_column(column), examples)

    def _require_column(self, name: str) -> Column:
        found = self._engine.get_table().columns.get(name)
        if found is None:
            raise BadRequestError(f"The rows have no column '{name}'.", "Choose another one.")
        return found

    def make_columns(self, recipe: BuiltRecipe) -> dict[str, Column] | None:
        """Return the columns of the rows after a recipe; None while it takes longer."""
        return self._engine.get_table().columns if self._run(recipe) else None

    def export_records(self, recipe: BuiltRecipe, limit: int) -> SampleRecords:
        """Return the first records, and the rows that a recipe makes of them."""
        if not self._run(recipe):
            return SampleRecords(is_complete=False)
        found = SampleRecords(
            schema=self._engine.find_schema(0), made_schema=self._engine.find_schema()
        )
        for schema, records, step in (
            (found.schema, found.records, 0),
            (found.made_schema, found.made, None),
        ):
            table = self._engine.get_table(step)
            if schema is not None:
                convert = OutputConverter(schema).convert
                for index, origin in enumerate(table.origins):
                    if origin < limit:
                        row = Row(
                            (name, column.values[index])
                            for name, column in table.columns.items()
                            if column.values[index] is not MISSING
                        )
                        records.append(encode_json_record(convert(row)))
        return found

    def cluster(self, recipe: BuiltRecipe, column: str, method: str) -> list[ValueCluster] | None:
        """Return the clusters of the texts of a column after a recipe; None while the recipe takes longer.

        :raises BadRequestError: when there is no such column, or no such method.
        """
        if method not in METHODS:
            raise BadRequestError(
                f"The method '{method}' is unknown.", f"Choose one of: {', '.join(METHODS)}."
            )
        if not self._run(recipe):
            return None
        found = self._require_column(column)
        counts = Counter(each for each in found.values if isinstance(each, str))
        return [
            ValueCluster([ValueCount(value, counts[value]) for value in cluster])
            for cluster in find_clusters(counts, method)[:_MOST_CLUSTERS]
        ]

    def _read_file(
        self, source: SampleSource, file: FileInput, first: tuple[str, bool] | None
    ) -> tuple[list[dict[str, Any]], Columns]:
        limit = min(source.limit, _MOST_RECORDS)
        format = detect_recipe_format(file, first)
        reader = RowReader(file, format)
        self._unreadable += reader.warnings
        rows: list[dict[str, Any]] = []
        count = 0
        chance = None if source.seed is None else random.Random(source.seed)  # noqa: S311
        for item in reader:
            if isinstance(item, UnreadableRow):
                self._unreadable.append(item.message)
                continue
            count += 1
            if len(rows) < limit:
                rows.append(item)
            elif chance is None:
                break
            elif (place := chance.randrange(count)) < limit:
                rows[place] = item  # reservoir sampling: each record has the same chance
        else:
            self._total = count
        reader.close()
        self._format = reader.format
        schema, items = reader.schema, list[Item](map(make_widener(reader.schema), rows))
        if schema is None:
            schema, items = type_rows(rows)
        self._unreadable += [each.message for each in items if isinstance(each, UnreadableRow)]
        readable = [each for each in items if not isinstance(each, UnreadableRow)]
        return readable, to_columns(schema) if schema is not None else Columns(open=True)

    def _show_failures(self, engine: WorkspaceEngine) -> list[FailureView]:
        columns = engine.sample.columns
        return [
            FailureView(
                step,
                each.record + 1,
                each.failure.message,
                each.failure.kind == SENT,
                {name: format_shown_value(c.values[each.record]) for name, c in columns.items()},
            )
            for step, each in itertools.islice(engine.failures, MOST_FAILURES)
        ]


def _has_run(engine: WorkspaceEngine, step: int | None) -> bool:
    return step is not None and step <= len(engine.counts)


_workspaces: Final[dict[str, Workspace]] = {}
"""The workspaces of this process, by the names that callers chose."""
_MOST_OPEN: Final = 4


def open_workspace(
    name: str, source: SampleSource, recipe: BuiltRecipe, memory: int = MEMORY
) -> None:
    """Open a workspace, also one that is open. The one that was opened first is closed beyond some.

    :param memory: bytes that its kept steps may take.
    """
    _workspaces.pop(name, None)
    _workspaces[name] = Workspace(source, find_first_directive(recipe), memory)
    while len(_workspaces) > _MOST_OPEN:
        del _workspaces[next(iter(_workspaces))]


def view_workspace(
    name: str,
    recipe: BuiltRecipe,
    request: ViewRequest,
    open_tables: OpenTables = lambda _: (),
    arguments: Mapping[str, str] = MappingProxyType({}),
) -> WorkspaceView:
    """Return a part of the rows of a workspace, which may not be open any more.

    :param open_tables: gives the tables for lookups, which the workspace keeps.
    :param arguments: those of a run, which it keeps, too.
    """
    workspace = _workspaces.get(name)
    if workspace is None:
        return WorkspaceView(is_open=False)
    workspace.tables.open(recipe, open_tables)
    workspace.use_arguments(arguments)
    return workspace.view(recipe, request)


def cluster_values(name: str, recipe: BuiltRecipe, column: str, method: str) -> ClusterView:
    """Return the clusters of the values of a column of a workspace, which may not be open any more."""
    workspace = _workspaces.get(name)
    if workspace is None:
        return ClusterView(is_open=False)
    found = workspace.cluster(recipe, column, method)
    return ClusterView(is_complete=False) if found is None else ClusterView(clusters=found)


def find_by_example(
    name: str, recipe: BuiltRecipe, column: str, examples: Sequence[Example]
) -> CandidateList:
    """Return directives by example, for a workspace that may not be open any more."""
    workspace = _workspaces.get(name)
    if workspace is None:
        return CandidateList(is_open=False)
    return workspace.find_by_example(recipe, column, examples)


def export_records(name: str, recipe: BuiltRecipe, limit: int) -> SampleRecords:
    """Return records with the rows made of them, for a workspace that may not be open any more."""
    workspace = _workspaces.get(name)
    if workspace is None:
        return SampleRecords(is_open=False)
    return workspace.export_records(recipe, limit)


def match_columns(
    name: str, recipe: BuiltRecipe, other: str, other_recipe: BuiltRecipe
) -> MatchList:
    """Return the columns of two workspaces that have equal values; they may not be open any more."""
    left, right = _workspaces.get(name), _workspaces.get(other)
    if left is None or right is None:
        return MatchList(is_open=False)
    ours, theirs = left.make_columns(recipe), right.make_columns(other_recipe)
    if ours is None or theirs is None:
        return MatchList(is_complete=False)
    return MatchList(matches=find_matches(ours, theirs))
