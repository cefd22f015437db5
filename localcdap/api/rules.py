"""Checks that the ``configure`` methods of many plugins share; each adds its failures to the stage."""

from __future__ import annotations

import re
from typing import Final

from localcdap.api.config import PluginConfig
from localcdap.api.schema import Schema
from localcdap.api.stage import StageConfigurer

_NAME: Final = re.compile(r"[$.a-zA-Z0-9_-]+")
_ALLOWED: Final = "Supported characters are: letters, numbers, and '_', '-', '.', or '$'."


def check_reference_name(stage: StageConfigurer, name: str | None) -> None:
    """Add a failure for a reference name (for lineage) that CDAP 6 ``IdUtils`` does not allow."""
    if name is not None and _NAME.fullmatch(name) is None:
        stage.failures.add(f"Invalid reference name '{name}'.", _ALLOWED).with_config_property(
            "referenceName"
        )


def check_table_name(stage: StageConfigurer, config: PluginConfig) -> None:
    """Add a failure when the property ``name`` is not a valid name of a table."""
    name: str | None = getattr(config, "name", None)
    if name is not None and not config.contains_macro("name") and _NAME.fullmatch(name) is None:
        stage.failures.add(f"Invalid table name '{name}'.", _ALLOWED).with_config_property("name")


def check_not_view(stage: StageConfigurer, table: str, name: str) -> None:
    """Add a failure when a table to write is a view, in the words of BigQuery. For ``configure_connected``.

    :param name: of the property that names the table.
    """
    held = stage.find_table(table)
    if held is not None and held.is_view:
        stage.failures.add(
            f"'{table}' is not allowed for this operation because it is currently a VIEW.",
            f"Write into another table, or drop the view: localcdap tables '{table}' --drop",
        ).with_config_property(name)


def check_table_key(stage: StageConfigurer, table: str, key: str | None) -> None:
    """Add a failure when an existing table has another key, or none. For ``configure_connected``.

    :param key: the key of the rows to write; None when they are appended.
    """
    held = stage.find_table(table)
    if held is None or held.is_view or held.key == key:
        return
    stage.failures.add(
        f"The rows of table '{table}' have {_describe_key(held.key)}, but the rows to write have "
        f"{_describe_key(key)}.",
        f"Use {_describe_key(held.key)}, write into another table, or drop the table: "
        f"localcdap tables '{table}' --drop",
    )


def check_simple_fields(stage: StageConfigurer, schema: Schema, *, is_input: bool = False) -> None:
    """Add a failure for each field that is not of a simple type."""
    for each in schema:
        if not each.schema.is_simple:
            failure = stage.failures.add(
                f"Field '{each.name}' is of unexpected type '{each.schema.display_name}'.",
                "Supported types are : boolean, int, long, float, double, bytes, string.",
            )
            failure.with_output_field(each.name)
            if is_input:
                failure.with_input_field(each.name)


def check_names(stage: StageConfigurer, schema: Schema) -> None:
    """Add a failure for each field whose name differs from another only in case."""
    seen: dict[str, str] = {}
    for name in schema.field_names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            stage.failures.add(
                f"Fields '{other}' and '{name}' differ only in case, which tables do not distinguish.",
                "Rename one of them.",
            ).with_output_field(name)


def check_subset(stage: StageConfigurer, given: Schema, written: Schema) -> None:
    """Add a failure for each written field that the input lacks or has with another type."""
    for each in written:
        found = given.field(each.name)
        if found is None:
            stage.failures.add(
                f"Field '{each.name}' is present in output schema but not present in input schema."
            ).with_output_field(each.name)
        elif found.schema.non_nullable != each.schema.non_nullable:
            stage.failures.add(
                f"Field '{each.name}' has type mismatch with input schema type "
                f"'{found.schema.display_name}'.",
                "Change type to match input schema type.",
            ).with_output_field(each.name).with_input_field(each.name)


def _describe_key(key: str | None) -> str:
    return "no key" if key is None else f"key '{key}'"
