"""The records of stages that connectors ask for: of deployed pipelines, and of runs.

Previews whose records connectors show.
"""

from __future__ import annotations

from typing import Any, Final

from localcdap.api.connector import PipelineOutline, StageOutline
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.engine.messages.samples import StageSample
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.rules.plugin_types import ALERT_PUBLISHER, CONTROL, SINKS, SPLITTER
from localcdap.runs.model import Run
from localcdap.runs.preview.model import MOST_RECORDS as MOST_PREVIEWED
from localcdap.runs.preview.model import Preview, PreviewRequest, PreviewStatus
from localcdap.runs.preview.service import PreviewService
from localcdap.runs.service import RunService
from localcdap.sandbox.connector_calls import GivenRows, WantedRows, WantedStage
from localcdap.security.access import AccessChecks
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
