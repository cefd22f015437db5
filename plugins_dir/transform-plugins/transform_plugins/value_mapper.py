"""The ValueMapper transform: replaces values by their entries in lookup tables."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from localcdap.api import (
    LineageRecorder,
    PluginConfig,
    Schema,
    SparkContext,
    StageConfigurer,
    Transform,
    field,
    plugin,
)
from localcdap.plugin_lib.spark.columns import get_column
from localcdap.plugin_lib.spark.lookups import KEY, VALUE, list_key_values, read_key_values

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_DEFAULTS: Final = (
    "Write 'field:value', separated by commas, as in lang_code:English,country_code:Britain."
)
_MAPPINGS: Final = (
    "Write 'field:table:new field', separated by commas, as in "
    "lang_code:languages:language,country_code:countries:country."
)


class ValueMapping(NamedTuple):
    """The lookup table and the output field of an input field."""

    text: str
    """The text of the mapping in the property."""
    field: str
    table: str
    target: str
    default: str | None


@plugin(
    name="ValueMapper",
    description="Replaces the values of fields by their entries in lookup tables of this namespace.",
)
class ValueMapper(Transform):
    """Applies the rules of CDAP 6 ``ValueMapper``.

    A value without an entry, or with an empty entry, becomes the default, or null. Null and empty text are
    not looked up; without a default they stay unchanged.
    """

    one_to_one = True

    class Config(PluginConfig):
        mapping: list[str] = field(
            "Fields and their lookup tables, as 'field:table:new field'. The new field replaces the string "
            "field. The table has the columns 'key' and 'value', or two columns of which the first is the "
            "key.",
            form="{input-field}:{table}:{new-field},",
        )
        defaults: list[str] = field(
            "Defaults of values without an entry, as 'field:value'.",
            default=[],
            form="{input-field}:{default},",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        defaults = self._parse_defaults(stage)
        mappings = self._parse_mappings(stage, defaults)
        given = stage.input_schema
        if given is None or len(stage.failures):
            return
        for name, text in defaults.items():
            if name not in mappings:
                stage.failures.add(
                    f"Defaults key '{name}' must be present as a source in mapping.",
                    "Add it to 'mapping', or remove its default.",
                ).with_config_property("defaults", element=text)
        for each in mappings.values():
            _check_mapping(stage, given, each)
        names = Counter(
            mappings[name].target if name in mappings else name for name in given.field_names
        )
        for name in sorted(name for name, count in names.items() if count > 1):
            stage.failures.add(
                f"Several fields would have the name '{name}'.", "Choose another new field."
            ).with_config_property("mapping")
        if not len(stage.failures):
            stage.output_schema = _build_output_schema(given, mappings)

    def configure_connected(self, stage: StageConfigurer) -> None:
        mappings = self._parse_mappings(StageConfigurer(stage.name, {}), {})
        for each in mappings.values():
            if stage.find_table(each.table) is None:
                stage.failures.add(
                    f"There is no table '{each.table}' to look values up in.",
                    "Write it first; 'localcdap tables' lists all tables.",
                ).with_config_property("mapping", element=each.text)

    def _parse_defaults(self, stage: StageConfigurer) -> dict[str, str]:
        """Return the element of 'defaults' of each field."""
        found = {}
        for text in self.config.defaults:
            name, separator, value = text.partition(":")
            if not separator or not value or ":" in value:
                stage.failures.add(f"Invalid default: {text}.", _DEFAULTS).with_config_property(
                    "defaults", element=text
                )
            else:
                found[name] = text
        return found

    def _parse_mappings(
        self, stage: StageConfigurer, defaults: dict[str, str]
    ) -> dict[str, ValueMapping]:
        found = {}
        for text in self.config.mapping or []:
            parts = text.split(":")
            if len(parts) != 3 or not all(parts):
                stage.failures.add(f"Invalid mapping: {text}.", _MAPPINGS).with_config_property(
                    "mapping", element=text
                )
                continue
            name, table, target = parts
            default = defaults[name].partition(":")[2] if name in defaults else None
            found[name] = ValueMapping(text, name, table, target, default)
        return found

    def record_lineage(self, lineage: LineageRecorder) -> None:
        stage = StageConfigurer(lineage.stage.name, {})
        for each in self._parse_mappings(stage, {}).values():
            lineage.derive(
                each.target, [each.field], f"mapValueOf{each.field}", f"Looked up in {each.table}."
            )
            key, *values = list_key_values(lineage.find_table(each.table).schema.field_names)
            lineage.look_up(each.target, each.table, values, key)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        stage = StageConfigurer(context.stage_name, context.input_schemas)
        mappings = self._parse_mappings(stage, self._parse_defaults(stage))
        taken = {name.lower() for name in df.columns}
        columns = []
        for name in df.columns:
            each = mappings.get(name)
            if each is None:
                columns.append(get_column(name))
                continue
            key, looked_up = _find_free_name("key", taken), _find_free_name("value", taken)
            df = _join_entries(df, context, each, key, looked_up)
            columns.append(
                _build_value(get_column(name), get_column(looked_up), each.default).alias(
                    each.target
                )
            )
        return df.select(*columns)


def _check_mapping(stage: StageConfigurer, given: Schema, mapping: ValueMapping) -> None:
    found = given.field(mapping.field)
    if found is None:
        stage.failures.add(
            f"Map key '{mapping.field}' must be present in the input schema.",
            f"Use one of {', '.join(given.field_names)}.",
        ).with_config_property("mapping", element=mapping.text)
    elif found.schema.non_nullable != Schema.STRING:
        stage.failures.add(
            f"Invalid input field type '{found.schema.display_name}' for mapped field '{mapping.field}'.",
            "Only input fields of type string can be mapped.",
        ).with_config_property("mapping", element=mapping.text).with_input_field(mapping.field)


def _build_output_schema(given: Schema, mappings: dict[str, ValueMapping]) -> Schema:
    fields = []
    for each in given:
        mapping = mappings.get(each.name)
        if mapping is None:
            fields.append((each.name, each.schema))
        else:
            kind = Schema.STRING if mapping.default is not None else Schema.STRING.as_nullable
            fields.append((mapping.target, kind))
    return Schema.record(f"{given.name}.formatted", fields)


def _find_free_name(name: str, taken: set[str]) -> str:
    """Return a name that no column has, and reserve it."""
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def _join_entries(
    df: DataFrame, context: SparkContext, mapping: ValueMapping, key: str, value: str
) -> DataFrame:
    """Join the entries of the table as two columns with these names."""
    entries = read_key_values(context, mapping.table).select(
        get_column(KEY).cast("string").alias(key), get_column(VALUE).cast("string").alias(value)
    )
    return df.join(
        entries.dropDuplicates([key]), get_column(mapping.field) == get_column(key), "left"
    )


def _build_value(given: Column, found: Column, default: str | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    otherwise = F.lit(default).cast("string")
    unasked = F.coalesce(otherwise, given)
    return F.when(F.coalesce(given, F.lit("")) == "", unasked).otherwise(
        F.when(found != "", found).otherwise(otherwise)
    )
