"""The JSONFormatter transform: formats a record as a JSON object."""

from __future__ import annotations

from localcdap.api import PluginConfig, Record, Schema, StageContext, Type, field, plugin
from localcdap.plugin_lib.json_texts import former_form_field, make_json_writer

from ..formatted_record import FormattedRecord


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
