"""Common parts of sinks that write records into several tables or folders, by a field's value."""

from __future__ import annotations

from typing import Any, Final

from localcdap.api import (
    PluginConfig,
    Schema,
    SchemaError,
    SinkContext,
    StageConfigurer,
    Type,
    field,
)

from .bigquery.types import accepts

SPLIT: Final = "splitField"
_ARGUMENT: Final = "multisink."
_FLEXIBLE: Final = "allowFlexibleSchema"


def flexible_field() -> Any:
    """Declare the property with which CDAP's sinks write records of arbitrary schemas."""
    return field(
        "Must be off: all records have one schema here, and an argument defines the fields of each "
        "destination.",
        default="off",
        macro=True,
        name=_FLEXIBLE,
    )


def check_flexible(stage: StageConfigurer, config: PluginConfig, value: str, what: str) -> None:
    """Add a failure if records of arbitrary schemas are to be written.

    :param what: the word for a destination in the name of an argument.
    """
    if value.strip().lower() in ("on", "true") and not config.contains_macro(_FLEXIBLE):
        stage.failures.add(
            "Records of arbitrary schemas cannot be written here.",
            f"Set '{_FLEXIBLE}' to off, and an argument 'multisink.{what}' for each {what.lower()}.",
        ).with_config_property(_FLEXIBLE)


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


def parse_schema_arguments(context: SinkContext, what: str) -> dict[str, Schema]:
    """Parse the run arguments ``multisink.NAME``: the schema of each table or folder.

    :param what: the word for a destination in messages: table or folder.
    :raises StageError: when there is no such argument, or one is not a schema or does not fit the records.
    """
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
            if given is None or not accepts(each.schema, given.schema):
                problem = "is missing" if given is None else f"is {given.schema.display_name}"
                raise context.fail(
                    f"field '{each.name}' of {what} '{name}' {problem} in the records.",
                    f"Change the argument '{key}', or the records.",
                )
    if not found:
        raise context.fail(
            f"no argument names a {what}.",
            f"Set an argument 'multisink.{what.upper()}' to the schema of each {what}.",
        )
    return found
