"""The connector BigQuery: datasets for whose tables tables of the namespace stand."""

from __future__ import annotations

from collections.abc import Collection

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseRequest,
    Capabilities,
    Connector,
    ConnectorContext,
    ConnectorSpec,
    RecordStream,
    RelatedPlugin,
    SampleRequest,
    SpecificationRequest,
    capability,
    field,
    plugin,
)
from localcdap.api.connector import format_connection_macro
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.plugin_lib.connectors.tables import describe_table

from ..account import WITHOUT_EFFECT, GoogleProjectConfig
from .tables import get_table_name


@plugin(
    name="BigQuery",
    description="Local: browses the tables of the namespace that stand for those of BigQuery.",
)
@capability(Capabilities.Mode.NATIVE)
class BigQueryConnector(Connector):
    class Config(GoogleProjectConfig, macros=True, rename="camel"):
        dataset_project: str | None = field(
            "Project of the datasets; projects are ignored here.",
            default=None,
            group=WITHOUT_EFFECT,
        )
        root_dataset: str | None = field(
            "The dataset that the connection shows; by default, all datasets.", default=None
        )
        show_hidden_datasets: bool = field(
            "Whether the connection also shows datasets whose names begin with '_'.", default=False
        )

    config: Config

    def test(self, context: ConnectorContext) -> None:
        context.list_tables()

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        tables = {
            (dataset, table): rows
            for name, rows in context.list_tables().items()
            for dataset, dot, table in [name.partition(".")]
            if dot
        }
        wanted, _, name = (request.path or "").strip("/").partition("/")
        if not wanted:
            datasets = self._list_datasets({dataset for dataset, _ in tables})
            return BrowseDetail(
                [BrowseEntity(each, f"/{each}", "dataset", can_browse=True) for each in datasets]
            )
        found = [
            describe_table(f"/{dataset}/{table}", rows)
            for (dataset, table), rows in sorted(tables.items())
            if dataset == wanted and name in ("", table)
        ]
        if not found:
            raise NotFoundError(
                f"There is nothing at '{request.path}'.",
                "Tables with names such as 'dataset.table' stand for those of BigQuery.",
            )
        return BrowseDetail(found)

    def _list_datasets(self, datasets: Collection[str]) -> list[str]:
        if self.config.root_dataset:
            return [self.config.root_dataset]
        shows_all = self.config.show_hidden_datasets
        return sorted(name for name in datasets if shows_all or not name.startswith("_"))

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        return context.read_table(get_table_name(*_split(request.path)), request)

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        dataset, table = _split(request.path)
        properties = {"referenceName": f"{dataset}.{table}", "dataset": dataset, "table": table}
        if context.connection:
            macro = format_connection_macro(context.connection)
            properties |= {"useConnection": "true", "connection": macro}
        return ConnectorSpec([RelatedPlugin("BigQueryTable", "batchsource", properties)])


def _split(path: str | None) -> tuple[str, str]:
    dataset, _, table = (path or "").strip("/").partition("/")
    if not dataset or not table:
        raise BadRequestError(f"'{path}' is not a table.", "Write /dataset/table.")
    return dataset, table
