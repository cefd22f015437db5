"""Expectations in the plan of a run: they are counted where the records of their stage pass in Spark.

One observation counts all rules of a stream, without a job of its own. Rules of uniqueness compare records
with each other. On this machine the tasks write hashes of the values into files, in which this process finds
equal ones, see :mod:`localcdap.engine.plan.expectations`. On a cluster, whose workers do not see the run's
directory, the stream is computed once, kept, and one aggregate counts all of its rules of this kind. Where
such a rule sends records to error, a window numbers the records with the same values instead.

Hashes of values that tasks have written, among which the run's own process finds equal ones.

Each task writes the hashes of its records into a file of its own, whose name is known when it has ended, see
:func:`localcdap.engine.plan.rule_columns.write_hash`: what a task wrote that failed does not count. A
hash has 128 bits: among a billion different values two with the same hash have a chance below one in 10^20.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.api.sql_names import quote_column
from localcdap.engine.messages.flow import SINKS, Flow, Stage, Stream
from localcdap.engine.plan.contexts import DriverContext, RunContext
from localcdap.engine.plan.error_attribution import stage_scope
from localcdap.engine.plan.record_counter import ROWS, count_rows
from localcdap.engine.plan.rule_columns import add_rule_column, write_hash
from localcdap.engine.plan.spark_types import (
    get_column,
    make_addressable,
    spark_schema,
    spark_type,
)
from localcdap.engine.spark_internals import create_observation
from localcdap.engine.tasks.error_records import create_error_pass, list_texts
from localcdap.engine.tasks.pass_plan import ERROR_FIELDS, error_record_schema
from localcdap.expectations.results import RuleResult, create_result
from localcdap.expectations.rules import (
    Expectation,
    MeetsCondition,
    Reference,
    RuleAction,
    Unique,
    explain_violation,
)
from localcdap.expectations.schema_checks import (
    get_column_type,
    has_diverting_rule,
    is_same_type,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from pyspark.sql import Column, DataFrame


_BYTES: Final = 16
"""Of a hash: two numbers of 64 bits."""
_MOST_AT_ONCE: Final = 4_000_000
"""Hashes that are compared at the same time; of more, one part after the other."""


def count_repeated(directory: Path, names: Iterable[str], count: int) -> int:
    """Return how many hashes are equal to another one; of equal ones all but one. The files are removed.

    :param names: the files of the tasks that count.
    :param count: the number of the hashes that they have written.
    :raises OSError: when a file is not there.
    :raises ValueError: when the files have another number of hashes.
    """
    files = [directory / name for name in names]
    size = sum(path.stat().st_size for path in files)
    if size != count * _BYTES:
        raise ValueError(f"the hashes in {directory} have {size} bytes instead of {count * _BYTES}")
    arrays = [_read(path) for path in files]
    parts = -(-count // _MOST_AT_ONCE)
    repeated = sum(_count_part(arrays, parts, part) for part in range(parts))
    for path in files:
        path.unlink(missing_ok=True)
    return repeated


def _read(path: Path) -> npt.NDArray[np.uint64]:
    import numpy as np

    found: npt.NDArray[np.uint64] = np.memmap(path, np.uint64, "r").reshape(-1, 2)
    return found


def _count_part(arrays: Sequence[npt.NDArray[np.uint64]], parts: int, part: int) -> int:
    """Return how many hashes are repeated among those of which the first half belongs to a part.

    Mostly no first half is equal to another one, which a sort of the first halves alone shows soonest.
    """
    import numpy as np

    def select(hashes: npt.NDArray[np.uint64]) -> Any:
        return hashes if parts == 1 else hashes[hashes[:, 0] % np.uint64(parts) == part]

    hashes = np.concatenate([select(each) for each in arrays])
    firsts = np.sort(hashes[:, 0])
    repeated = np.unique(firsts[1:][firsts[1:] == firsts[:-1]])
    if not len(repeated):
        return 0
    candidates = hashes[np.isin(hashes[:, 0], repeated)]
    return len(candidates) - len(np.unique(candidates, axis=0))


_REMOVED: Final = "__expectation_removed"
"""The number, from 1, of the rule for which a record is taken out."""
_HASHED: Final = "hashed"
"""The number of the hashes of a rule, whose index follows."""


def list_rule_columns(stage: Stage, available: Sequence[str]) -> list[str]:
    """Return the columns that the rules of a stage may read."""
    rules = stage.expectations
    if any(isinstance(rule, MeetsCondition) for rule in rules):
        return list(available)
    return [name for rule in rules for name in rule.columns]


@dataclasses.dataclass
class _CheckedStage:
    """A stage whose rules are counted."""

    stage: Stage
    observation: Any
    hashed: list[int] = dataclasses.field(default_factory=list)
    """The indexes of the rules of uniqueness of which tasks write hashes."""
    unique_rules: list[tuple[int, Unique]] = dataclasses.field(default_factory=list)
    """The rules of uniqueness that an aggregate of the records counts, with their index."""
    frame: DataFrame | None = None
    """The records, if there are such rules."""
    found: dict[int, int] = dataclasses.field(default_factory=dict)
    """The violations of :attr:`unique_rules`, by the index of the rule."""


class ExpectationPlan:
    """The expectations of the stages of one plan.

    :param prefix: of the names of observations.
    :param persist: has a DataFrame computed once while the plan is executed.
    """

    def __init__(
        self,
        flow: Flow,
        run: RunContext,
        prefix: str,
        persist: Callable[[DataFrame], DataFrame],
    ) -> None:
        self._flow: Final = flow
        self._run: Final = run
        self._prefix: Final = "localcdap_rules_" + re.sub(r"\W", "_", prefix)
        self._persist: Final = persist
        self._checked: Final[list[_CheckedStage]] = []
        self._violating: Final[dict[str, DataFrame]] = {}
        """The error records of violations, by stage."""

    def check_stream(self, stream: Stream, frame: DataFrame) -> tuple[DataFrame, bool]:
        """Check the records that leave a stage; add those that are taken out to the stage's error records.

        :returns: the records, and whether they may be others than before.
        """
        stage = self._flow.get_stage(stream.stage)
        if not stage.expectations or stream.port is not None:
            return frame, False
        if stream.errors:
            more = self._violating.get(stage.name)
            return (
                (frame, False) if more is None else (self._unite_errors(stage, frame, more), True)
            )
        checked = self.check(stage, stage.get_schema(stream), frame)
        return checked, has_diverting_rule(stage.expectations)

    def check(self, stage: Stage, schema: Schema, frame: DataFrame) -> DataFrame:
        """Count the violations among the records of a stage; return those that stay.

        :param schema: of the records, in the order of the columns.
        :raises StageError: when a rule cannot be checked.
        """
        from pyspark.sql import functions as f

        compared = [
            (index, rule)
            for index, rule in enumerate(stage.expectations)
            if isinstance(rule, Unique) and rule.action is not RuleAction.ERROR
        ]
        directory = self._run.message_directory
        hashed, later = ([], compared) if directory is None else (compared, [])
        given = frame
        counts = [f.count(f.lit(1)).alias(ROWS)]
        counts += [
            column
            for index, unique in hashed
            for column in _hash_values(index, unique, str(directory))
        ]
        removing: list[tuple[int, Column]] = []
        for index, rule in enumerate(stage.expectations):
            removes = rule.action is RuleAction.ERROR
            if rule.is_of_values or removes:
                frame, violates = self._add_rule(stage, schema, frame, index, rule)
                counts.append(count_rows(violates).alias(str(index)))
                if removes:
                    removing.append((index, violates))
        if removing:
            frame = frame.withColumn(_REMOVED, _number_first(removing))
            counts.append(f.count(_REMOVED).alias(_REMOVED))
        observation = create_observation(f"{self._prefix}_{len(self._checked)}")
        checked = _CheckedStage(stage, observation, [index for index, _ in hashed])
        self._checked.append(checked)
        is_wider = frame is not given
        frame = frame.observe(observation, *counts)
        wants_errors = bool(self._flow.list_readers(Stream(stage.name, errors=True)))
        if later or (removing and wants_errors):
            frame = self._persist(frame)
        if later:
            checked.unique_rules = later
            checked.frame = frame
        if removing and wants_errors:
            self._violating[stage.name] = self._divert(stage, schema, frame)
        if removing:
            frame = frame.where(f.col(_REMOVED).isNull())
        return frame.select(*map(quote_column, schema.field_names)) if is_wider else frame

    def find_row_count(self, stream: Stream) -> Any | None:
        """Return the observation that counts all records of a stream as :data:`ROWS`; None without one."""
        if stream.errors or stream.port is not None:
            return None
        for checked in self._checked:
            if checked.stage.name == stream.stage:
                diverts = has_diverting_rule(checked.stage.expectations)
                return None if diverts else checked.observation
        return None

    def compute_uniqueness(self) -> None:
        """Count what only an aggregate can, before the sinks are written; the records are kept for these."""
        for checked in self._checked:
            if checked.frame is not None:
                with stage_scope(checked.stage.name):
                    checked.found = _count_all_repeated(checked.frame, checked.unique_rules)

    def get_results(self) -> list[RuleResult]:
        """Return the results of all rules in the order of the pipeline; waits for the observations."""
        results: list[RuleResult] = []
        for checked in sorted(self._checked, key=lambda c: self._flow.stages.index(c.stage)):
            observed = checked.observation.get
            rows = int(observed[ROWS] or 0)
            for index, rule in enumerate(checked.stage.expectations):
                if index in checked.hashed:
                    files, count = observed.get(str(index)), observed.get(f"{_HASHED}{index}")
                    number = self._count_hashes(checked.stage.name, files or (), int(count or 0))
                else:
                    number = checked.found.get(index, int(observed.get(str(index)) or 0))
                results.append(create_result(checked.stage.name, rule, rows, number))
        return results

    def _count_hashes(self, stage: str, files: Iterable[str], count: int) -> int:
        assert self._run.message_directory is not None
        try:
            return count_repeated(Path(self._run.message_directory), files, count)
        except (OSError, ValueError) as error:
            raise StageError(
                f"The repeated values cannot be counted: {error}",
                "Check the folder of the instance, and run the pipeline again.",
                stage=stage,
            ) from error

    def count_diverted(self) -> dict[str, int]:
        """Return the number of records that were sent to error, by stage; waits for the observations."""
        return {
            checked.stage.name: int(checked.observation.get.get(_REMOVED) or 0)
            for checked in self._checked
        }

    def _add_rule(
        self, stage: Stage, schema: Schema, frame: DataFrame, index: int, rule: Expectation
    ) -> tuple[DataFrame, Column]:
        def read_keys(reference: Reference, name: str) -> DataFrame:
            type = get_column_type(schema, reference.column)
            return _read_keys(DriverContext(stage, self._run), reference, type, name)

        directory = self._run.message_directory
        return add_rule_column(frame, index, rule, schema, read_keys, directory)

    def _divert(self, stage: Stage, schema: Schema, frame: DataFrame) -> DataFrame:
        """Return the records that are taken out as error records of the stage."""
        from pyspark.sql import functions as f

        wanted = stage.get_schema(Stream(stage.name, errors=True))
        number = f.col(_REMOVED)
        diverted = frame.where(number.isNotNull())
        if list_texts(schema, wanted):
            values = map(quote_column, schema.field_names)
            rows = make_addressable(
                diverted.select(*values, number), [*schema.field_names, _REMOVED]
            )
            return self._run_error_pass(stage, schema, rows, diverts=True)
        record = f.struct(*_select_fields(get_column, schema, wanted))
        messages = f.array(*(f.lit(explain_violation(rule)) for rule in stage.expectations))
        parts = (record, number, f.element_at(messages, number), f.lit(stage.name))
        named = [part.alias(name) for name, part in zip(ERROR_FIELDS, parts, strict=True)]
        return diverted.select(*named)

    def _unite_errors(self, stage: Stage, own: DataFrame, more: DataFrame) -> DataFrame:
        """Return the plugin's own error records, in the schema of all, and those of violations."""
        from pyspark.sql import functions as f

        given, wanted = stage.own_error_schema, stage.get_schema(Stream(stage.name, errors=True))
        assert given is not None
        if list_texts(given, wanted):
            own = self._run_error_pass(stage, given, own, diverts=False)
        elif given.field_names != wanted.field_names or not all(
            is_same_type(one.schema, other.schema) for one, other in zip(given, wanted, strict=True)
        ):
            record = f.col(ERROR_FIELDS[0])
            values = _select_fields(record.getField, given, wanted)
            whole = f.when(record.isNotNull(), f.struct(*values)).alias(ERROR_FIELDS[0])
            own = own.select(whole, *ERROR_FIELDS[1:])
        return own.union(more)

    def _run_error_pass(
        self, stage: Stage, given: Schema, frame: DataFrame, *, diverts: bool
    ) -> DataFrame:
        wanted = error_record_schema(stage.get_schema(Stream(stage.name, errors=True)))
        run = create_error_pass(stage, given, self._run.message_directory, diverts=diverts)
        found: DataFrame = frame.mapInArrow(run, spark_schema(wanted, nullable=True))
        return found


