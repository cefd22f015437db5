"""The connector Tables: the tables, views and file sets of the namespace."""

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
    plugin,
)
from localcdap.plugin_lib.connectors.tables import describe_table, make_missing_error


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
