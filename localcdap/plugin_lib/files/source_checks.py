"""Validation of sources that read files, and the schemas that the formats allow."""

from __future__ import annotations

import json
import re
from typing import Final, cast

from localcdap.api import FormatContext, InputFormat, Schema, StageConfigurer, Type
from localcdap.api.formats import INPUT_FORMAT
from localcdap.files.delimited import DELIMITED
from localcdap.java.charsets import OFFERED, find_encoding
from localcdap.plugin_lib.files.formats import find_format_plugin
from localcdap.plugin_lib.files.source_config import (
    BY_NUMBER,
    FORMATS,
    RECORD_DELIMITER,
    FileSourceConfig,
)

_OFFSET: Final = "offset"
_BODY: Final = "body"


def check_properties(stage: StageConfigurer, config: FileSourceConfig) -> None:
    """Add a failure for each property that is invalid alone."""
    _check_regex(stage, config)
    if find_encoding(config.file_encoding) is None:
        stage.failures.add(
            f"Specified file encoding '{config.file_encoding}' is not valid.",
            f"Use one of the supported file encodings: {', '.join(OFFERED)}.",
        ).with_config_property("fileEncoding")
    for name, value, least in (
        ("maxSplitSize", config.max_split_size, 1),
        ("sampleSize", config.sample_size, 1),
        ("firstColumnNumber", config.first_column_number, 0),
    ):
        if value < least:
            stage.failures.add(
                f"Property '{name}' must be at least {least}, not {value}."
            ).with_config_property(name)
    if config.enable_multiline_support and not (
        config.enable_quoted_values or config.contains_macro("enableQuotedValues")
    ):
        stage.failures.add(
            "Values with line ends must be quoted.", "Set 'enableQuotedValues' to true."
        ).with_config_property("enableMultilineSupport")
    if config.enable_quoted_values and '"' in config.value_delimiter:
        # DelimitedInputFormatProvider.validate of hydrator-plugins
        stage.failures.add(
            f'The delimiter {config.value_delimiter} cannot contain " when quoted values are enabled.',
            "Check the delimiter.",
        ).with_config_property("delimiter")
    _check_sheet_number(stage, config)
    try:
        get_record_delimiter(config)
    except ValueError:
        stage.failures.add("File system properties must be a valid json.").with_config_property(
            "fileSystemProperties"
        )


def _check_regex(stage: StageConfigurer, config: FileSourceConfig) -> None:
    try:
        re.compile(config.file_regex or "")
    except re.error as error:
        stage.failures.add(
            f"Invalid regular expression '{config.file_regex}': {error}.",
            "Write a valid regular expression that matches the full paths of the files to read.",
        ).with_config_property("fileRegex")


def _check_sheet_number(stage: StageConfigurer, config: FileSourceConfig) -> None:
    by_number = config.sheet == BY_NUMBER and not config.contains_macro("sheet")
    known = not config.contains_macro("sheetValue")
    if by_number and known and re.fullmatch("[0-9]+", config.sheet_value) is None:
        stage.failures.add(
            f"Invalid sheet number '{config.sheet_value}'.",
            "Use a number from 0, or set 'sheet' to 'Sheet Name'.",
        ).with_config_property("sheetValue")


def get_record_delimiter(config: FileSourceConfig) -> str | None:
    """Return the record delimiter of the Hadoop properties; None when records end at line ends.

    :raises ValueError: when the file system properties are not a JSON object.
    """
    properties = json.loads(config.file_system_properties or "{}")
    if not isinstance(properties, dict):
        raise ValueError("not an object")
    delimiter = properties.get(RECORD_DELIMITER)
    return delimiter if isinstance(delimiter, str) and delimiter else None


def find_format(stage: StageConfigurer, config: FileSourceConfig) -> InputFormat | None:
    """Return the format if it is a plugin, and add failures if it is invalid."""
    name = config.format_plugin
    if name is None or config.contains_macro("format"):
        return None
    return cast(
        "InputFormat | None", find_format_plugin(stage, config, INPUT_FORMAT, name, FORMATS)
    )


def find_output_schema(
    stage: StageConfigurer, config: FileSourceConfig, format: InputFormat | None = None
) -> Schema | None:
    """Return the schema that the properties define, and add failures for fields that do not fit.

    :param format: the format if it is a plugin.

    The result is None when the schema is only known from the files, or after macros are evaluated.
    """
    schema = config.schema
    if config.contains_macro("format") or config.contains_macro("schema"):
        return schema
    if format is not None:
        if schema is None and not config.contains_macro("pathField"):
            fixed = format.get_schema(FormatContext(stage.failures, None))
            schema = fixed and add_path_field(fixed, config.path_field)
        format.validate(FormatContext(stage.failures, schema))
    if schema is None:
        return _get_fixed_schema(config)
    match config.format_name:
        case "text":
            _check_text(stage, schema, config.path_field)
        case "blob":
            _check_blob(stage, schema, config.path_field)
        case "xls":
            _check_sheet(stage, schema)
        case name if name in DELIMITED:
            _check_simple(stage, schema, name)
    if config.path_field is not None:
        _check_path_field(stage, schema, config.path_field)
    return schema


