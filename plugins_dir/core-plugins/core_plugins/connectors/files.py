"""The connectors File, Paste and Tables: folders of this machine, pasted text, datasets of the namespace."""

from __future__ import annotations

import tempfile

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseProperty,
    BrowseRequest,
    Connector,
    ConnectorContext,
    ConnectorSpec,
    PluginConfig,
    RecordStream,
    RelatedPlugin,
    SampleRequest,
    SpecificationRequest,
    field,
    plugin,
)
from localcdap.plugin_lib.connectors.file_records import (
    SamplingConfig,
    build_source_properties,
    leaves_out_lines,
    make_reference_name,
    read_file,
)
from localcdap.plugin_lib.connectors.folders import RootFolder
from localcdap.plugin_lib.connectors.tables import describe_table, make_missing_error


@plugin(name="File", description="Browses and samples folders and files of this machine.")
class FileConnector(Connector):
    class Config(SamplingConfig):
        root: str = field(
            "The folder that the connection shows; nothing outside of it can be reached. A relative path is "
            "relative to the instance's folder.",
            default="/",
            form="{folder}",
            macro=True,
            addition="CDAP's connector shows all folders of a machine.",
        )

    config: Config

    def test(self, context: ConnectorContext) -> None:
        self._open(context).browse("/")

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        return self._open(context).browse(request.path or "/", request.search)

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        file = self._open(context).find_file(request.path or "/")
        return read_file(str(file), self.config.add_defaults(request.properties))

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        path = str(self._open(context).find(request.path or "/"))
        how = self.config.add_defaults(request.properties)
        if "format" not in how and not path.endswith("/"):
            how |= read_file(path, how).properties
        if leaves_out_lines(how):
            return ConnectorSpec([])
        properties = build_source_properties(path, how)
        properties["referenceName"] = make_reference_name(path)
        return ConnectorSpec([RelatedPlugin("File", "batchsource", properties)])

    def _open(self, context: ConnectorContext) -> RootFolder:
        return RootFolder(context.resolve_path(self.config.root))


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


@plugin(name="Tables", description="Browses and samples the tables and datasets of the namespace.")
class TablesConnector(Connector):
    def test(self, context: ConnectorContext) -> None:
        context.list_tables()

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        tables = context.list_tables()
        wanted = (request.path or "").strip("/")
        if wanted and wanted not in tables:
            raise make_missing_error(wanted, tables)
        return BrowseDetail(
            [
                describe_table(f"/{name}", rows)
                for name, rows in sorted(tables.items())
                if wanted in ("", name)
            ]
        )

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        return context.read_table((request.path or "").strip("/"), request)

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        name = (request.path or "").strip("/")
        return ConnectorSpec([RelatedPlugin("Table", "batchsource", {"name": name})])
