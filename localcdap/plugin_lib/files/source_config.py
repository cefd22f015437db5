"""The properties of sources that read files."""

from __future__ import annotations

from typing import Final

from localcdap.api import NamedPlugins, PluginConfig, Schema, field
from localcdap.api.formats import INPUT_FORMAT
from localcdap.files.delimited import find_delimiter

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
