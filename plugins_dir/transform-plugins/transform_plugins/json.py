"""The transforms JSONParser and JSONFormatter: a field with JSON text as a record, and a record as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from localcdap.api import (
    EdgeKind,
    Emitter,
    LineageRecorder,
    NoticeKind,
    PluginConfig,
    Record,
    Schema,
    StageConfigurer,
    StageContext,
    Transform,
    Type,
    field,
    plugin,
)
from localcdap.java.json_path import JsonPath, JsonPathError, NothingFoundError, parse_path
from localcdap.plugin_lib.differing_keys import DIFFERING, make_key_finder
from localcdap.plugin_lib.json_texts import former_form_field, make_json_writer
from localcdap.plugin_lib.json_values import (
    JsonValueError,
    decode_json,
    make_json_converter,
    mark_kinds,
)

from .formatted_record import FormattedRecord

UNREADABLE: Final = 31
"""The error code of a text that is not JSON, or does not fit the schema."""

_Read = Callable[[Record, Any], Any]


@plugin(name="JSONParser", description="Parses the text of a field as a JSON object.")
class JSONParser(Transform):
    """A text that cannot be used becomes an error record; in CDAP it fails the run or is dropped."""

    class Config(PluginConfig):
        source: str = field(
            name="field", description="Input field to parse, a string.", form="{input-field}"
        )
        mapping: str | None = field(
            "JSON paths of output fields, a comma-separated list of 'output field:JSON path', such as "
            "'first:$.name.first,zip:$.address[0].zip'. Output fields without a path are copied from "
            "the input. If not set, each output field is the top-level member of the same name.",
            default=None,
            form="{output-field}:{JSON path},",
        )
        schema: Schema = field("The output schema: the fields to read.")

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = self.config.schema
        stage.error_schema = stage.input_schema
        self._check_input(stage)
        self._parse_paths(stage)

    def _check_input(self, stage: StageConfigurer) -> None:
        if stage.input_schema is None or not self.config.source:
            return
        parsed = stage.input_schema.field(self.config.source)
        if parsed is None:
            stage.failures.add(
                f"Field '{self.config.source}' must be present in the input schema."
            ).with_config_property("field")
        elif parsed.schema.non_nullable.type is not Type.STRING:
            stage.failures.add(
                f"Field '{parsed.name}' is of invalid type '{parsed.schema.display_name}'.",
                "Ensure it is of type 'string'.",
            ).with_config_property("field").with_input_field(parsed.name)

    def _parse_paths(self, stage: StageConfigurer | None) -> dict[str, JsonPath]:
        """Parse the paths by output field, and add failures for invalid ones to the stage."""
        paths: dict[str, JsonPath] = {}
        for entry in (self.config.mapping or "").split(","):
            name, _, path = (part.strip() for part in entry.partition(":"))
            message = None
            if name and path and ":" not in path:
                try:
                    paths[name] = parse_path(path)
                except JsonPathError as error:
                    message = f"{error}."
            elif entry.strip():
                message = "Both field name and JSON expression map must be provided."
            if message and stage is not None:
                stage.failures.add(message).with_config_property("mapping", element=entry)
        return paths

    def record_lineage(self, lineage: LineageRecorder) -> None:
        read = set(lineage.outputs)
        if self.config.mapping:
            read &= set(self._parse_paths(None))
        lineage.derive(
            [name for name in lineage.outputs if name in read], [self.config.source], "Parse"
        )
        lineage.influence(EdgeKind.FILTER, [self.config.source])

    def initialize(self, context: StageContext) -> None:
        schema = self.config.schema
        self._context = context
        self._convert = make_json_converter(schema, "")
        self._find_key = make_key_finder(schema)
        self._fields: list[tuple[str, _Read]] = []
        paths = self._parse_paths(None)
        for f in schema:
            path = paths.get(f.name)
            read = _make_copy(f.name) if path is None else _make_path_reader(path, f.name, f.schema)
            self._fields.append((f.name, read))

    def transform(self, record: Record, emit: Emitter) -> None:
        text = record[self.config.source]
        if text is None:
            emit.error(record, UNREADABLE, f"Field '{self.config.source}' is null.")
            return
        try:
            out = self._read(record, text)
        except JsonValueError as error:
            emit.error(record, UNREADABLE, f"Cannot read field '{self.config.source}': {error}.")
        except ValueError as error:
            emit.error(record, UNREADABLE, f"Field '{self.config.source}' is not JSON: {error}.")
        else:
            emit(out)

    def _read(self, record: Record, text: str) -> Record:
        if not self.config.mapping:
            members = decode_json(text)
            out: Record = self._convert(members)
            key = self._find_key and self._find_key(members)
            if key:
                first = f"{key}. Text: {text}"
                self._context.count_altered(DIFFERING, first, kind=NoticeKind.KEYS)
            return out
        document = msgspec.json.decode(text)
        return {name: read(record, document) for name, read in self._fields}


def _make_copy(name: str) -> _Read:
    return lambda record, _: record.get(name)


def _make_path_reader(path: JsonPath, name: str, schema: Schema) -> _Read:
    convert = make_json_converter(schema, name, lenient=True)
    is_nullable = schema.is_nullable

    def read(_: Record, document: Any) -> Any:
        try:
            value = path.read(document)
        except NothingFoundError:
            if is_nullable:
                return None
            raise JsonValueError(f"there is nothing at '{path.text}' for '{name}'") from None
        return convert(mark_kinds(value))

    return read


@plugin(name="JSONFormatter", description="Formats each record as a JSON object in one field.")
class JSONFormatter(FormattedRecord):
    """:mod:`localcdap.plugin_lib.json_texts` describes the JSON of values."""

    class Config(PluginConfig):
        schema: Schema = field("The output schema: one field of type string or bytes for the JSON.")
        former_json: bool = former_form_field()

    config: Config
    types_of_text = (Type.STRING, Type.BYTES)

    def initialize(self, context: StageContext) -> None:
        super().initialize(context)
        self._write = make_json_writer(context.input_schema, former=self.config.former_json)

    def format_record(self, record: Record) -> str:
        return self._write({name: record[name] for name in self._given})