def add_path_field(schema: Schema, path_field: str | None) -> Schema:
    """Return the schema with the path field added, unless the schema contains it."""
    if path_field is None or schema.field(path_field) is not None:
        return schema
    return Schema.record(schema.name or "record", [*schema, (path_field, Schema.STRING)])


def _get_fixed_schema(config: FileSourceConfig) -> Schema | None:
    if config.contains_macro("pathField"):
        return None
    match config.format_name:
        case "text":
            fields = [(_OFFSET, Schema.LONG), (_BODY, Schema.STRING)]
            return add_path_field(Schema.record("textfile", fields), config.path_field)
        case "blob":
            return add_path_field(Schema.record("blob", [(_BODY, Schema.BYTES)]), config.path_field)
    return None


def _check_text(stage: StageConfigurer, schema: Schema, path_field: str | None) -> None:
    """Apply the rules of CDAP 6 ``TextInputFormatProvider``."""
    offset, body = schema.field(_OFFSET), schema.field(_BODY)
    if offset is not None and offset.schema.non_nullable != Schema.LONG:
        stage.failures.add(
            f"The 'offset' field is of unexpected type '{offset.schema.display_name}'.",
            "Change type to 'long'.",
        ).with_output_field(_OFFSET)
    if body is None:
        stage.failures.add(
            "The schema for the 'text' format must have a field named 'body'."
        ).with_config_property("schema")
    elif body.schema.non_nullable != Schema.STRING:
        stage.failures.add(
            f"The 'body' field is of unexpected type '{body.schema.display_name}'.",
            "Change type to 'string'.",
        ).with_output_field(_BODY)
    expected = ([_OFFSET] if offset is not None else []) + [_BODY]
    expected += [path_field] if path_field is not None else []
    _check_only(stage, schema, "text", expected)


def _check_blob(stage: StageConfigurer, schema: Schema, path_field: str | None) -> None:
    """Apply the rules of CDAP 6 ``BlobInputFormatProvider``."""
    body = schema.field(_BODY)
    if body is None:
        stage.failures.add(
            "The schema for the 'blob' format must have a field named 'body' of type 'bytes'."
        ).with_config_property("schema")
    elif body.schema.non_nullable != Schema.BYTES:
        stage.failures.add(
            f"Field 'body' is of unexpected type '{body.schema.display_name}'.",
            "Change type to 'bytes'.",
        ).with_output_field(_BODY)
    _check_only(stage, schema, "blob", [_BODY] + ([path_field] if path_field is not None else []))


def _check_only(stage: StageConfigurer, schema: Schema, format: str, expected: list[str]) -> None:
    names = [f"'{name}'" for name in expected]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    for extra in schema:
        if extra.name not in expected:
            stage.failures.add(
                f"The schema for the '{format}' format must only contain the {listed} "
                f"field{'s' if len(names) > 1 else ''}.",
                f"Remove additional field '{extra.name}'.",
            ).with_output_field(extra.name)


def _check_simple(stage: StageConfigurer, schema: Schema, format: str) -> None:
    for each in schema:
        inner = each.schema.non_nullable
        if not inner.type.is_simple and inner.type is not Type.ENUM:
            stage.failures.add(
                f"Field '{each.name}' is of type '{each.schema.display_name}', which the '{format}' "
                "format cannot hold.",
                "Change it to a simple type such as 'string', or use another format.",
            ).with_output_field(each.name)


def _check_sheet(stage: StageConfigurer, schema: Schema) -> None:
    """Apply the rules of CDAP 6 ``XlsInputFormatProvider``."""
    for each in schema:
        if each.schema.non_nullable not in (Schema.STRING, Schema.DOUBLE, Schema.BOOLEAN):
            stage.failures.add(
                f"Field '{each.name}' is of unsupported type '{each.schema.display_name}'.",
                "Supported types are: string, double, boolean.",
            ).with_output_field(each.name)


def _check_path_field(stage: StageConfigurer, schema: Schema, path_field: str) -> None:
    """Apply the rules of CDAP 6 ``AbstractFileSource``."""
    found = schema.field(path_field)
    if found is None:
        stage.failures.add(
            f"Path field '{path_field}' must exist in input schema.",
            "Add it to the schema as a string field.",
        ).with_config_property("pathField")
    elif found.schema.non_nullable != Schema.STRING:
        stage.failures.add(
            f"Path field '{path_field}' is of unsupported type '{found.schema.display_name}'.",
            "It must be of type 'string'.",
        ).with_config_property("pathField").with_output_field(path_field)
