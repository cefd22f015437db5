"""The local tables that stand for BigQuery's: names and schemas."""

from __future__ import annotations

import re
from typing import Final

from localcdap.api import PluginConfig, Schema, StageConfigurer, Type

_WIDER: Final = {
    Type.INT: (Type.LONG, Type.DOUBLE),
    Type.FLOAT: (Type.DOUBLE,),
    Type.ENUM: (Type.STRING,),
}
"""Column types that accept the values of a narrower type."""
_DATASET: Final = re.compile(r"[A-Za-z0-9_]{1,1024}")
_TABLE: Final = re.compile(r"[\w\- ]{1,1024}")


def get_table_name(dataset: str, table: str) -> str:
    """Return the name of the local table that stands for a table of BigQuery: ``dataset.table``.

    Projects are ignored: a pipeline with a project and a pipeline that detects it use the same table.
    """
    return f"{dataset.strip()}.{table.strip()}"


def quote_identifier(name: str) -> str:
    """Quote a name as an identifier of DuckDB."""
    return '"' + name.replace('"', '""') + '"'


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
    """Add a failure for each field that is missing in the input and not nullable, or of another type there.

    A long may be written as an int, which is checked for each value.
    """
    for each in written:
        field = given.field(each.name)
        if field is None:
            if not each.schema.is_nullable:
                stage.failures.add(
                    f"Required output field '{each.name}' must be present in input schema.",
                    "Change the field to be nullable.",
                ).with_output_field(each.name)
        elif not _can_convert(each.schema.non_nullable, field.schema.non_nullable):
            stage.failures.add(
                f"Field '{each.name}' has type mismatch with input schema type "
                f"'{field.schema.display_name}'.",
                "Change type to match input schema type.",
            ).with_output_field(each.name).with_input_field(each.name)


def _can_convert(written: Schema, given: Schema) -> bool:
    if written == given or not (written.is_simple and given.is_simple):
        return written == given
    integers = written.logical_type is None and written.type is Type.INT
    return accepts(written, given) or (
        integers and given.logical_type is None and given.type is Type.LONG
    )


def check_columns(
    stage: StageConfigurer, table: str, held: Schema, written: Schema, *, relaxes: bool
) -> None:
    """Add a failure for each field that the columns of a table do not take.

    :param relaxes: whether the table may get new columns, and its columns may become nullable.
    """
    relax = "Set 'allowSchemaRelaxation' to true, or leave the field out."
    for field in written:
        column = held.field(field.name)
        if column is None:
            if not relaxes:
                stage.failures.add(
                    f"Field '{field.name}' is not a column of table '{table}'.", relax
                ).with_input_field(field.name)
        elif not accepts(column.schema.non_nullable, field.schema.non_nullable):
            stage.failures.add(
                f"Field '{field.name}' is {field.schema.display_name}, but column '{field.name}' of table "
                f"'{table}' is {column.schema.display_name}.",
                f"Convert the field to {column.schema.non_nullable.display_name}.",
            ).with_input_field(field.name)


def accepts(column: Schema, field: Schema) -> bool:
    """Return whether a column accepts a field's values; nested types are compared when rows are written."""
    if column == field or Type.NULL in (column.type, field.type):
        return True
    if column.logical_type is not None or field.logical_type is not None:
        return column.logical_type is not None and _get_type_family(column) == _get_type_family(
            field
        )
    return column.type is field.type or column.type in _WIDER.get(field.type, ())


def _get_type_family(schema: Schema) -> str:
    """Return the logical type without its unit, milliseconds or microseconds."""
    if schema.logical_type is None or schema.precision is not None:
        return str(schema)
    return schema.logical_type.value.removesuffix("-millis").removesuffix("-micros")