def _select_fields(get: Callable[[str], Column], given: Schema, wanted: Schema) -> Iterator[Column]:
    """Yield the fields of an error record: widened, and null where the record has no such field."""
    from pyspark.sql import functions as f

    for field in wanted:
        value = f.lit(None) if given.field(field.name) is None else get(field.name)
        yield value.cast(spark_type(field.schema, nullable=True)).alias(field.name)


def explain_failures(results: Iterable[RuleResult]) -> StageError | None:
    """Return the error of a run whose results make it fail; None when it does not fail."""
    failed = [result for result in results if result.is_failure]
    if not failed:
        return None
    lines = []
    for each in failed:
        if each.rows is not None:
            lines.append(f"Stage '{each.stage}': expected {each.label}, found {each.rows:,}.")
            continue
        allowed = f"; {each.allowed_percent:g} % may" if each.allowed_percent else ""
        lines.append(
            f"Stage '{each.stage}': expected that {each.label}; {each.violations:,} of {each.checked:,} "
            f"records ({each.share:.3g} %) violate it{allowed}."
        )
    return StageError(
        "\n".join(lines),
        "Correct the data, or let the rule allow it. Nothing was written.",
        stage=failed[0].stage,
    )


def add_rule_columns(stage: Stage, read: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the fields that a stage reads of each input stage, with those that the rules of a sink read."""
    if stage.type not in SINKS or not stage.expectations:
        return read
    found = {}
    for source, names in read.items():
        available = stage.input_schemas[source].field_names
        needed = {*names, *list_rule_columns(stage, available)}
        found[source] = [name for name in available if name in needed]
    return found


def _read_keys(context: DriverContext, rule: Reference, type: Schema, name: str) -> DataFrame:
    """Return the values of the column of a table that a rule names, each once.

    :raises StageError: when there is no such table or column, or it has values of another type.
    """
    from pyspark.sql import functions as f

    shape = context.find_table(rule.table)
    field = None if shape is None else shape.schema.field(rule.key)
    if shape is not None and field is None:
        raise context.fail(
            f"table '{rule.table}' of the expectation '{rule.label}' has no column '{rule.key}'.",
            f"Its columns are: {', '.join(shape.schema.field_names)}.",
        )
    rows = context.read_table(rule.table)
    if field is not None and spark_type(field.schema) != spark_type(type):
        raise context.fail(
            f"'{rule.label}': column '{rule.column}' is {type.display_name}, but '{rule.key}' of the table "
            f"is {field.schema.non_nullable.display_name}.",
            "Convert the column before, or name another key.",
        )
    key = f.col(quote_column(rule.key)).alias(name)
    return rows.select(key).where(f.col(name).isNotNull()).distinct()


def _number_first(removing: list[tuple[int, Column]]) -> Column:
    """Return the number, from 1, of the first rule that a record violates; null for none."""
    from pyspark.sql import functions as f

    (index, first), *more = removing
    number = f.when(first, f.lit(index + 1))
    for index, violates in more:
        number = number.when(violates, f.lit(index + 1))
    return number


def _hash_values(index: int, rule: Unique, directory: str) -> list[Column]:
    """Have tasks write the hashes of the values of a rule; return their files and how many they are."""
    from pyspark.sql import functions as f

    columns = [f.col(quote_column(name)) for name in rule.columns]
    is_compared = reduce(lambda one, other: one & other, (c.isNotNull() for c in columns))
    first = f.when(is_compared, f.xxhash64(*columns))
    files = f.collect_list(write_hash(directory, first, f.xxhash64(f.lit(1), *columns)))
    return [files.alias(str(index)), count_rows(is_compared).alias(f"{_HASHED}{index}")]


def _count_all_repeated(frame: DataFrame, rules: list[tuple[int, Unique]]) -> dict[int, int]:
    """Return how many records violate each rule of uniqueness, by the index of the rule.

    Where all hashes of the values differ, the values do. Only if some are equal, the values are compared,
    which takes longer.
    """
    found: dict[int, int] = {}
    for hashed in (True, False):
        if rules:
            columns = [_count_repeated(index, rule, hashed=hashed) for index, rule in rules]
            (row,) = frame.agg(*columns).toArrow().to_pylist()
            found |= {int(name): number or 0 for name, number in row.items()}
            rules = [(index, rule) for index, rule in rules if found[index]]
    return found


def _count_repeated(index: int, rule: Unique, *, hashed: bool) -> Column:
    """Return how many records have the values of another one in some columns; of equal ones all but one.

    :param hashed: whether only the hashes of the values are compared.
    """
    from pyspark.sql import functions as f

    columns = [f.col(quote_column(name)) for name in rule.columns]
    is_compared = reduce(lambda one, other: one & other, (c.isNotNull() for c in columns))
    if hashed:
        key = f.when(is_compared, f.xxhash64(*columns))
        return (f.count(key) - f.count_distinct(key)).alias(str(index))
    return (count_rows(is_compared) - f.count_distinct(*columns)).alias(str(index))
