"""The CSVParser transform: parses a text field as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from localcdap.api import (
    EdgeKind,
    Emitter,
    LineageRecorder,
    PluginConfig,
    Record,
    Schema,
    StageConfigurer,
    StageContext,
    StageError,
    Transform,
    Type,
    field,
    plugin,
)
from localcdap.java import commons_csv
from localcdap.java.commons_csv import CsvError, CsvFormat
from localcdap.plugin_lib.text_values import Convert, find_text_converter

MALFORMED: Final = 31
"""The error code of a text that is not CSV."""
CUSTOM: Final = "custom"
_FORMATS: Final = (
    "DEFAULT",
    "EXCEL",
    "MYSQL",
    "RFC4180",
    "TDF",
    "Pipe Delimited",
    "Tab Delimited",
    "PDL",
    "Custom",
)
_BACKSLASH_DELIMITERS: Final = {"\\t": "\t", "\\u0001": "\x01"}


Row = Sequence[str | None]


def _make_unquoted_format(delimiter: str) -> CsvFormat:
    """Return the format of ``Pipe Delimited`` and ``Custom``: backslash escapes, no quotes."""
    return CsvFormat(delimiter, quote=None, escape="\\", ignore_surrounding_spaces=True)


_CSV_FORMATS: Final[dict[str, CsvFormat]] = {
    "default": commons_csv.DEFAULT,
    "excel": commons_csv.EXCEL,
    "mysql": commons_csv.MYSQL,
    "rfc4180": commons_csv.RFC4180,
    "tdf": commons_csv.TDF,
    "tab delimited": commons_csv.TDF,
    "pdl": _make_unquoted_format("|"),
    "pipe delimited": _make_unquoted_format("|"),
}


class CsvColumn(NamedTuple):
    """An output field that takes a CSV value."""

    name: str
    convert: Convert | None
    """None for strings."""
    is_nullable: bool
    type_name: str


@plugin(
    name="CSVParser", description="Parses the text of a field as CSV. Each row becomes a record."
)
class CSVParser(Transform):
    """Output fields with the name of an input field, except the parsed field, are copied from the input.

    The other fields take the CSV values in order. Unlike in CDAP, a copied field that is null stays null
    instead of taking a CSV value, and a missing column fails with a message instead of an index error.
    """

    class Config(PluginConfig):
        format: str = field(
            "The CSV format: DEFAULT, EXCEL, MYSQL, RFC4180, Pipe Delimited (or PDL), Tab "
            "Delimited (or TDF), or Custom with a delimiter, in any case.",
            default="DEFAULT",
            form="{format:DEFAULT|EXCEL|MYSQL|RFC4180|PDL|TDF|Custom}",
        )
        delimiter: str | None = field(
            "Delimiter of the format Custom, one character.", default=None
        )
        source: str = field(
            name="field",
            description="Input field to parse, a string. If it is null, one record is emitted in which all "
            "parsed fields are null.",
            form="{input-field}",
        )
        schema: Schema = field(
            "The output schema. Fields that the input also has, except the parsed field, are copied; the "
            "other fields take the CSV values from left to right."
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self._check_format(stage)
        self._check_columns(stage)
        if stage.input_schema is not None:
            self._check_input(stage, stage.input_schema)
        stage.output_schema = self.config.schema
        stage.error_schema = stage.input_schema

    def _check_format(self, stage: StageConfigurer) -> None:
        chosen, delimiter = self.config.format, self.config.delimiter
        is_custom = chosen.lower() == CUSTOM
        if not is_custom and chosen.lower() not in _CSV_FORMATS:
            stage.failures.add(
                f"Format '{chosen}' is unsupported.",
                f"Specify one of the following: {', '.join(_FORMATS)}.",
            ).with_config_property("format")
        if is_custom and not delimiter:
            failure = stage.failures.add("Delimiter must be specified for format option 'Custom'.")
            failure.with_config_property("delimiter").with_config_property("format")
        if not is_custom and delimiter:
            failure = stage.failures.add(
                "Custom delimiter can only be used for format option 'Custom'.", "Remove delimiter."
            )
            failure.with_config_property("delimiter").with_config_property("format")
        if is_custom and delimiter and len(_unescape_delimiter(delimiter)) != 1:
            stage.failures.add(
                f"Delimiter '{delimiter}' is not a single character.", "Use one character."
            ).with_config_property("delimiter")

    def _check_columns(self, stage: StageConfigurer) -> None:
        if stage.input_schema is None:
            return
        passed = self._get_passed_names(stage.input_schema)
        for declared in self.config.schema or ():
            if declared.name not in passed and find_text_converter(declared.schema) is None:
                stage.failures.add(
                    f"Output field '{declared.name}' is of type "
                    f"'{declared.schema.display_name}', which cannot be parsed from CSV.",
                    "Use a simple type, and convert it in a later stage.",
                ).with_output_field(declared.name)

    def _check_input(self, stage: StageConfigurer, schema: Schema) -> None:
        name = self.config.source
        parsed = schema.field(name) if name else None
        if name and parsed is None:
            stage.failures.add(
                f"Field '{name}' must be present in the input schema."
            ).with_config_property("field")
        if parsed is not None and parsed.schema.non_nullable.type is not Type.STRING:
            failure = stage.failures.add(
                f"Field '{name}' is of invalid type '{parsed.schema.display_name}'.",
                "Ensure it is of type 'string'.",
            )
            failure.with_config_property("field").with_input_field(name)
        for given in schema:
            output = self.config.schema.field(given.name) if self.config.schema else None
            if given.name != name and output is not None and output.schema != given.schema:
                failure = stage.failures.add(
                    f"Output field '{given.name}' must have same schema as input schema.",
                    "Ensure input and output schema for the field is same.",
                )
                failure.with_input_field(given.name).with_output_field(given.name)

    def _get_passed_names(self, schema: Schema) -> set[str]:
        return set(schema.field_names) - {self.config.source}

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        # Error records hold the whole input record.
        return None

    def record_lineage(self, lineage: LineageRecorder) -> None:
        """Record the operation of the original (``CSVParser.prepareRun``)."""
        passed = set(lineage.input_fields) - {self.config.source}
        parsed = [name for name in lineage.outputs if name not in passed]
        lineage.derive(parsed, [self.config.source], "Parse")
        lineage.influence(EdgeKind.FILTER, [self.config.source])

    def initialize(self, context: StageContext) -> None:
        chosen = self.config.format.lower()
        if chosen == CUSTOM:
            self._format = _make_unquoted_format(_unescape_delimiter(self.config.delimiter or ","))
        else:
            self._format = _CSV_FORMATS[chosen]
        passed = self._get_passed_names(context.input_schema)
        self._passed = [f.name for f in self.config.schema if f.name in passed]
        self._columns = [
            CsvColumn(
                f.name, _find_converter(f.schema), f.schema.is_nullable, f.schema.display_name
            )
            for f in self.config.schema
            if f.name not in passed
        ]

    def transform(self, record: Record, emit: Emitter) -> None:
        text = record[self.config.source]
        if text is None:
            emit(self._record(record, [None] * len(self._columns)))
            return
        try:
            rows = self._format.parse(text)
        except CsvError as error:
            emit.error(record, MALFORMED, str(error))
            return
        for row in rows:
            emit(self._record(record, row))

    def _record(self, record: Record, row: Row) -> Record:
        columns = self._columns
        if len(row) < len(columns):
            raise StageError(
                f"A CSV record has {len(row)} values, but the schema needs {len(columns)}: {row}.",
                f"Remove fields from the schema, starting with '{columns[len(row)].name}', or "
                "repair the data.",
            )
        out: dict[str, Any] = {name: record[name] for name in self._passed}
        column: CsvColumn | None = None
        text: str | None = None
        try:
            for column, text in zip(columns, row, strict=False):
                name, convert, *_ = column
                if text:
                    out[name] = text if convert is None else convert(text)
                else:
                    out[name] = _convert_empty(column, text, row)
        except ValueError:
            assert column is not None
            raise StageError(
                f"'{text}' in CSV field '{column.name}' is not a value of type {column.type_name}."
            ) from None
        return out


def _convert_empty(column: CsvColumn, text: str | None, row: Row) -> str | None:
    """Convert an empty or null CSV value."""
    if text == "" and column.convert is None:
        return ""
    if text is None or column.is_nullable:
        return None
    raise StageError(
        f"CSV field '{column.name}' is of non-nullable type '{column.type_name}', but its value is "
        f"empty in {row}.",
        f"Make '{column.name}' nullable in the schema.",
    )


def _find_converter(schema: Schema) -> Convert | None:
    return None if schema.non_nullable.type is Type.STRING else find_text_converter(schema)


def _unescape_delimiter(text: str) -> str:
    return _BACKSLASH_DELIMITERS.get(text, text)
