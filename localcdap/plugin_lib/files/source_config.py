"""The properties of sources that read files, their validation, and the schemas that the formats allow."""

from __future__ import annotations

import json
import re
from typing import Final, cast

from localcdap.api import (
    FormatContext,
    InputFormat,
    NamedPlugins,
    PluginConfig,
    Schema,
    StageConfigurer,
    Type,
    field,
)
from localcdap.api.formats import INPUT_FORMAT
from localcdap.files.delimited import DELIMITED, find_delimiter
from localcdap.java.charsets import OFFERED, find_encoding
from localcdap.plugin_lib.files.formats import find_format_plugin

FORMATS: Final = (
    "avro",
    "blob",
    "csv",
    "delimited",
    "json",
    "orc",
    "parquet",
    "text",
    "tsv",
    "xls",
)
BY_NUMBER: Final = "Sheet Number"
RECORD_DELIMITER: Final = "textinputformat.record.delimiter"


class FileSourceConfig(PluginConfig, macros=True, rename="camel"):
    """The properties of a source that reads files."""

    reference_name: str = field(
        "Name of this source in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        macro=False,
    )
    path: str = field(
        "File or folder to read, or a pattern with *, ?, [a-z] and {a,b}. Names that start with '_' "
        "or '.' are skipped. A relative path is relative to the instance's folder. [locations] in "
        "localcdap.toml maps paths such as gs://bucket/folder to folders of this machine. "
        "Files ending in .gz, .bz2, .zst or .deflate are decompressed (text formats).",
        form="{path}",
    )
    format: str = field(
        "Format of the files: avro, blob (a record for each file), csv, delimited, json (an object on "
        "each line), orc, parquet, text (a record for each line), tsv, xls (the rows of a sheet), or the "
        "name of a plugin of the type validatingInputFormat.",
        default="text",
        form="{format:" + "|".join(FORMATS) + "}",
        uses=NamedPlugins(INPUT_FORMAT, shares_properties=True),
    )
    schema: Schema | None = field(
        "Schema of the records. Text has 'offset' (long) and 'body' (string), blob has 'body' (bytes). "
        "For other formats, it is detected from the first file if not set. Fields that a file lacks are "
        "null. A value that does not fit its field fails the run; in delimited, Parquet and ORC files only "
        "in fields that a later stage uses, because no others are read.",
        default=None,
    )
    delimiter: str | None = field(
        "Text between two values in the format 'delimited': one or more characters, by default a comma. "
        "Other formats ignore it.",
        default=None,
        group="format of the files",
    )
    skip_header: bool = field(
        "Whether the first line of each file is skipped (text, csv, tsv, delimited). Schema detection takes "
        "the field names from it.",
        default=False,
        group="format of the files",
    )
    enable_quoted_values: bool = field(
        'Whether quotes enclose a value, so that it may contain the delimiter: a,"b,c",d are three '
        "values (csv, tsv, delimited). Otherwise a quote is an ordinary character.",
        default=False,
        group="format of the files",
    )
    enable_multiline_support: bool = field(
        "Whether a quoted value may contain line ends. Needs 'enableQuotedValues', and reads each file "
        "in one piece.",
        default=False,
        group="format of the files",
    )
    doubled_quotes: bool = field(
        "Whether two quotes within a quoted value stand for one, and blanks around the quotes are left out, "
        "as in RFC 4180 (csv, tsv, delimited). Otherwise quotes within a value are left out.",
        default=False,
        group="format of the files",
        addition="CDAP leaves out all quotes of a value.",
    )
    file_regex: str | None = field(
        "Regular expression that the full path of a file must match for the file to be read, for "
        "instance .*/sales-[0-9]+\\.csv",
        default=None,
        group="which files",
    )
    path_field: str | None = field(
        "Output field for the path of the file that a record comes from. It must be a string field of "
        "the schema.",
        default=None,
        form="{output-field}",
        group="more",
    )
    filename_only: bool = field(
        "Whether the path field holds only the file's name instead of its whole path.",
        default=False,
        group="more",
    )
    recursive: bool = field(
        "Whether files in folders below the given folder are read too.",
        default=False,
        group="which files",
    )
    ignore_non_existing_folders: bool = field(
        "Whether a path without files gives no records instead of failing the run.",
        default=False,
        group="which files",
    )
    file_encoding: str = field(
        "Character encoding of text files, by its name in Java: UTF-8, UTF-16, UTF-32, ISO-8859-1, "
        "Windows-1252, IBM01140 … Malformed bytes become U+FFFD; the run counts their lines and warns.",
        default="UTF-8",
        group="format of the files",
    )
    file_system_properties: str | None = field(
        "Hadoop properties as a JSON object of texts. Only textinputformat.record.delimiter, the text "
        "between two records of a text file, has an effect on this machine.",
        default=None,
        syntax="json",
        group="more",
    )
    max_split_size: int = field(
        "Largest number of bytes of a file that one task reads; a smaller number gives more parallel tasks. "
        "Used if files are read in Python (text with offsets).",
        default=128 * 1024 * 1024,
        group="more",
    )
    first_column_number: int = field(
        "Number of the first column of a file without a header, where no schema names the columns: 0 for "
        "body_0, body_1 … (csv, tsv, delimited).",
        default=0,
        group="more",
        addition="Pipelines of earlier versions number the columns from 1.",
    )
    sample_size: int = field("How many lines schema detection reads.", default=1000, group="more")
    sheet: str = field(
        "Whether the sheet of a workbook is chosen by its number, from 0, or its name (xls).",
        default=BY_NUMBER,
        choices=(BY_NUMBER, "Sheet Name"),
        group="workbooks",
    )
    sheet_value: str = field("Number or name of the sheet (xls).", default="0", group="workbooks")
    ends_at_empty_row: bool = field(
        "Whether an empty row ends the sheet; otherwise it is a record of nulls (xls).",
        default=False,
        name="terminateIfEmptyRow",
        group="workbooks",
    )
    override: str | None = field(
        "Types of columns that are not detected, as 'column:type,column:type'. Types are boolean, bytes, "
        "double, float, int, long, string, date, time and timestamp.",
        default=None,
        form="{output-field}:{type},",
        group="more",
    )

    copies_header: bool = field(
        "Whether each task reads the first line of the first file as its first record, and leaves out the "
        "first line of each file. For parse-as-csv with a header behind it, which every task needs (text).",
        default=False,
        name="copyHeader",
        group="more",
    )

    @property
    def format_name(self) -> str:
        return self.format.strip().lower()

    @property
    def format_plugin(self) -> str | None:
        """The name of a format that is a plugin; None for one of :data:`FORMATS`."""
        return None if self.format_name in FORMATS else self.format.strip()

    @property
    def chosen_sheet(self) -> str | int:
        """The name of the sheet, or its number."""
        return int(self.sheet_value) if self.sheet == BY_NUMBER else self.sheet_value

    @property
    def value_delimiter(self) -> str:
        """The text between two values of a line; empty for a format without a delimiter."""
        return find_delimiter(self.format_name, self.delimiter)


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
