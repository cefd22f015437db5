"""The rows that connectors ask the instance for: of its tables and pipelines, and of sources of Spark."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from localcdap.api.arrow import from_arrow_schema
from localcdap.api.connector import MOST_RECORDS, SampleRequest
from localcdap.api.errors import BadRequestError, NotFoundError, QueryError
from localcdap.api.sql_names import quote_identifier
from localcdap.connectors.stage_rows import StageRows, wait_for_sample
from localcdap.datasets.sql import SqlRequest, SqlService
from localcdap.runs.preview.model import MOST_RECORDS as MOST_PREVIEWED
from localcdap.runs.preview.model import PreviewRequest
from localcdap.runs.preview.service import PreviewService
from localcdap.sandbox.connector_calls import GivenRows, WantedRows
from localcdap.security.access import AccessChecks
from localcdap.store.columns import build_sample_query
from localcdap.text import format_available

_STAGE: Final = "Source"


class InstanceRows:
    """Reads rows for connectors, as the caller of the connection may. Threads may share it.

    :param limit_s: seconds that a source may read on Spark.
    """

    def __init__(
        self,
        sql: SqlService,
        previews: PreviewService,
        checks: AccessChecks,
        stages: StageRows,
        limit_s: float = 120.0,
    ) -> None:
        self._stages = stages
        self._sql = sql
        self._previews = previews
        self._checks = checks
        self._limit_s = limit_s

    def fetch(self, namespace: str, wanted: WantedRows, sample: SampleRequest) -> GivenRows:
        """Return what a connector asks for.

        :raises NotFoundError: when there is no such table, pipeline, run or stage.
        :raises UnauthorizedError: when the caller may not read it.
        :raises BadRequestError: when a source or a stage cannot be read.
        """
        if wanted.table is not None:
            return self._read_table(namespace, wanted, sample)
        if wanted.source is not None:
            return self._read_source(namespace, wanted)
        if wanted.stage is not None:
            return self._stages.fetch(namespace, wanted, wanted.stage)
        return GivenRows(wanted, tables=self._list_tables(namespace))

    def _list_tables(self, namespace: str) -> dict[str, int | None]:
        found: list[Any] = self._checks.perform(self._sql, "list_tables", {"namespace": namespace})
        return {each.name: each.rows for each in found if each.schema == namespace}

    def _read_table(self, namespace: str, wanted: WantedRows, sample: SampleRequest) -> GivenRows:
        table = wanted.table or ""
        known = self._list_tables(namespace)
        if table not in known:
            shown = format_available(table, sorted(known))
            raise NotFoundError(
                f"There is no table '{table}' in namespace '{namespace}'; available: {shown}."
            )
        name = quote_identifier(namespace, table)
        query = build_sample_query(name, msgspec.structs.replace(sample, limit=wanted.limit))
        try:
            rows = self._sql.query(SqlRequest(query.sql, namespace, limit=MOST_RECORDS))
            counted = self._sql.query(SqlRequest(f"SELECT count(*) FROM {name}", namespace))  # noqa: S608
        except QueryError as error:
            raise BadRequestError(
                f"Table '{table}' cannot be sampled: {error.message}", error.corrective_action
            ) from None
        schema = from_arrow_schema(rows.to_table().schema)
        total: int = counted.to_table().column(0)[0].as_py()
        return GivenRows(
            wanted, arrow=rows.arrow, schema=schema, total=total, is_sampled=query.is_sampled
        )

    def _read_source(self, namespace: str, wanted: WantedRows) -> GivenRows:
        """Preview a pipeline of the source (CDAP ``LimitingConnector``)."""
        properties = dict(wanted.properties)
        if wanted.schema is not None:
            properties["schema"] = wanted.schema
        stages = [
            _make_stage(_STAGE, "batchsource", wanted.source or "", properties),
            _make_stage("Sink", "batchsink", "Trash", {"referenceName": "sample"}),
        ]
        document = {
            "name": "sample",
            "config": {"stages": stages, "connections": [{"from": _STAGE, "to": "Sink"}]},
        }
        most = min(max(1, wanted.limit), MOST_PREVIEWED)
        request = PreviewRequest(
            document, namespace, records=most, timeout_minutes=self._limit_s / 60, stage=_STAGE
        )
        preview = self._previews.start(request)
        what = f"Source '{wanted.source}'"
        found = wait_for_sample(self._previews, preview, _STAGE, what)
        if found.schema is None:
            raise BadRequestError(f"{what} cannot be read: its schema is not known.")
        total = found.count if found.count < most else None
        return GivenRows(wanted, records=found.records, schema=found.schema, total=total)


def _make_stage(name: str, type: str, plugin: str, properties: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "plugin": {"type": type, "name": plugin, "properties": properties}}
