"""The JSONFormatter transform: formats a record as a JSON object."""

from __future__ import annotations

from localcdap.api import PluginConfig, Record, Schema, Type, field, plugin
from localcdap.plugin_lib.json_texts import format_json

from ..formatted_record import FormattedRecord


@plugin(name="JSONFormatter", description="Formats each record as a JSON object in one field.")
class JSONFormatter(FormattedRecord):
    """See :func:`localcdap.plugin_lib.json_texts.format_json` for the JSON of values."""

    class Config(PluginConfig):
        schema: Schema = field("The output schema: one field of type string or bytes for the JSON.")

    config: Config
    types_of_text = (Type.STRING, Type.BYTES)

    def format_record(self, record: Record) -> str:
        return format_json({name: record[name] for name in self._given})
