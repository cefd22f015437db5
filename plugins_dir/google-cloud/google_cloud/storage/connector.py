"""The connector GCS: buckets of Cloud Storage for which folders of this machine stand."""

from __future__ import annotations

from localcdap.api import (
    BrowseDetail,
    BrowseRequest,
    Capabilities,
    Connector,
    ConnectorContext,
    ConnectorSpec,
    RecordStream,
    SampleRequest,
    SpecificationRequest,
    capability,
    plugin,
)
from localcdap.plugin_lib.connectors.buckets import Buckets

from ..account import GoogleAccountConfig


@plugin(
    name="GCS",
    description="Local: browses the local folders of buckets of Cloud Storage.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsConnector(Connector):
    Config = GoogleAccountConfig
    config: GoogleAccountConfig

    def test(self, context: ConnectorContext) -> None:
        Buckets(context, "gs").check()

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        return Buckets(context, "gs").browse(request.path or "/", request.search)

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        return Buckets(context, "gs").read(request.path or "/", request)

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        return Buckets(context, "gs").specify("GCSFile", request)
