"""The connector Paste: a text that somebody has copied from elsewhere."""

from __future__ import annotations

import tempfile

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseProperty,
    BrowseRequest,
    Connector,
    ConnectorContext,
    PluginConfig,
    RecordStream,
    SampleRequest,
    field,
    plugin,
)
from localcdap.plugin_lib.connectors.file_records import read_file


@plugin(name="Paste", description="Samples a text that was pasted, such as cells of a sheet.")
class PasteConnector(Connector):
    class Config(PluginConfig):
        text: str = field("The text: lines, delimited values, or JSON.")

    config: Config

    def test(self, context: ConnectorContext) -> None:
        """Accept every text."""

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        size = BrowseProperty(str(len(self.config.text.encode())), "SIZE_BYTES")
        return BrowseDetail(
            [BrowseEntity("text", "/text", "text", can_sample=True, properties={"Size": size})]
        )

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="") as file:
            file.write(self.config.text)
            file.flush()
            stream = read_file(file.name, request.properties)
            stream.records = list(stream.records)
            return stream
