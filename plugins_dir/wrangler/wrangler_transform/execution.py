"""Wrangler in a run: its recipe compiled to Spark, its errors sent where the on-error mode says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import Schema, SparkContext
from localcdap.plugin_lib.wrangler.recipe.building import (
    Builder,
    Source,
    built,
    precondition_call,
    registry_with,
)
from localcdap.plugin_lib.wrangler.recipe.compiler import Compiled, Job, compile_recipe
from localcdap.plugin_lib.wrangler.recipe.propagation import columns_of, propagate
from localcdap.plugin_lib.wrangler.recipe.spark_frame import ERROR, FAILURE, INPUT
from localcdap.plugin_lib.wrangler.recipe.steps import Step

from .config import DEFAULT_MODE, FAIL, SEND, WranglerConfig
from .configuration import ALL, RECORD, given_schema, steps_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Execution:
    """The stage in one run."""

    def __init__(self, config: WranglerConfig, context: SparkContext) -> None:
        self._config = config
        self._context = context
        self._mode = config.on_error or context.arguments.get(DEFAULT_MODE) or FAIL

    def run(self, df: DataFrame) -> DataFrame:
        from pyspark.sql import functions as f

        declared = self._context.output_schema
        assert declared is not None
        source = self._source()
        if self._config.is_sql:
            df = df.where(f.expr(self._config.precondition_sql or "true"))
        given = given_schema(self._config.input_field, self._context.input_schema)
        assert given is not None
        compiled = compile_recipe(
            self._taken(df), self._job(source, given, declared), self._context.in_batches
        )
        self._explain(compiled)
        return self._without_errors(compiled, declared)

    def _source(self) -> Source:
        config = self._config
        calls = []
        precondition = (config.precondition or "").strip()
        # Exports have 'false' where nobody asked for a condition.
        if precondition not in ("", "false") and not config.is_sql:
            calls.append(precondition_call(precondition))
        steps = steps_of(config.directives, config.udd, self._context.find_plugin)
        loaded = [load.name for load in steps.recipe.loads]
        return Source(calls + [step.call for step in steps.steps], loaded)

    def _taken(self, df: DataFrame) -> DataFrame:
        """The columns that rows have, and the whole record where error records are wanted."""
        from pyspark.sql import functions as f

        names = self._context.input_schema.field_names
        field = self._config.input_field
        if field == RECORD:
            taken = [f.struct(*(_column(name).alias(name) for name in names)).alias(RECORD)]
        else:
            taken = [_column(name) for name in (names if field == ALL else [field])]
        if self._context.wants_errors:
            members = [_column(name).alias(f"f{i}") for i, name in enumerate(names)]
            taken.append(f.struct(*members).alias(INPUT))
        return df.select(*taken)

    def _job(self, source: Source, given: Schema, declared: Schema) -> Job:
        find = self._context.find_plugin
        registry = registry_with(source.loaded, find)
        directives = [built(call, registry) for call in source.calls]
        steps = [
            Step(call, directive) for call, directive in zip(source.calls, directives, strict=True)
        ]
        tables = dict.fromkeys(name for each in directives for name in each.tables())
        lookups = {name: self._context.lookup(name) for name in tables}
        found = propagate(steps, columns_of(given, {n: t.shape for n, t in lookups.items()}.get))
        return Job(
            directives=directives,
            sources=[call.source for call in source.calls],
            columns=[*found.before, found.after],
            given=given,
            declared=declared,
            build=lambda first, last: Builder(source, find, first, last),
            arguments=self._context.arguments,
            lookups=lookups,
            input=self._context.input_schema if self._context.wants_errors else None,
        )

    def _explain(self, compiled: Compiled) -> None:
        for placed in compiled.placed:
            why = "" if placed.is_native else f"  ({placed.reason})"
            self._context.explain(
                f"{'native' if placed.is_native else 'batch '}  {placed.source}{why}"
            )

    def _without_errors(self, compiled: Compiled, declared: Schema) -> DataFrame:
        """The records, in the columns of the output schema; the others told, sent or left out."""
        from pyspark.sql import functions as f

        df = compiled.frame
        names = [_column(name) for name in declared.field_names]
        if ERROR not in compiled.carried:
            return df.select(*names)
        error = f.col(ERROR)
        is_failure = f.coalesce(error["kind"] == FAILURE, f.lit(False))
        if self._mode not in (FAIL, SEND):
            df = df.where(~is_failure)
        message = error["message"]
        if self._mode == FAIL:
            # Not a filter of its own: Spark might drop the rows that fail the run before it.
            fails = is_failure if self._context.wants_errors else error.isNotNull()
            raised = self._context.raising(self._told(is_failure, message))
            message = f.when(fails, raised.cast("string")).otherwise(message)
        record = self._record() if self._context.wants_errors else f.lit(None)
        made = self._context.without_errors(df, code=error["code"], message=message, record=record)
        return made.select(*names)

    def _told(self, is_failure: Column, message: Column) -> Column:
        """Why a row fails the run, in the words of the original."""
        from pyspark.sql import functions as f

        told = f"Stage:{self._context.stage_name} - Failing pipeline due to error : "
        sent = f"{told}Errors in Wrangler Transformation - "
        return f.concat(f.when(is_failure, f.lit(told)).otherwise(f.lit(sent)), message)

    def _record(self) -> Column:
        """The input record, with the names of its fields."""
        from pyspark.sql import functions as f

        names = self._context.input_schema.field_names
        members = [f.col(INPUT)[f"f{i}"].alias(name) for i, name in enumerate(names)]
        return f.struct(*members)


def _column(name: str) -> Column:
    """A column of any name."""
    from pyspark.sql import functions as f

    return f.col("`" + name.replace("`", "``") + "`")
