"""The connector S3: buckets of S3 for which folders of this machine stand."""

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
from localcdap.plugin_lib.connectors.sampling_config import SamplingConfig

from .account import AmazonRegionConfig

_SCHEMES = ("s3a", "s3n", "s3")


@plugin(name="S3", description="Local: browses the local folders of buckets of S3.")
@capability(Capabilities.Mode.NATIVE)
class S3Connector(Connector):
    class Config(SamplingConfig, AmazonRegionConfig):
        """How files are read, and the account."""

    config: Config

    def test(self, context: ConnectorContext) -> None:
        Buckets(context, *_SCHEMES).check()

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        return Buckets(context, *_SCHEMES).browse(request.path or "/", request.search)

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        return Buckets(context, *_SCHEMES).read(
            request.path or "/", self.config.add_defaults(request.properties)
        )

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        properties = self.config.add_defaults(request.properties)
        return Buckets(context, *_SCHEMES).specify("S3", request.path or "", properties)
