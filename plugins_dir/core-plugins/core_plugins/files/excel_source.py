"""The Excel source: rows of one sheet of each workbook."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    BatchSource,
    PluginConfig,
    Schema,
    SourceContext,
    StageConfigurer,
    StageError,
    field,
    plugin,
)
from localcdap.api.arrow import RecordCodec
from localcdap.api.rules import check_reference_name
from localcdap.files.cell_texts import format_java_date
from localcdap.files.workbooks import format_cell, read_sheet_cells
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.files.inputs import (
    FilesNotFoundError,
    find_input_files,
    is_remote,
    require_file_system,
)
from localcdap.plugin_lib.text_values import find_text_converter

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


TYPES: Final = {
    "string": Schema.STRING,
    "int": Schema.INT,
    "long": Schema.LONG,
    "float": Schema.FLOAT,
    "double": Schema.DOUBLE,
    "boolean": Schema.BOOLEAN,
    "bytes": Schema.BYTES,
}
_WHOLE: Final = (Schema.INT, Schema.LONG)
_MAX_COLUMNS: Final = 16_384
_BATCH: Final = 10_000
_LOG: Final = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class ExcelSelection:
    """The part of each workbook that is read."""

    sheet: str | int
    """The sheet's name, or its number from 0."""
    columns: tuple[int, ...]
    """Column numbers from 0, in the order of the fields."""
    skip_first_row: bool
    ends_at_empty_row: bool
    rows_limit: int | None
    fails: bool
    """Whether a value that does not fit fails the run; otherwise its row is skipped."""


def parse_column_letters(letters: str) -> int | None:
    """Return the number of a column, from 0, by its letters; None for an invalid text.

    >>> parse_column_letters("A"), parse_column_letters("AA"), parse_column_letters("a1")
    (0, 26, None)
    """
    if not re.fullmatch("[A-Za-z]{1,3}", letters):
        return None
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1 if number <= _MAX_COLUMNS else None


def read_workbook(file: str, schema: Schema, selection: ExcelSelection) -> Iterator[pa.RecordBatch]:
    """Yield the records of a workbook: the file's name, the sheet's name, and the values of the columns.

    :raises StageError: when the workbook cannot be read, lacks the sheet, or has a row that fails the run.
    """
    name, codec = Path(file).name, RecordCodec(schema)
    sheet_name, rows = _read_rows(file, selection)
    kinds = [field.schema for field in schema][2:]
    names = schema.field_names
    records: list[dict[str, Any]] = []
    for number, row in rows:
        try:
            values = [
                _convert_cell(row[index] if index < len(row) else "", kind)
                for index, kind in zip(selection.columns, kinds, strict=True)
            ]
        except (ValueError, OverflowError) as error:
            problem = f"row {number} of sheet '{sheet_name}' of '{file}': {error}"
            if selection.fails:
                raise StageError(f"Terminating processing on error: {problem}.") from None
            _LOG.error("Skipped %s", problem)
            continue
        records.append(dict(zip(names, [name, sheet_name, *values], strict=True)))
        if len(records) == _BATCH:
            yield codec.encode(records)
            records = []
    if records:
        yield codec.encode(records)


def _read_rows(file: str, selection: ExcelSelection) -> tuple[str, Iterator[tuple[int, list[Any]]]]:
    """Return the sheet's name and its rows with values, numbered from 1."""
    sheet_name, cells = read_sheet_cells(file, selection.sheet)
    return sheet_name, _find_filled_rows(file, cells, selection)


def _find_filled_rows(
    file: str, cells: list[list[Any]], selection: ExcelSelection
) -> Iterator[tuple[int, list[Any]]]:
    first = 1 if selection.skip_first_row else 0
    end = None if selection.rows_limit is None else first + selection.rows_limit
    for number, row in enumerate(cells[first:end], first + 1):
        if any(value != "" for value in row):
            yield number, row
        elif selection.ends_at_empty_row:
            raise StageError(
                f"Encountered empty row while reading Excel file: {file} (row {number}). "
                "Terminating processing."
            )


