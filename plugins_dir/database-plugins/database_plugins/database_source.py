"""The Database source."""

from __future__ import annotations

import itertools
import re
from decimal import Decimal
from functools import reduce
from math import floor
from typing import TYPE_CHECKING, ClassVar, Final

from localcdap.api import (
    AlteredRows,
    BatchSource,
    ProgramFailureError,
    Schema,
    SchemaContext,
    SourceContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name
from localcdap.api.sql_names import quote_column
from localcdap.java.numbers import is_number
from localcdap.plugin_lib.spark.columns import get_column, to_spark_type
from localcdap.plugin_lib.spark.conversion import conform_columns

from .column_types import (
    COMMON,
    ColumnTypes,
    UnsupportedTypeError,
    is_bit_field,
    is_rounded,
    is_rounded_from_text,
    round_texts,
    to_field_schema,
    to_table_schema,
)
from .exact_times import list_local_columns, list_text_columns, parse_times
from .jdbc import (
    DatabaseConfig,
    JdbcConfig,
    call_database,
    check_isolation,
    explain_database_error,
    get_database_kind,
    make_reader,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField, StructType

Number = int | float | Decimal
CONDITIONS: Final = "$CONDITIONS"
_MAX_SPLITS: Final = 8
"""The limit of parallel queries; more would only load the database."""
_NAMES_COLUMNS: Final = ("oracle", "mysql", "mariadb", "sqlite")
"""Databases that name the column of MIN(x) themselves."""
_READ_AS: Final = {
    ("decimal", "string"),
    ("array", "string"),
    ("timestamp", "string"),
    ("date", "int"),
}
_CONVERTED_BY_SPARK: Final = ("tinyint", "smallint", "timestamp", "timestamp_ntz")
_CASES: Final = ("No change", "Upper", "Lower")


class DatabaseSourceConfig(JdbcConfig, macros=True, rename="camel"):
    """The properties of sources of databases."""

    reference_name: str | None = field(
        "Name of this source in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        default=None,
        macro=False,
    )
    query: str = field(
        "SELECT statement whose rows are read. '$CONDITIONS' in it stands for the condition of each split.",
        name="importQuery",
        syntax="sql",
    )
    query_type: str = field(
        "Query type; only nativeQuery is supported.",
        default="nativeQuery",
        choices=("nativeQuery",),
        name="importQueryType",
        group="more",
        addition="Exports of later versions have it, with this value.",
    )
    schema: Schema | None = field(
        "Schema of the records: columns of the query. Other columns are dropped; a field that the query "
        "lacks is null. By default the schema is that of the query, which is found when a run begins.",
        default=None,
    )
    splits: int = field(
        f"Number of splits that are read in parallel, at most {_MAX_SPLITS}. More than one require "
        "'splitBy' and 'boundingQuery'.",
        default=1,
        name="numSplits",
        group="reading in parts",
    )
    split_by: str | None = field(
        "Numeric column that splits the rows; with a column of another type, there is one split.",
        default=None,
        group="reading in parts",
    )
    bounding_query: str | None = field(
        "Query of the smallest and the largest value of the column: SELECT MIN(id), MAX(id) FROM t.",
        default=None,
        syntax="sql",
        group="reading in parts",
    )
    fetch_size: int = field(
        "Number of rows that the driver fetches at once.", default=1000, group="more"
    )
    name_case: str = field(
        "Case of the field names.",
        default=_CASES[0],
        choices=_CASES,
        name="columnNameCase",
        group="more",
    )
    pattern: str | None = field(
        "Regular expression of the parts of column names that are replaced.",
        default=None,
        name="patternToReplace",
        group="more",
    )
    replacement: str = field(
        "Replacement of these parts.", default="", name="replaceWith", group="more"
    )
    isolation: str = field(
        "Isolation level; without effect, because reading uses the database's default.",
        default="TRANSACTION_SERIALIZABLE",
        name="transactionIsolationLevel",
        group="more",
    )


class DatabaseSourceBase(BatchSource):
    """Reads the rows of a query with Spark's JDBC reader."""

    column_types: ClassVar[ColumnTypes] = COMMON
    config: DatabaseSourceConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        config.check(stage)
        check_isolation(stage, config, config.isolation)
        self._check_splits(stage)
        try:
            re.compile(config.pattern or "")
        except re.error as error:
            stage.failures.add(
                f"Invalid regular expression '{config.pattern}': {error}.",
                "Write a valid regular expression that matches parts of column names.",
            ).with_config_property("patternToReplace")
        stage.output_schema = config.schema
        if config.schema is None and not config.contains_macro("schema"):
            stage.warnings.add(
                "The schema is not known before a run, so that the stages after this one are not checked "
                "against it.",
                "Set it to the columns of the query.",
            ).with_config_property("schema")

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_driver(stage)

    def _check_splits(self, stage: StageConfigurer) -> None:
        """Apply the rules of CDAP 6 ``DBSource``."""
        config = self.config
        if config.contains_macro("numSplits"):
            return
        if config.splits < 1:
            stage.failures.add(
                f"Invalid value for Number of Splits '{config.splits}'.", "Must be at least 1."
            ).with_config_property("numSplits")
        if config.splits <= 1:
            return
        query = config.query
        if query and not config.contains_macro("importQuery") and CONDITIONS not in query:
            stage.failures.add(
                f"Import Query must contain the string '{CONDITIONS}' if Number of Splits is not 1.",
                f"Write 'WHERE {CONDITIONS}' into it.",
            ).with_config_property("importQuery")
        for name, title, value in (
            ("splitBy", "Split-By Field Name", config.split_by),
            ("boundingQuery", "Bounding Query", config.bounding_query),
        ):
            if not value and not config.contains_macro(name):
                stage.failures.add(
                    f"{title} must be specified if Number of Splits is not set to 1.",
                    f"Set '{name}', or 'numSplits' to 1.",
                ).with_config_property(name)

    def find_schema(self, context: SchemaContext) -> Schema:
        """Return the columns of the query (hydrator-plugins,
        ``io/cdap/plugin/db/batch/source/DBSource.java``, which does so when a pipeline is deployed).
        """
        options = self.config.build_options(context)
        asked = options | {"query": strip_semicolon(self.config.query).replace(CONDITIONS, "1 = 1")}
        columns = call_database(
            context, options["url"], lambda: make_reader(context, asked).load().schema
        )
        try:
            table = to_table_schema(columns, "outputSchema", self.column_types)
        except UnsupportedTypeError as error:
            advice = "Set the schema, where a string takes many types, or cast it in the query."
            raise context.fail(str(error), advice) from None
        fields = [(self._to_field_name(column.name), column.schema) for column in table]
        return Schema.record("outputSchema", fields)

    def get_error_details(self, error: BaseException) -> ProgramFailureError | None:
        return explain_database_error(error)

    def read(self, context: SourceContext) -> DataFrame:
        config, schema = self.config, context.output_schema
        assert schema is not None
        options = config.build_options(context) | {"fetchsize": str(config.fetch_size)}
        query = strip_semicolon(config.query)

        def read_part(condition: str) -> DataFrame:
            asked = options | {"query": query.replace(CONDITIONS, condition)}
            columns = call_database(
                context, options["url"], lambda: make_reader(context, asked).load().schema
            )
            self._check_columns(context, columns, schema)
            kind = get_database_kind(options["url"])
            texts = self._list_exact_times(columns, schema, kind)
            local = list_local_columns(columns, kind)
            if others := self._build_custom_schema(columns, schema, texts, local):
                asked["customSchema"] = others
            parsed, changes = parse_times(context, texts, options)
            rounded, more = self._round_columns(context, columns, schema)
            rows = context.observe_altered(make_reader(context, asked).load(), *changes, *more)
            columns_read = parsed | rounded
            return rows.withColumns(columns_read) if columns_read else rows

        parts = [read_part(condition) for condition in self._build_conditions(context, options)]
        rows = reduce(lambda one, other: one.union(other), parts)
        named = rows.toDF(*[self._to_field_name(name) for name in rows.columns])
        return named.select(conform_columns(context, named, schema))

    def _build_conditions(self, context: SourceContext, options: dict[str, str]) -> list[str]:
        """Return the condition of each split."""
        config = self.config
        if config.splits > 1 and config.split_by and config.bounding_query:
            query = strip_semicolon(config.bounding_query).replace(CONDITIONS, "1 = 1")
            # Many databases require names for the columns of a subquery; others reject names there.
            is_named = get_database_kind(options["url"]) in _NAMES_COLUMNS
            table = f"({query}) bounds" if is_named else f"({query}) bounds (bound_1, bound_2)"
            asked = options | {"dbtable": table}
            (bounds,) = call_database(
                context, options["url"], lambda: make_reader(context, asked).load().collect()
            )
            if len(bounds) == 2 and all(is_number(bound) for bound in bounds):
                parts = min(config.splits, _MAX_SPLITS)
                return split_conditions(config.split_by, bounds[0], bounds[1], parts)
        return ["1 = 1"]

    def _check_columns(self, context: SourceContext, columns: StructType, schema: Schema) -> None:
        """:raises StageError: when a column with a field cannot be read."""
        for column in filter(is_bit_field, columns):
            if schema.field(self._to_field_name(column.name)) is not None:
                raise context.fail(
                    f"column '{column.name}' has several bits, which no field has.",
                    f"Select it as a number: {column.name} + 0 AS {column.name}.",
                )

    def _list_exact_times(
        self, columns: StructType, schema: Schema, kind: str
    ) -> list[StructField]:
        """Return the columns of dates and times that are fields of such types."""
        return [
            column
            for column in list_text_columns(columns, kind)
            if (each := schema.field(self._to_field_name(column.name))) is not None
            and each.schema.non_nullable.logical_type is not None
        ]

    def _build_custom_schema(
        self,
        columns: StructType,
        schema: Schema,
        texts: list[StructField],
        local: list[StructField],
    ) -> str:
        """Return the columns that Spark reads as another type than its default, as DDL.

        The driver converts them to the types of their fields (``DBRecord.setFieldAccordingToSchema``).

        :param columns: with Spark's default types.
        :param texts: those that are read as texts.
        :param local: those that are read as instants.
        """
        types = []
        for column in columns:
            field = schema.field(self._to_field_name(column.name))
            if field is None:
                continue
            actual, target = column.dataType.simpleString(), to_spark_type(field.schema)
            is_long = is_rounded(column, field.schema, self.column_types)
            if column in texts or (is_long and is_rounded_from_text(column)):
                types.append(f"{quote_column(column.name)} string")
                continue
            if column in local and target in ("timestamp", "timestamp_ntz"):
                types.append(f"{quote_column(column.name)} timestamp")
            elif self._is_read_as(column, actual, target):
                types.append(f"{quote_column(column.name)} {target}")
        return ", ".join(types)

    def _is_read_as(self, column: StructField, actual: str, target: str) -> bool:
        """Return whether the driver converts a column of one of Spark's types to another."""
        base = re.split(r"[(<]", actual)[0]
        if actual == target or (base, target) in _READ_AS:
            return actual != target
        if base in _CONVERTED_BY_SPARK:
            return False
        try:
            return to_spark_type(to_field_schema(column, self.column_types)) == target
        except UnsupportedTypeError:
            return False

    def _round_columns(
        self, context: SourceContext, columns: StructType, schema: Schema
    ) -> tuple[dict[str, Column], list[AlteredRows]]:
        """Return columns by name, with numbers rounded half to even to the decimals of their fields, and what
        that alters.
        """
        from pyspark.sql import functions as F  # noqa: N812

        results, changes = {}, []
        for column in columns:
            field = schema.field(self._to_field_name(column.name))
            if field is None or not is_rounded(column, field.schema, self.column_types):
                continue
            value, scale = get_column(column.name), field.schema.non_nullable.scale or 0
            if is_rounded_from_text(column):
                rounded = round_texts(context, value, field.name, field.schema)
                is_altered = value.rlike(rf"\.[0-9]{{{scale}}}[0-9]*[1-9]")
            else:
                rounded = F.bround(value, scale)
                is_altered = rounded != value
            if context.needed_fields is None or field.name in context.needed_fields:
                change = f"a decimal of field '{field.name}' was rounded half to even"
                changes.append(AlteredRows(change, F.when(is_altered, value.cast("string"))))
            results[column.name] = rounded
        return results, changes

    def _to_field_name(self, column: str) -> str:
        config = self.config
        name = column
        if config.pattern:
            name = re.sub(config.pattern, lambda _: config.replacement, name)
        match config.name_case:
            case "Upper":
                return name.upper()
            case "Lower":
                return name.lower()
        return name


@plugin(
    name="Database",
    description="Reads the rows of a query from a database, with a JDBC driver that you supply.",
)
class DatabaseSource(DatabaseSourceBase):
    """Timestamps without a time zone are read as UTC."""

    class Config(DatabaseSourceConfig, DatabaseConfig, macros=True):
        """Any database, with properties of CDAP 3.2."""

        count_query: str | None = field(
            "Query of the number of rows; without effect, because 'numSplits' splits the rows.",
            default=None,
            name="countQuery",
            group="more",
        )
        table: str | None = field(
            "Table that the query reads; without effect.",
            default=None,
            name="tableName",
            group="more",
        )


def split_conditions(column: str, least: Number, greatest: Number, parts: int) -> list[str]:
    """Return SQL conditions of which each row satisfies exactly one; null satisfies the first one.

    :param parts: the largest number of conditions; there are fewer if the bounds contain fewer integers.

    >>> split_conditions("id", 1, 10, 2)
    ['(id < 6 OR id IS NULL)', '(id >= 6)']
    """
    width = Decimal(greatest) - Decimal(least)
    ends = sorted({floor(Decimal(least) + width * i / parts) + 1 for i in range(1, parts)})
    if width <= 0 or not ends:
        return ["1 = 1"]
    first = f"({column} < {ends[0]} OR {column} IS NULL)"
    middle = [
        f"({column} >= {low} AND {column} < {high})" for low, high in itertools.pairwise(ends)
    ]
    return [first, *middle, f"({column} >= {ends[-1]})"]


def strip_semicolon(query: str) -> str:
    """Return a query without the semicolon at its end."""
    return query.strip().rstrip(";").rstrip()
