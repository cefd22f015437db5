"""The rows that connectors ask the instance for.

They are rows of its tables and pipelines and of sources of Spark: the records of stages of deployed pipelines
and of runs, which previews collect.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from localcdap.api.arrow import from_arrow_schema
from localcdap.api.connector import MOST_RECORDS, PipelineOutline, SampleRequest, StageOutline
from localcdap.api.errors import BadRequestError, NotFoundError, QueryError
from localcdap.api.sql_names import quote_identifier
from localcdap.datasets.sql import SqlRequest, SqlService
from localcdap.engine.messages.samples import StageSample
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.rules.graph import ALERT_PUBLISHER, CONTROL, SINKS, SPLITTER
from localcdap.runs.model import Run
from localcdap.runs.preview.model import MOST_RECORDS as MOST_PREVIEWED
from localcdap.runs.preview.model import Preview, PreviewRequest, PreviewStatus
from localcdap.runs.preview.service import PreviewService
from localcdap.runs.service import RunService
from localcdap.sandbox.connector_calls import GivenRows, WantedRows, WantedStage
from localcdap.security.access import AccessChecks
from localcdap.store.columns import build_sample_query
from localcdap.text import format_available

_WAIT_S: Final = 5.0


def wait_for_sample(
    previews: PreviewService, preview: Preview, stage: str, what: str
) -> StageSample:
    """Wait for the end of a preview, and return the sample of a stage.

    :param what: the subject of the message when there is none, such as ``Source 'File'``.
    :raises BadRequestError: when there is none.
    """
    while not preview.status.is_end:
        preview = previews.wait(preview.namespace, preview.preview, preview.version, _WAIT_S)
    found = preview.stages.get(stage)
    if preview.status is not PreviewStatus.COMPLETED or found is None:
        reasons = [each.message for each in preview.errors]
        if preview.error is not None:
            reasons.append(preview.error.message)
        raise BadRequestError(
            f"{what} cannot be read: {'; '.join(reasons) or preview.status.value}",
            "Correct the connection, or what it shows.",
        )
    return found


_MOST_RUNS: Final = 1_000
"""The newest runs of the namespace that are listed."""


class StageRows:
    """Reads records of stages, as the caller of the connection may. Threads may share it.

    A preview computes them: a run keeps none of its records.

    :param limit_s: seconds that a preview may take.
    """

    def __init__(
        self,
        applications: ApplicationService,
        runs: RunService,
        previews: PreviewService,
        checks: AccessChecks,
        limit_s: float = 120.0,
    ) -> None:
        self._applications = applications
        self._runs = runs
        self._previews = previews
        self._checks = checks
        self._limit_s = limit_s

    def fetch(self, namespace: str, wanted: WantedRows, stage: WantedStage) -> GivenRows:
        """Return pipelines, the stages of one, or records of a stage.

        :raises NotFoundError: when there is no such pipeline, run or stage.
        :raises UnauthorizedError: when the caller may not see or preview it.
        :raises BadRequestError: when the records cannot be computed.
        """
        if stage.pipeline is None:
            found = self._list_runs(namespace) if stage.of_runs else self._list(namespace)
            return GivenRows(wanted, pipelines=found)
        document, run = self._read(namespace, stage)
        if stage.stage is None:
            return GivenRows(wanted, pipelines=[_describe(stage.pipeline, document, run)])
        return self._sample(namespace, wanted, stage, document, run)

    def _list(self, namespace: str) -> list[PipelineOutline]:
        arguments = {"namespace": namespace}
        found = self._checks.perform(self._applications, "list_applications", arguments)
        return [PipelineOutline(each.name) for each in found]

    def _list_runs(self, namespace: str) -> list[PipelineOutline]:
        arguments = {"namespace": namespace, "limit": _MOST_RUNS}
        found: list[Run] = self._checks.perform(self._runs, "list_runs", arguments)
        return [_outline(run) for run in found]

    def _read(self, namespace: str, stage: WantedStage) -> tuple[PipelineDocument, Run | None]:
        if not stage.of_runs:
            arguments = {"namespace": namespace, "name": stage.pipeline}
            text = self._checks.perform(self._applications, "export", arguments)
            return read_document(text), None
        arguments = {"namespace": namespace, "run": stage.pipeline}
        run: Run = self._checks.perform(self._runs, "get", arguments)
        text = self._checks.perform(self._runs, "get_document", {"run": run.run})
        return read_document(text), run

    def _sample(
        self,
        namespace: str,
        wanted: WantedRows,
        stage: WantedStage,
        document: PipelineDocument,
        run: Run | None,
    ) -> GivenRows:
        name = stage.stage or ""
        outlines = {each.name: each for each in _describe("", document, run).stages}
        outline = outlines.get(name)
        if outline is None:
            shown = format_available(name, sorted(outlines))
            raise NotFoundError(f"There is no stage '{name}' with records; available: {shown}.")
        request = PreviewRequest(
            document.to_json(),
            namespace,
            name=stage.pipeline if run is None else run.pipeline,
            arguments=dict(stage.arguments) if run is None else run.arguments,
            records=min(max(1, wanted.limit), MOST_PREVIEWED),
            timeout_minutes=self._limit_s / 60,
            stage=name,
            recordings={} if run is None else run.recordings,
        )
        preview = self._checks.perform(self._previews, "start", {"request": request})
        found = wait_for_sample(self._previews, preview, name, f"Stage '{name}'")
        part: Any = found.ports.get(stage.port) if stage.port else found
        if part is None or part.schema is None:
            ports = ", ".join(outline.ports) or "none"
            raise BadRequestError(
                f"Stage '{name}' has no records of its own; its ports are: {ports}.",
                "Name the port after the stage.",
            )
        return GivenRows(
            wanted, records=part.records, schema=part.schema, total=_find_total(outline, part)
        )


def _find_total(outline: StageOutline, found: Any) -> int | None:
    """Return how many records the stage gave in a run; None when that is not known, or was fewer."""
    if outline.ports or outline.records is None or outline.records < found.count:
        return None
    return outline.records


def _outline(run: Run) -> PipelineOutline:
    return PipelineOutline(run.pipeline, run.run, run.status.value, run.starting)


def _describe(name: str, document: PipelineDocument, run: Run | None) -> PipelineOutline:
    outline = PipelineOutline(name) if run is None else _outline(run)
    for stage in document.stages:
        type = stage.plugin.type
        if type in CONTROL or type == ALERT_PUBLISHER:
            continue
        ports = [c.port for c in document.connections if c.source == stage.name and c.port]
        made = StageOutline(stage.name, type, tuple(dict.fromkeys(ports)))
        if type != SPLITTER:
            made.ports = ()
        counts = None if run is None else run.stages.get(stage.name)
        if counts is not None:
            made.records = counts.records_in if type in SINKS else counts.records_out
        outline.stages.append(made)
    return outline


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