def _convert_cell(cell: Any, kind: Schema) -> Any:
    """Convert the text that hydrator-plugins ``ExcelInputFormat`` makes of a cell to a value of a field.

    In a field of whole numbers, a whole number has no fraction; it would not be read.

    :raises ValueError: when the cell does not have such a value.
    """
    convert = find_text_converter(kind)
    assert convert is not None  # it is one of TYPES
    if isinstance(cell, datetime.date | datetime.time | datetime.timedelta):
        text = format_java_date(cell)
    else:
        text = format_cell(cell) if kind in _WHOLE else to_java_string(cell)
    try:
        return convert(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a value of type {kind.display_name}") from None


FILE: Final = "file"
SHEET: Final = "sheet"
_BY_NAME: Final = "Sheet Name"
_BY_NUMBER: Final = "Sheet Number"
_SKIP: Final = "Ignore error and continue"
_FAIL: Final = "Exit on error"
_TO_DATASET: Final = "Write to error dataset"


class ExcelConfig(PluginConfig, rename="camel"):
    """The properties of the Excel source."""

    reference_name: str = field(
        "Name of this source in lineage and metadata: letters, digits, '_', '-', '.', '$'."
    )
    path: str = field(
        "Workbook, or folder with workbooks: .xlsx, .xlsm, .xlsb, .xls or .ods.",
        macro=True,
        name="filePath",
        form="{path}",
    )
    pattern: str = field(
        "Regular expression that matches the name or the full path of the files to read.",
        default=".*",
        macro=True,
        name="filePattern",
    )
    memory_table: str | None = field(
        "Table of files that were already read. It is not supported: leave it empty, or set 'reprocess' to "
        "true.",
        default=None,
        name="memoryTableName",
        group="files read before",
    )
    expiry: str | None = field(
        "Days after which the table forgets a file.",
        default=None,
        name="tableExpiryPeriod",
        group="files read before",
    )
    reprocess: bool = field(
        "Whether files that were already read are read again.",
        default=False,
        group="files read before",
    )
    sheet: str = field(
        "Whether 'sheetValue' is a name or a number.",
        default=_BY_NAME,
        choices=[_BY_NAME, _BY_NUMBER],
    )
    sheet_value: str = field("Name of the sheet, or its number from 0.", macro=True)
    columns: list[str] = field(
        "Letters of the columns to read, as A,B. By default, all columns that have a type.",
        default=[],
        name="columnList",
    )
    renamed: list[str] = field(
        "Field names by column letter, as A:id,B:name.",
        default=[],
        name="columnMapping",
        form="{column}:{field},",
    )
    skip_first_row: bool = field(
        "Whether the first row, which contains titles, is skipped.", default=False
    )
    ends_at_empty_row: bool = field(
        "Whether an empty row fails the run. Otherwise it is skipped.",
        default=False,
        name="terminateIfEmptyRow",
    )
    rows_limit: str | None = field(
        "Largest number of rows of a sheet to read, by default all.", default=None, macro=True
    )
    types: list[str] = field(
        f"Field types by column letter, as A:string,B:int. Types: {', '.join(TYPES)}. Columns without a "
        "type are strings.",
        default=[],
        name="outputSchema",
        form="{column}:{type:" + "|".join(TYPES) + "},",
    )
    on_error: str = field(
        "What happens if a value does not fit its type: the row is skipped, or the run fails.",
        default=_SKIP,
        choices=[_SKIP, _FAIL, _TO_DATASET],
        name="ifErrorRecord",
    )
    error_table: str | None = field(
        "Table for rows with errors. It is not supported.", default=None, name="errorDatasetName"
    )


@plugin(
    name="Excel",
    description="Reads the rows of a sheet of each workbook: .xlsx, .xlsm, .xlsb, .xls, .ods.",
)
class ExcelSource(BatchSource):
    """Output fields are ``file`` (the file's name), ``sheet``, and the columns.

    An empty cell is an empty string; in a field of another type it is an error. Formulas have the values with
    which the workbook was saved.
    """

    Config = ExcelConfig
    config: ExcelConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        _check_values(stage, config)
        _check_unavailable(stage, config)
        columns = self._parse_columns(stage)
        fields = [(FILE, Schema.STRING), (SHEET, Schema.STRING), *columns.values()]
        names = [name for name, _ in fields]
        for name in sorted({each for each in names if names.count(each) > 1}):
            stage.failures.add(
                f"Several fields would have the name '{name}'.", "Choose another name."
            ).with_config_property("columnMapping")
        if not len(stage.failures):
            stage.output_schema = Schema.record("outputSchema", fields)

    def _parse_columns(self, stage: StageConfigurer) -> dict[str, tuple[str, Schema]]:
        """Return the name and type of the field of each column, by the column's letters."""
        config = self.config
        names = _parse_pairs(stage, "columnMapping", config.renamed, config.columns, "an alias")
        types = _parse_pairs(stage, "outputSchema", config.types, config.columns, "a type")
        if not config.columns and not config.types:
            stage.failures.add(
                "'Field Name Schema Type Mapping' and 'Columns To Be Extracted' cannot both be empty.",
                "Name the columns, as A,B.",
            ).with_config_property("outputSchema").with_config_property("columnList")
        found = {}
        for letters in config.columns or types:
            written = types.get(letters, "string")
            if parse_column_letters(letters) is None:
                stage.failures.add(
                    f"'{letters}' is not a column of a sheet.",
                    "Use the letters of a column, such as A or BC.",
                ).with_config_property("columnList" if config.columns else "outputSchema")
            elif written.lower() not in TYPES:
                stage.failures.add(
                    f"Invalid type '{written}' of column '{letters}'.",
                    f"Use one of {', '.join(TYPES)}.",
                ).with_config_property("outputSchema", element=f"{letters}:{written}")
            else:
                found[letters] = (names.get(letters, letters), TYPES[written.lower()])
        return found

    def read(self, context: SourceContext) -> DataFrame:
        config, schema = self.config, context.output_schema
        assert schema is not None
        columns = self._parse_columns(StageConfigurer(context.stage_name, {}))
        selection = ExcelSelection(
            sheet=int(config.sheet_value) if config.sheet == _BY_NUMBER else config.sheet_value,
            columns=tuple(parse_column_letters(letters) or 0 for letters in columns),
            skip_first_row=config.skip_first_row,
            ends_at_empty_row=config.ends_at_empty_row,
            rows_limit=int(config.rows_limit) if config.rows_limit else None,
            fails=config.on_error == _FAIL,
        )
        files = self._find_files(context)
        require_file_system(context, files)
        read = functools.partial(read_workbook, schema=schema, selection=selection)
        return context.generate(schema, files, read)

    def _find_files(self, context: SourceContext) -> list[str]:
        try:
            return self._list_files(context.resolve_path(self.config.path))
        except FilesNotFoundError as error:
            raise context.fail(str(error), error.action) from None

    def configure_connected(self, stage: StageConfigurer) -> None:
        """Add a failure if there is no workbook to read. Those of a cluster are looked for when it runs."""
        is_open = any(map(self.config.contains_macro, ("filePath", "filePattern")))
        if is_open or stage.in_run or stage.locations is None or stage.locations.remote:
            return
        try:
            path = stage.resolve_path(self.config.path)
            if not is_remote(path):
                self._list_files(path)
        except FilesNotFoundError as error:
            stage.failures.add(str(error), error.action).with_config_property("filePath")
        except StageError as error:
            stage.failures.add(error.message, error.corrective_action).with_config_property(
                "filePath"
            )

    def _list_files(self, path: str) -> list[str]:
        """Return the workbooks of a path of this machine.

        :raises FilesNotFoundError: when there are none.
        """
        try:
            found = find_input_files(path, document_path=self.config.path)
        except FilesNotFoundError as error:
            action = error.action.replace("'path'", "'filePath'")
            raise FilesNotFoundError(str(error), action) from None
        wanted = re.compile(self.config.pattern)
        chosen = [
            file for file in found if wanted.fullmatch(Path(file).name) or wanted.fullmatch(file)
        ]
        if not chosen:
            raise FilesNotFoundError(
                f"None of the {len(found)} files of '{self.config.path}' matches "
                f"'{self.config.pattern}'.",
                "Change 'filePattern'.",
            )
        return chosen


def _check_values(stage: StageConfigurer, config: ExcelConfig) -> None:
    """Apply the rules of CDAP 6 ``ExcelInputReaderConfig``."""
    number, limit = config.sheet_value, config.rows_limit
    is_known = not config.contains_macro("sheetValue") and number is not None
    if is_known and config.sheet == _BY_NUMBER and not re.fullmatch("[0-9]+", number):
        stage.failures.add(
            f"Invalid sheet number: '{number}'.",
            "The value should be greater than or equal to zero.",
        ).with_config_property("sheetValue")
    if limit and not config.contains_macro("rowsLimit") and not re.fullmatch("[0-9]+", limit):
        stage.failures.add(
            f"Invalid row limit: '{limit}'.", "Numeric value expected."
        ).with_config_property("rowsLimit")
    if config.expiry and not config.memory_table:
        stage.failures.add(
            "Value for Table Expiry Period is valid only when file tracking table is specified.",
            "Remove it.",
        ).with_config_property("tableExpiryPeriod")
    try:
        re.compile(config.pattern)
    except re.error as error:
        stage.failures.add(
            f"Invalid regular expression '{config.pattern}': {error}.",
            "Write a valid regular expression that matches the names of files.",
        ).with_config_property("filePattern")


def _check_unavailable(stage: StageConfigurer, config: ExcelConfig) -> None:
    if config.memory_table and not config.reprocess:
        stage.failures.add(
            "Files that were already read are not tracked here.",
            "Set 'reprocess' to true, and move files that are done to another folder.",
        ).with_config_property("memoryTableName").with_config_property("reprocess")
    if config.on_error == _TO_DATASET:
        stage.failures.add(
            "Rows with errors cannot be written into a table here.",
            f"Choose '{_SKIP}' or '{_FAIL}', or read strings and validate them in a transform.",
        ).with_config_property("ifErrorRecord")


def _parse_pairs(
    stage: StageConfigurer, name: str, texts: list[str], columns: list[str], what: str
) -> dict[str, str]:
    """Parse the elements ``A:value`` of a property; return the values by column."""
    title = "Column-Label Mapping" if name == "columnMapping" else "Field Name Schema Type Mapping"
    found = {}
    for text in texts:
        letters, _, value = (part.strip() for part in text.partition(":"))
        if not value:
            stage.failures.add(
                f"Column: '{letters}' in '{title}' must have {what} specified.", "Write 'A:value'."
            ).with_config_property(name, element=text)
        elif columns and letters not in columns:
            stage.failures.add(
                f"Column: '{letters}' in '{title}' must be included in 'Column To Be Extracted'.",
                "Add it there, or remove it here.",
            ).with_config_property(name, element=text)
        else:
            found[letters] = value
    return found
