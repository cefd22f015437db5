"""The KVTable source and sink: tables with a key and a value column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import (
    BatchSink,
    BatchSource,
    EdgeKind,
    Field,
    LineageRecorder,
    PluginConfig,
    Schema,
    SinkContext,
    SourceContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.rules import check_not_view, check_table_key, check_table_name
from localcdap.plugin_lib.spark.checks import require_value
from localcdap.plugin_lib.spark.columns import get_column
from localcdap.plugin_lib.spark.lookups import KEY, VALUE, read_key_values

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TYPES: Final = (Schema.BYTES, Schema.STRING)
_RECORD: Final = Schema.record("keyValue", [(KEY, Schema.BYTES), (VALUE, Schema.BYTES)])
_NAME: Final = "Name of the table in this namespace"


@plugin(
    name="KVTable",
    description="Reads all keys and values of a key-value table, as they are when the run starts.",
)
class KeyValueSource(BatchSource):
    """Both fields are bytes; other types are converted to text. Rows without a key or value are skipped."""

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
        rows = read_key_values(context, self.config.name)
        rows = rows.where(get_column(KEY).isNotNull() & get_column(VALUE).isNotNull())
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
        schema = self._find_row_schema(context.input_schema)
        columns = [
            require_value(context, get_column(field_name), field_name, part.schema).alias(part.name)
            for part, (_, field_name) in zip(schema, self._list_properties(), strict=True)
        ]
        context.write_table(self.config.name, df.select(columns), schema, KEY)

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
