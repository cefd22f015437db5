"""The local tables with the names of BigQuery's: names and schemas."""

from __future__ import annotations

import re
from typing import Final

from localcdap.api import FailureBuilder, Field, PluginConfig, Schema, StageConfigurer, Type

from .types import accepts, can_convert, describe_type, is_too_large, to_64_bits, to_column

_DATASET: Final = re.compile(r"[A-Za-z0-9_]{1,1024}")
_TABLE: Final = re.compile(r"[\w\- ]{1,1024}")


def get_table_name(dataset: str, table: str) -> str:
    """Return the name of the local table with the name of a BigQuery table: ``dataset.table``.

    Projects are ignored: a pipeline with a project and a pipeline that detects it use the same table.
    """
    return f"{dataset.strip()}.{table.strip()}"


def check_table(
    stage: StageConfigurer, config: PluginConfig, dataset: str | None, table: str | None
) -> None:
    """Add failures for names that are invalid in BigQuery."""
    rules = (
        ("dataset", dataset, _DATASET, "letters, digits and '_'"),
        ("table", table, _TABLE, "letters, digits, '_', '-' and blanks"),
    )
    for name, value, allowed, shown in rules:
        known = value is not None and not config.contains_macro(name)
        if value is not None and known and allowed.fullmatch(value.strip()) is None:
            stage.failures.add(
                f"Invalid BigQuery {name} name '{value}'.", f"Use {shown}, at most 1024 characters."
            ).with_config_property(name)


def check_input_fields(stage: StageConfigurer, given: Schema, written: Schema) -> None:
    """Add a failure for each field that is missing in the input and not nullable, or that no value of the
    input can become.

    CDAP's ``BigQuerySinkConfig`` does not compare types; a value that does not fit fails the run.
    """
    for each in written:
        field = given.field(each.name)
        if field is None:
            if not each.schema.is_nullable:
                stage.failures.add(
                    f"Required output field '{each.name}' must be present in input schema.",
                    "Change the field to be nullable.",
                ).with_output_field(each.name)
        elif not can_convert(field.schema, each.schema):
            stage.failures.add(
                f"Field '{each.name}' has type mismatch with input schema type "
                f"'{field.schema.display_name}'.",
                "Change type to match input schema type.",
            ).with_output_field(each.name).with_input_field(each.name)


def get_written_schema(written: Schema, held: Schema | None) -> Schema:
    """Return the schema with which rows are loaded: columns have the types of the table, or of a new one.

    The load widens the 32-bit columns that a table of an earlier version has.

    :param held: the table's schema; None when the load creates or replaces the table.
    """
    fields = []
    for each in written:
        column = held.field(each.name) if held is not None else None
        type = to_column(each.schema)
        if column is not None and column.schema.type is not Type.NULL:
            type = to_64_bits(column.schema.non_nullable)
        fields.append((each.name, type.as_nullable if each.schema.is_nullable else type))
    return Schema.record(written.name or "record", fields)


def check_columns(
    stage: StageConfigurer, table: str, held: Schema, written: Schema, *, relaxes: bool
) -> None:
    """Add a failure for each field that the columns of a table do not accept, and for each column that rows
    must have (CDAP ``BigQuerySinkUtils.validateSchema``).

    :param relaxes: whether the table may get new columns, and its columns may become nullable.
    """
    for field in written:
        column = held.field(field.name)
        if column is not None:
            _check_column(stage, table, column, field, relaxes=relaxes)
        elif not relaxes:
            stage.failures.add(
                f"Field '{field.name}' does not exist in BigQuery table '{table}'.",
                f"Remove '{field.name}' from the input, or set 'allowSchemaRelaxation' to true to add a "
                "column.",
            ).with_input_field(field.name).with_output_field(field.name)
        elif not field.schema.is_nullable:
            stage.failures.add(
                f"Required field '{field.name}' does not exist in BigQuery table '{table}'.",
                "Change the field to be nullable.",
            ).with_input_field(field.name).with_output_field(field.name)
    for column in held:
        if not relaxes and not column.schema.is_nullable and written.field(column.name) is None:
            stage.failures.add(
                f"Required Column '{column.name}' is not present in the schema.",
                f"Add '{column.name}' to the schema.",
            )


def check_fields(stage: StageConfigurer, table: str, held: Schema, read: Schema) -> None:
    """Add a failure for each field of a source that the table lacks, or has with a type that does not fit
    (CDAP ``BigQuerySource.validateConfiguredSchema``).
    """
    for field in read:
        column = held.field(field.name)
        if column is None:
            stage.failures.add(
                f"Field '{field.name}' is not present in table '{table}'.",
                f"Remove field '{field.name}' from the output schema.",
            ).with_output_field(field.name)
        elif not accepts(column.schema, field.schema):
            add_type_failure(stage, table, column, field)


def _check_column(
    stage: StageConfigurer, table: str, column: Field, field: Field, *, relaxes: bool
) -> None:
    if not accepts(column.schema, field.schema):
        add_type_failure(stage, table, column, field).with_input_field(field.name)
    elif is_too_large(field.schema):
        stage.failures.add(
            f"Decimal Field '{field.name}' has invalid precision '{field.schema.non_nullable.precision}' and "
            f"scale '{field.schema.non_nullable.scale}'.",
            "Precision must be at most '76' and scale must be at most '38'.",
        ).with_input_field(field.name).with_output_field(field.name)
    elif not relaxes and field.schema.is_nullable and not column.schema.is_nullable:
        stage.failures.add(
            f"Field '{field.name}' cannot be nullable.", "Change the field to be required."
        ).with_output_field(field.name)


def add_type_failure(
    stage: StageConfigurer, table: str, column: Field, field: Field
) -> FailureBuilder:
    """Add the failure of a field that has another type than its column."""
    return stage.failures.add(
        f"Field '{field.name}' of type '{field.schema.display_name}' is incompatible with column "
        f"'{column.name}' of type '{describe_type(column.schema)}' in BigQuery table '{table}'.",
        f"It must be of type '{describe_type(column.schema)}'.",
    ).with_output_field(field.name)
