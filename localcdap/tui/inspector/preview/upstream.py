"""Input records of a stage, computed by running its upstream stages from the sources on."""

from __future__ import annotations

from typing import Any

from localcdap.api.errors import BadRequestError
from localcdap.api.pipeline import StageConnection
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.rules.graph import CONDITION, ERROR_TRANSFORM
from localcdap.runs.preview.model import DebugAnswer, DebugRequest, GivenRecords

Records = list[Any]


class UpstreamRecords:
    """Runs stages of a pipeline, each at most once.

    :param text: the pipeline as JSON.
    :param records: the most records that a source reads.
    """

    def __init__(
        self,
        document: PipelineDocument,
        text: str,
        *,
        namespace: str,
        arguments: dict[str, str],
        records: int,
    ) -> None:
        self._types = {stage.name: stage.plugin.type for stage in document.stages}
        self._connections = document.connections
        self._text = text
        self._namespace = namespace
        self._arguments = arguments
        self._records = records
        self._answers: dict[str, DebugAnswer] = {}

    def read_arriving(self, cdap: Cdap, stage: str, source: str) -> Records:
        """Return the records that a stage gets from one of its inputs. Called in a thread.

        :raises LocalcdapError: when an upstream stage fails.
        """
        return self._read_input(cdap, stage, source, frozenset((stage,)))

    def _read_input(
        self, cdap: Cdap, stage: str, source: str, downstream: frozenset[str]
    ) -> Records:
        if source in downstream:
            raise BadRequestError(f"Stage '{source}' is connected to itself.")
        if self._types.get(source) == CONDITION:
            given = self._collect_inputs(cdap, source, downstream | {source})
            return [record for each in given for record in each.records]
        answer = self._answers.get(source)
        if answer is None:
            answer = self._answers[source] = self._debug_stage(cdap, source, downstream | {source})
        ports = {c.port for c in self._list_connections(source, stage)}
        return _select_output(answer, ports, takes_errors=self._types.get(stage) == ERROR_TRANSFORM)

    def _debug_stage(self, cdap: Cdap, stage: str, downstream: frozenset[str]) -> DebugAnswer:
        request = DebugRequest(
            stage,
            self._collect_inputs(cdap, stage, downstream),
            self._namespace,
            self._arguments,
            document=self._text,
            records=self._records,
        )
        answer = cdap.debugging.debug(request)
        if answer.errors and answer.output is None and not answer.ports:
            first = answer.errors[0]
            raise BadRequestError(f"Stage '{stage}': {first.message}", first.corrective_action)
        return answer

    def _collect_inputs(
        self, cdap: Cdap, stage: str, downstream: frozenset[str]
    ) -> list[GivenRecords]:
        sources = dict.fromkeys(c.source for c in self._connections if c.target == stage)
        return [
            GivenRecords(each, self._read_input(cdap, stage, each, downstream)) for each in sources
        ]

    def _list_connections(self, source: str, target: str) -> list[StageConnection]:
        return [c for c in self._connections if (c.source, c.target) == (source, target)]


def _select_output(answer: DebugAnswer, ports: set[str | None], *, takes_errors: bool) -> Records:
    """Return the records that a stage sends through some of its ports, or its error records."""
    if takes_errors:
        return [
            {"record": each.record, "code": each.code, "message": each.message}
            for each in answer.error_records
        ]
    if answer.ports:
        return [r for port, out in answer.ports.items() if port in ports for r in out.records]
    return answer.output.records if answer.output is not None else []
