"""The sources and sinks Table and KVTable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import (
    AlteredRows,
    BatchSink,
    BatchSource,
    EdgeKind,
    Field,
    LineageRecorder,
    PluginConfig,
    Schema,
    SinkContext,
    SinkSampleContext,
    SourceContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.rules import (
    check_names,
    check_not_view,
    check_simple_fields,
    check_subset,
    check_table_key,
    check_table_name,
)
from localcdap.plugin_lib.sink_samples import are_certain
from localcdap.plugin_lib.spark.columns import get_column, require_value, write_record
from localcdap.plugin_lib.spark.conversion import conform_columns
from localcdap.plugin_lib.spark.lookups import KEY, VALUE, read_key_values

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame


_KEY = "schema.row.field"


@plugin(
    name="Table",
    description="Writes each record as a row of a table; a row with the same key is replaced.",
)
class TableSink(BatchSink):
    class Config(PluginConfig, macros=True):
        name: str = field(
            "Name of the table in this namespace; it is created if it does not exist."
        )
        schema: Schema | None = field(
            "Columns of the table: fields of the input, of simple types. By default, all fields of the "
            "input.",
            default=None,
        )
        row_field: str = field(
            "Field that is the key of a row. Of several records with the same key, the last is kept.",
            name=_KEY,
            form="{input-field}",
        )
        is_case_sensitive: bool = field(
            "Whether the key is written as the field; otherwise the field may have another case (CDAP 3).",
            default=True,
            name="case.sensitive.row.field",
        )

        def find_key(self, schema: Schema) -> str:
            """Return the name of the key field; as it is written, if no field has it."""
            if self.is_case_sensitive:
                return self.row_field
            wanted = self.row_field.lower()
            return next((n for n in schema.field_names if n.lower() == wanted), self.row_field)

    config: Config

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if not self.config.contains_macro("name"):
            lineage.datasets.append(self.config.name)

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_table_name(stage, config)
        if config.contains_macro("schema"):
            return
        schema = config.schema or stage.input_schema
        if schema is None:
            return
        check_simple_fields(stage, schema, is_input=stage.input_schema is not None)
        check_names(stage, schema)
        if stage.input_schema is not None:
            check_subset(stage, stage.input_schema, schema)
        if config.row_field is not None and not config.contains_macro(_KEY):
            self._check_key(stage, schema, config.find_key(schema))
            if not stage.failures and not config.contains_macro("name"):
                self._declare_table(stage, schema, config.find_key(schema))

    def _declare_table(self, stage: StageConfigurer, schema: Schema, key: str) -> None:
        properties = {"schema": str(_require_key(schema, key)), _KEY: key}
        stage.create_dataset(self.config.name, "table", properties, config_property="name")

    def configure_connected(self, stage: StageConfigurer) -> None:
        config = self.config
        if not config.contains_macro("name"):
            check_not_view(stage, config.name, "name")
        if not config.contains_macro("name") and not config.contains_macro(_KEY):
            schema = config.schema or stage.input_schema
            key = config.row_field if schema is None else config.find_key(schema)
            check_table_key(stage, config.name, key)

    def _check_key(self, stage: StageConfigurer, schema: Schema, key: str) -> None:
        """Apply the rules of CDAP 6 ``TableSink``."""
        if schema.field(key) is None:
            stage.failures.add(
                "Output schema should contain the rowkey column.",
                f"'{key}' is not a field; use one of {', '.join(schema.field_names)}.",
            ).with_config_property(_KEY)
        elif len(schema.field_names) == 1:
            stage.failures.add(
                "Output schema should have columns other than rowkey.",
                f"Add a field other than '{key}'.",
            ).with_config_property(_KEY)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        schema = self.config.schema or context.input_schema
        key = self.config.find_key(schema)
        columns = [
            _require_column(context, each.name, each.schema, is_key=each.name == key)
            for each in _require_key(schema, key)
        ]
        context.write_table(self.config.name, df.select(columns), _require_key(schema, key), key)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        self.write(df, context)

    def accepts(self, batch: pa.RecordBatch, context: SinkSampleContext) -> bool:
        schema = self.config.schema or context.input_schema
        key = self.config.find_key(schema)
        if schema.field(key) is None:
            return False
        return are_certain(batch, context.input_schema, _require_key(schema, key))


def _require_key(schema: Schema, key: str) -> Schema:
    """Return the columns of the table: the key of a row must not be null, even if the schema is nullable."""
    return Schema.record(
        schema.name or "row",
        [(f.name, f.schema.non_nullable if f.name == key else f.schema) for f in schema],
    )


def _require_column(context: SinkContext, name: str, schema: Schema, *, is_key: bool) -> Column:
    """Return a field; a null that the table does not allow fails the run, with its record."""
    why = "the key of a row must not be null" if is_key else "its schema does not allow null"
    value = require_value(context, get_column(name), name, schema, record=write_record(), why=why)
    return value.alias(name)


_SOURCES = ("schema", "name")
"""The properties that decide on the schema."""


@plugin(
    name="Table",
    description="Reads all rows of a table of this namespace, as they are when the run starts.",
)
class TableSource(BatchSource):
    class Config(PluginConfig, macros=True):
        name: str = field("Name of the table. It must exist; 'localcdap tables' lists all tables.")
        schema: Schema | None = field(
            "Schema of the records: columns of the table, of simple types. Other columns are not read; "
            "a field that the table lacks is null. Without a schema, all columns of simple types are read.",
            default=None,
        )
        row_field: str | None = field(
            "Field with the key of the row. It must be in the schema and must not be nullable.",
            default=None,
            name="schema.row.field",
            form="{output-field}",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_table_name(stage, config)
        schema = stage.output_schema = config.schema
        if schema is not None:
            check_simple_fields(stage, schema)
            self._check_key(stage, schema)

    def configure_connected(self, stage: StageConfigurer) -> None:
        if stage.output_schema is not None or any(map(self.config.contains_macro, _SOURCES)):
            return
        table = stage.find_table(self.config.name)
        if table is None:
            stage.failures.add(
                f"Schema must be specified, because there is no table '{self.config.name}'.",
                "Set it to the columns to read, or create the table.",
            ).with_config_property("schema")
            return
        fields = [each for each in table.schema if each.schema.is_simple]
        stage.output_schema = Schema.record(table.schema.name or self.config.name, fields)
        self._check_key(stage, stage.output_schema)

    def _check_key(self, stage: StageConfigurer, schema: Schema) -> None:
        key = self.config.row_field
        if key is not None:
            found = schema.field(key)
            if found is None:
                stage.failures.add(
                    f"Row field '{key}' must exist in the schema.",
                    f"Use one of {', '.join(schema.field_names)}.",
                ).with_config_property("schema.row.field")
            elif found.schema.is_nullable:
                stage.failures.add(
                    f"Row field '{key}' must not allow null.", "Change its type in the schema."
                ).with_config_property("schema.row.field").with_output_field(key)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if not self.config.contains_macro("name"):
            lineage.datasets.append(self.config.name)

    def read(self, context: SourceContext) -> DataFrame:
        schema = context.output_schema
        assert schema is not None
        rows = context.read_table(self.config.name)
        return rows.select(conform_columns(context, rows, schema))


_TYPES: Final = (Schema.BYTES, Schema.STRING)
_RECORD: Final = Schema.record("keyValue", [(KEY, Schema.BYTES), (VALUE, Schema.BYTES)])
_NAME: Final = "Name of the table in this namespace"
_LEFT_OUT: Final = "a row without a key or a value was left out"
_DELETED: Final = "a value is null, so that its key has none any more, as in CDAP"


@plugin(
    name="KVTable",
    description="Reads all keys and values of a key-value table, as they are when the run starts.",
)
class KeyValueSource(BatchSource):
    """Both fields are bytes; other types are converted to text. Rows without a key or value are left out, and
    counted: a key-value table of CDAP has none.
    """

    class Config(PluginConfig):
        name: str = field(
            f"{_NAME}. It has the columns 'key' and 'value', or two columns of which the first is the key.",
            macro=True,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        check_table_name(stage, self.config)
        stage.output_schema = _RECORD

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if not self.config.contains_macro("name"):
            lineage.datasets.append(self.config.name)

    def read(self, context: SourceContext) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        rows = read_key_values(context, self.config.name)
        key = get_column(KEY).cast("string")
        lacks = get_column(KEY).isNull() | get_column(VALUE).isNull()
        first = F.when(lacks, F.concat(F.lit("key "), F.coalesce(key, F.lit("null"))))
        rows = context.observe_altered(rows, AlteredRows(_LEFT_OUT, first)).where(~lacks)
        return rows.select([_to_bytes(rows, name).alias(name) for name in (KEY, VALUE)])


def _to_bytes(rows: DataFrame, name: str) -> Column:
    value = get_column(name)
    return value if dict(rows.dtypes)[name] == "binary" else value.cast("string").cast("binary")


@plugin(
    name="KVTable",
    description="Writes a key and a value of each record into a key-value table; existing keys are replaced.",
)
class KeyValueSink(BatchSink):
    """Strings are stored as strings, so that SQL can read them."""

    class Config(PluginConfig, macros=True):
        name: str = field(
            f"{_NAME}. It is created with the columns 'key' and 'value' if it does not exist."
        )
        key_field: str = field(
            "Field that is the key, bytes or string. Of several records with the same key, the last is kept.",
            default=KEY,
            name="key.field",
            form="{input-field}",
        )
        value_field: str = field(
            "Field that is the value, bytes or string.",
            default=VALUE,
            name="value.field",
            form="{input-field}",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        check_table_name(stage, self.config)
        if stage.input_schema is None:
            return
        for name, field_name in self._list_properties():
            if not self.config.contains_macro(name):
                _check_field(stage, stage.input_schema, name, field_name)
        names = ("name", *(name for name, _ in self._list_properties()))
        if not stage.failures and not any(map(self.config.contains_macro, names)):
            rows = str(self._find_row_schema(stage.input_schema))
            stage.create_dataset(
                self.config.name, "keyValueTable", {"schema": rows}, config_property="name"
            )

    def configure_connected(self, stage: StageConfigurer) -> None:
        if not self.config.contains_macro("name"):
            check_not_view(stage, self.config.name, "name")
            check_table_key(stage, self.config.name, KEY)

    def _find_row_schema(self, records: Schema) -> Schema:
        parts = []
        for name, (_, field_name) in zip((KEY, VALUE), self._list_properties(), strict=True):
            found = records.field(field_name)
            assert found is not None  # validated in configure
            # As in the original, a value may be null: its key then counts as missing.
            parts.append(Field(name, found.schema if name == VALUE else found.schema.non_nullable))
        return Schema.record(_RECORD.name or "", parts)

    def _list_properties(self) -> list[tuple[str, str]]:
        return [("key.field", self.config.key_field), ("value.field", self.config.value_field)]

    def write(self, df: DataFrame, context: SinkContext) -> None:
        from pyspark.sql import functions as F  # noqa: N812

        schema = self._find_row_schema(context.input_schema)
        columns = [
            _require_column(context, field_name, part.schema, is_key=part.name == KEY).alias(
                part.name
            )
            for part, (_, field_name) in zip(schema, self._list_properties(), strict=True)
        ]
        pairs = df.select(columns)
        if any(part.name == VALUE and part.schema.is_nullable for part in schema):
            # The table of the original deletes what is written as null (``KeyValueTable.write``).
            key = F.concat(F.lit("key "), get_column(KEY).cast("string"))
            deleted = AlteredRows(_DELETED, F.when(get_column(VALUE).isNull(), key))
            pairs = context.observe_altered(pairs, deleted)
        context.write_table(self.config.name, pairs, schema, KEY)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if not self.config.contains_macro("name"):
            lineage.datasets.append(self.config.name)
        for name, (_, field_name) in zip((KEY, VALUE), self._list_properties(), strict=True):
            lineage.keep(name, field_name)
        lineage.influence(EdgeKind.GROUP_BY, [self.config.key_field])

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        self.write(df, context)


def _check_field(stage: StageConfigurer, schema: Schema, name: str, field_name: str) -> None:
    found = schema.field(field_name)
    if found is None:
        stage.failures.add(
            f"Field '{field_name}' must exist in the input schema.",
            f"Set '{name}' to one of {', '.join(schema.field_names)}.",
        ).with_config_property(name)
    elif found.schema.non_nullable not in _TYPES:
        stage.failures.add(
            f"Field '{field_name}' is of unexpected type '{found.schema.display_name}'.",
            "It must be of type 'bytes' or 'string'.",
        ).with_config_property(name).with_input_field(field_name)
