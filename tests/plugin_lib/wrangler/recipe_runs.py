"""Recipes run both ways: compiled to Spark, and directive by directive in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from localcdap.api.arrow import RecordCodec
from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema
from localcdap.engine.plan.spark_types import spark_schema
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure
from localcdap.plugin_lib.wrangler.recipe.builder import BuiltRecipe, load_recipe
from localcdap.plugin_lib.wrangler.recipe.compiler import find_blank_texts
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate, to_columns
from localcdap.plugin_lib.wrangler.recipe.spark_frame import ERROR, ERROR_TYPE, SparkFrame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NUMBER = "number__"
"""Column that distinguishes the rows."""


def load_valid_recipe(recipe: str) -> BuiltRecipe:
    steps = load_recipe(recipe)
    assert not steps.errors, [problem.text for problem in steps.errors]
    return steps


def run_in_python(recipe: str, records: Sequence[dict[str, Any]]) -> list[Any]:
    """For each record the list of rows that it becomes, or its :class:`RowFailure`."""
    directives = [step.directive for step in load_valid_recipe(recipe).steps]
    executor = RecipeExecutor([d for d in directives if d is not None], {})
    executor.start()
    return [executor.run(record) for record in records]


def list_blank_columns(recipe: str, schema: Schema) -> frozenset[str]:
    """The columns, in lower case, in which ``set-type`` may leave blank texts that Spark has as nulls."""
    found = propagate(load_valid_recipe(recipe).steps, to_columns(schema))
    made = found.after.record()
    blank = find_blank_texts(found.directives, [*found.before, found.after], made)
    assert not blank.reasons, "a recipe with such columns, which it reads, has no native form"
    return blank.columns[-1]


def compile_natively(
    df: DataFrame, recipe: str, schema: Schema, wanted: frozenset[str] | None = None
) -> SparkFrame:
    """The recipe on a DataFrame whose columns are ``c0``, ``c1`` … and then :data:`NUMBER`.

    :raises NoNativeFormError: when a directive has no native form here.
    """
    names = {name: f"c{index}" for index, name in enumerate(schema.field_names)}
    columns = Columns([(field.name, field.schema) for field in schema])
    columns.put(NUMBER, Schema.INT)
    frame = SparkFrame(df, columns, {**names, NUMBER: NUMBER})
    frame.wanted = wanted
    for step in load_valid_recipe(recipe).steps:
        assert step.directive is not None
        frame.directive = step.name
        step.directive.native(frame)
    return frame


def run_in_spark(
    spark: SparkSession,
    recipes: Sequence[str],
    schema: Schema,
    records: Sequence[dict[str, Any]],
    wanted: frozenset[str] | None = None,
) -> list[list[Any]]:
    """For each recipe what :func:`run_in_python` gives, computed natively; all recipes in one Spark job.

    Rows of one record come as they are; columns that are not there are missing from the rows.
    """

    df = _create_frame(spark, schema, records)
    made = [compile_natively(df, recipe, schema, wanted) for recipe in recipes]
    tables = _collect_tables([_select_structs(number, frame) for number, frame in enumerate(made)])
    return [
        _read_results(frame, table, len(records)) for frame, table in zip(made, tables, strict=True)
    ]


def _select_structs(number: int, frame: SparkFrame) -> DataFrame:
    """A recipe's rows as one column ``v``, with its number, that of the record, and the error."""
    from pyspark.sql import functions as f

    df = frame.to_dataframe()
    physical = [name for name in frame.physical if name != NUMBER]
    members = [f.col(name).alias(f"v{i}") for i, name in enumerate(physical)]
    error = f.col(ERROR) if ERROR in frame.carried else f.lit(None).cast(ERROR_TYPE)
    return df.select(
        f.lit(number).alias("recipe"),
        NUMBER,
        error.alias("error"),
        f.struct(*members, f.lit(None).cast("int").alias("end")).alias("v"),
    )


def _collect_tables(frames: Sequence[DataFrame]) -> list[Any]:
    """The rows of each DataFrame, computed in one job."""
    import pyarrow.compute as pc

    wide = None
    for number, frame in enumerate(frames):
        named = frame.withColumnRenamed("v", f"v{number}")
        wide = named if wide is None else wide.unionByName(named, allowMissingColumns=True)
    assert wide is not None
    table = wide.toArrow()
    return [
        table.filter(pc.equal(table.column("recipe"), number)).select(
            [NUMBER, "error", f"v{number}"]
        )
        for number in range(len(frames))
    ]


def _create_frame(
    spark: SparkSession, schema: Schema, records: Sequence[dict[str, Any]]
) -> DataFrame:
    import pyarrow as pa
    from pyspark.sql.types import IntegerType

    batch = RecordCodec(schema).encode(records)
    names = [f"c{index}" for index in range(len(schema.field_names))]
    numbered = [*batch.columns, pa.array(range(len(records)), pa.int32())]
    table = pa.Table.from_arrays(numbered, names=[*names, NUMBER])
    renamed = Schema.record("given", [(n, fd.schema) for n, fd in zip(names, schema, strict=True)])
    columns = spark_schema(renamed, nullable=True).add(NUMBER, IntegerType())
    return spark.createDataFrame(table, columns)


def _read_results(frame: SparkFrame, table: Any, count: int) -> list[Any]:
    """Rows by the number of their record, as Python has them."""
    columns = [(name, frame.columns.schema(name)) for name in frame.columns if name != NUMBER]
    schema = Schema.record("made", [(n, s.as_nullable) for n, s in columns if s is not None])
    rows = _decode_rows(schema, table.column(2).combine_chunks())
    found: list[Any] = [[] for _ in range(count)]
    errors = table.column("error").to_pylist()
    for row, number, error in zip(rows, table.column(NUMBER).to_pylist(), errors, strict=True):
        if error is not None:
            found[number] = RowFailure(**error)
        else:
            found[number].append(row)
    return found


def _decode_rows(schema: Schema, values: Any) -> list[dict[str, Any]]:
    import pyarrow as pa

    batch = pa.RecordBatch.from_arrays(values.flatten(), names=[*schema.field_names, "end"])
    return RecordCodec(schema).decode(batch)
