"""The connector File: folders and files of this machine."""

from __future__ import annotations

from localcdap.api import (
    BrowseDetail,
    BrowseRequest,
    Connector,
    ConnectorContext,
    ConnectorSpec,
    RecordStream,
    RelatedPlugin,
    SampleRequest,
    SpecificationRequest,
    field,
    plugin,
)
from localcdap.plugin_lib.connectors.file_records import (
    build_source_properties,
    leaves_out_lines,
    make_reference_name,
    read_file,
)
from localcdap.plugin_lib.connectors.folders import RootFolder
from localcdap.plugin_lib.connectors.sampling_config import SamplingConfig


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
