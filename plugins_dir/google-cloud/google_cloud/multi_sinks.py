"""Common parts of sinks that write records into several tables or folders, by a field's value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    PluginConfig,
    Schema,
    SchemaError,
    SinkContext,
    StageConfigurer,
    Type,
    field,
)
from localcdap.plugin_lib.spark.columns import get_column

from .bigquery.types import accepts, can_convert

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SPLIT: Final = "splitField"
_ARGUMENT: Final = "multisink."
_MOST: Final = 1000
"""The limit of destinations of which no argument tells."""


def flexible_field() -> Any:
    """Declare the property with which records of all tables are written, without arguments."""
    return field(
        "Whether all records are written with all of their fields, also those for which no argument "
        "'multisink.NAME' is set: on or off.",
        default="off",
        macro=True,
        name="allowFlexibleSchema",
    )


def check_split_field(stage: StageConfigurer, config: PluginConfig, name: str) -> None:
    """Check that the field that names the table or folder of a record is a string of the input."""
    schema = stage.input_schema
    if schema is None or config.contains_macro(SPLIT):
        return
    split = schema.field(name)
    if split is None or split.schema.non_nullable.type is not Type.STRING:
        problem = "does not exist in the input" if split is None else "is not a string"
        stage.failures.add(
            f"Field '{name}' {problem}.",
            f"Choose a string field; fields are: {', '.join(schema.field_names)}.",
        ).with_config_property(SPLIT)


def find_destinations(
    df: DataFrame, context: SinkContext, what: str, split: str, flexible: str = ""
) -> dict[str, Schema]:
    """Return the schema of each table or folder.

    Usually the run arguments ``multisink.NAME`` are these schemas, and records of other names are dropped. If
    the schema is flexible, every name in the records is a destination (google-cloud, ``io/cdap/plugin/
    gcp/gcs/sink/GCSMultiBatchSink.java``, ``io/cdap/plugin/gcp/bigquery/sink/BigQueryMultiSink.java``). CDAP
    then writes records as they are. Here the argument tells which fields a record of its table has.

    :param what: the word for a destination in messages: table or folder.
    :param split: the field that names the destination of a record.
    :param flexible: the value of the property.
    :raises StageError: when there is no destination, or an argument is not a schema or does not fit the
        records.
    """
    found = _parse_schema_arguments(context, what)
    if flexible.strip().lower() in ("on", "true"):
        return _find_flexible(df, context, what, split, found)
    if not found:
        raise context.fail(
            f"no argument names a {what}.",
            f"Set an argument 'multisink.{what.upper()}' to the schema of each {what}.",
        )
    return found


def _parse_schema_arguments(context: SinkContext, what: str) -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    for key, text in context.arguments.items():
        if not key.startswith(_ARGUMENT):
            continue
        name = key.removeprefix(_ARGUMENT)
        try:
            found[name] = Schema.parse_record(text)
        except SchemaError as error:
            raise context.fail(f"argument '{key}' is not a schema: {error.message}") from None
        for each in found[name]:
            given = context.input_schema.field(each.name)
            if given is None or not _fits(given.schema, each.schema):
                problem = "is missing" if given is None else f"is {given.schema.display_name}"
                raise context.fail(
                    f"field '{each.name}' of {what} '{name}' {problem} in the records.",
                    f"Change the argument '{key}', or the records.",
                )
    return found


def _fits(given: Schema, wanted: Schema) -> bool:
    """Return whether a field of the records can be written as the field of a table.

    A source of many tables gives a field as a text that has several types in them.
    """
    is_text = given.non_nullable.type is Type.STRING
    return accepts(wanted, given) or (is_text and can_convert(given, wanted))


def _find_flexible(
    df: DataFrame, context: SinkContext, what: str, split: str, known: dict[str, Schema]
) -> dict[str, Schema]:
    rows = df.select(get_column(split)).distinct().limit(_MOST + 1).collect()
    names = [row[0] for row in rows]
    if None in names or "" in names:
        raise context.fail(
            f"field '{split}', which names the {what} of a record, is empty in a record.",
            f"Fill the field, or drop such records before '{context.stage_name}'.",
        )
    if len(names) > _MOST:
        raise context.fail(
            f"field '{split}' has more than {_MOST:,} values, each of which would be a {what}.",
            "Choose another field.",
        )
    found = {}
    for name in sorted(names):
        own = known.get(name)
        if own is None:
            found[name] = context.input_schema
        else:
            fields = [(each.name, each.schema) for each in own if each.name != split]
            found[name] = Schema.record(name, [*fields, (split, Schema.STRING)])
    return found
