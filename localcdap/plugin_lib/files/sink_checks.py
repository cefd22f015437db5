"""Validation of sinks that write files."""

from __future__ import annotations

import datetime
import json
import re
from typing import Final, cast

from localcdap.api import (
    Field,
    FormatContext,
    LogicalType,
    OutputFormat,
    Schema,
    StageConfigurer,
    Type,
)
from localcdap.api.formats import OUTPUT_FORMAT
from localcdap.api.rules import check_subset
from localcdap.files.delimited import DELIMITED
from localcdap.java.dates.simple_date_format import format_simple_date
from localcdap.plugin_lib.files.formats import find_format_plugin
from localcdap.plugin_lib.files.sink_config import CODECS, FORMATS, TYPED, FileSinkConfig

_TEXTS: Final[dict[LogicalType | Type, str]] = {
    Type.FLOAT: ".",
    Type.DOUBLE: ".",
    LogicalType.DATE: "-",
    LogicalType.TIME_MILLIS: ":",
    LogicalType.TIME_MICROS: ":",
    LogicalType.TIMESTAMP_MILLIS: "-T:Z",
    LogicalType.TIMESTAMP_MICROS: "-T:Z",
    LogicalType.DATETIME: "-T:",
}
"""By type, the characters that each text has."""
_AVRO_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_sink(stage: StageConfigurer, config: FileSinkConfig) -> None:
    """Add a failure for each property that is invalid, alone or for the input schema."""
    if not check_format(stage, config) or config.contains_macro("schema"):
        return
    schema = get_written_schema(config, stage.input_schema)
    if schema is None:
        return
    if stage.input_schema is not None:
        check_subset(stage, stage.input_schema, schema)
    format = _find_format(stage, config)
    if format is not None:
        format.validate(FormatContext(stage.failures, schema))
    for each in schema:
        _check_field(stage, config.format_name, each)
    if not (config.enable_quoted_values or config.contains_macro("enableQuotedValues")):
        _check_delimiter(stage, config, schema)


def check_format(stage: StageConfigurer, config: FileSinkConfig) -> bool:
    """Add a failure for each property that is invalid alone. Return whether the format is known."""
    _check_suffix(stage, config.suffix)
    _check_json(stage, config.file_system_properties)
    if config.contains_macro("format") or config.format is None:
        return False
    if config.format_plugin is not None:
        return _find_format(stage, config) is not None
    _check_codec(stage, config)
    return True


def _find_format(stage: StageConfigurer, config: FileSinkConfig) -> OutputFormat | None:
    """Return the format if it is a plugin, and add failures if it is invalid."""
    name = config.format_plugin
    if name is None:
        return None
    found = find_format_plugin(stage, config, OUTPUT_FORMAT, name, FORMATS)
    return cast("OutputFormat | None", found)


def get_written_schema(config: FileSinkConfig, given: Schema | None) -> Schema | None:
    """Return the schema of the written files; None when it is not known.

    :param given: the input schema.
    """
    is_typed = config.format_name in TYPED or config.format_plugin is not None
    if is_typed and config.schema is not None:
        return config.schema
    return given


def _check_suffix(stage: StageConfigurer, suffix: str | None) -> None:
    try:
        format_simple_date(datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC), suffix or "")
    except ValueError as error:
        stage.failures.add(
            f"Invalid suffix: {error}.", "Ensure provided suffix is valid."
        ).with_config_property("suffix")


def _check_json(stage: StageConfigurer, text: str | None) -> None:
    try:
        valid = isinstance(json.loads(text or "{}"), dict)
    except ValueError:
        valid = False
    if not valid:
        stage.failures.add("File system properties must be a valid json.").with_config_property(
            "fileSystemProperties"
        )


def _check_codec(stage: StageConfigurer, config: FileSinkConfig) -> None:
    codecs = CODECS.get(config.format_name)
    if codecs is not None and config.codec not in codecs:
        stage.failures.add(
            f"Format '{config.format_name}' has no compression '{config.compression_codec}'.",
            f"Use one of {', '.join(codecs)}.",
        ).with_config_property("compressionCodec")


def _check_field(stage: StageConfigurer, format: str, field: Field) -> None:
    problem = find_unwritable(format, field)
    if problem is not None:
        stage.failures.add(
            f"Field '{field.name}' {problem}, which the '{format}' format cannot hold.",
            "Change or drop the field before this sink, or use another format.",
        ).with_input_field(field.name)


def _check_delimiter(stage: StageConfigurer, config: FileSinkConfig, schema: Schema) -> None:
    """Warn of fields whose texts all contain the delimiter."""
    delimiter = config.value_delimiter
    if not delimiter or config.contains_macro("delimiter"):
        return
    for field in schema:
        inner = field.schema.non_nullable
        if delimiter in _TEXTS.get(inner.logical_type or inner.type, ""):
            stage.warnings.add(
                f"Each value of field '{field.name}' contains the delimiter '{delimiter}', and is written "
                "without quotes.",
                "Use another delimiter.",
            ).with_config_property("delimiter")


def find_unwritable(format: str, field: Field) -> str | None:
    """Return why a format cannot hold a field, as a text that follows the field's name; None if it can."""
    inner = field.schema.non_nullable
    is_simple = inner.type.is_simple or inner.type is Type.ENUM
    if format in DELIMITED and not is_simple:
        return f"is of type '{inner.display_name}'"
    if format in TYPED:
        for part in _list_parts(field.schema):
            reason = _find_unsupported(format, part)
            if reason is not None:
                return reason if part == inner else f"{reason} inside"
    if format == "avro" and _AVRO_NAME.fullmatch(field.name) is None:
        return "has a name with characters other than letters, digits and '_'"
    return None


def _find_unsupported(format: str, schema: Schema) -> str | None:
    if schema.type is Type.NULL:
        return "is of type 'null'"
    keys = schema.keys.non_nullable if schema.keys is not None else Schema.STRING
    if format == "avro" and keys.type is not Type.STRING:
        return f"is a map with keys of type '{keys.display_name}'"
    return None


def _list_parts(schema: Schema) -> list[Schema]:
    """Return the non-nullable schema and all schemas nested in it."""
    inner = schema.non_nullable
    children = [s for s in (inner.items, inner.keys, inner.values) if s is not None]
    children += [f.schema for f in inner]
    children += [m for m in inner.members if m.type is not Type.NULL]
    return [inner, *(part for child in children for part in _list_parts(child))]
