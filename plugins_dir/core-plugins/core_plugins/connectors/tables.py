"""The connector Tables: the tables, views and file sets of the namespace."""

from __future__ import annotations

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseProperty,
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
from localcdap.api.errors import NotFoundError
from localcdap.text import format_available


@plugin(name="Tables", description="Browses and samples the tables and datasets of the namespace.")
class TablesConnector(Connector):
    def test(self, context: ConnectorContext) -> None:
        context.list_tables()

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        tables = context.list_tables()
        wanted = (request.path or "").strip("/")
        if wanted and wanted not in tables:
            shown = format_available(wanted, sorted(tables))
            raise NotFoundError(f"There is no table '{wanted}'; available: {shown}.")
        return BrowseDetail(
            [
                describe_table(name, f"/{name}", rows)
                for name, rows in sorted(tables.items())
                if wanted in ("", name)
            ]
        )

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        return context.read_table((request.path or "").strip("/"), request)

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        name = (request.path or "").strip("/")
        return ConnectorSpec([RelatedPlugin("Table", "batchsource", {"name": name})])


def describe_table(name: str, path: str, rows: int | None, type: str = "table") -> BrowseEntity:
    """Return a table as an entity that can be sampled."""
    properties = {} if rows is None else {"Rows": BrowseProperty(str(rows), "NUMBER")}
    return BrowseEntity(name, path, type, can_sample=True, properties=properties)
