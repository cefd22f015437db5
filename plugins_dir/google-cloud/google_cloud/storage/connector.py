"""The connector GCS: buckets of Cloud Storage for which folders of this machine stand."""

from __future__ import annotations

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseRequest,
    Capabilities,
    Connector,
    ConnectorContext,
    ConnectorSpec,
    RecordStream,
    SampleRequest,
    SpecificationRequest,
    capability,
    field,
    plugin,
)
from localcdap.plugin_lib.connectors.buckets import Buckets
from localcdap.plugin_lib.connectors.sampling_config import SamplingConfig

from ..account import GoogleProjectConfig


@plugin(
    name="GCS",
    description="Local: browses the local folders of buckets of Cloud Storage.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsConnector(Connector):
    class Config(SamplingConfig, GoogleProjectConfig, rename="camel"):
        root_bucket: str | None = field(
            "The bucket that the connection shows; by default, all buckets.",
            default=None,
            form="{bucket}",
        )

    config: Config

    def test(self, context: ConnectorContext) -> None:
        Buckets(context, "gs").check()

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        root, path = self.config.root_bucket, request.path or "/"
        if root and not path.strip("/"):
            return BrowseDetail([BrowseEntity(root, f"/{root}", "bucket", can_browse=True)], 1)
        return Buckets(context, "gs").browse(path, request.search)

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        return Buckets(context, "gs").read(
            request.path or "/", self.config.add_defaults(request.properties)
        )

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        properties = self.config.add_defaults(request.properties)
        return Buckets(context, "gs").specify("GCSFile", request.path or "", properties)
