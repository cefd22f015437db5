"""Records that come to a stage when all that stands before it is tried now, from its sources on."""

from __future__ import annotations

from typing import Any

from localcdap.api.errors import BadRequestError
from localcdap.api.pipeline import StageConnection
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.rules.plugin_types import CONDITION, ERROR_TRANSFORM
from localcdap.runs.debug.model import DebugAnswer, DebugRequest, GivenRecords

Records = list[Any]


class UpstreamRecords:
    """The stages of a pipeline, each tried at most once.

    :param text: the pipeline as JSON.
    :param records: the most that a source reads.
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
        """What comes to a stage from one of its inputs. Called in a thread.

        :raises LocalcdapError: when a stage before it cannot be tried.
        """
        return self._arriving(cdap, stage, source, frozenset((stage,)))

    def _arriving(self, cdap: Cdap, stage: str, source: str, behind: frozenset[str]) -> Records:
        if source in behind:
            raise BadRequestError(f"Stage '{source}' is connected to itself.")
        if self._types.get(source) == CONDITION:
            given = self._collect_inputs(cdap, source, behind | {source})
            return [record for each in given for record in each.records]
        answer = self._answers.get(source)
        if answer is None:
            answer = self._answers[source] = self._debug_stage(cdap, source, behind | {source})
        ports = {c.port for c in self._between(source, stage)}
        return _left(answer, ports, takes_errors=self._types.get(stage) == ERROR_TRANSFORM)

    def _debug_stage(self, cdap: Cdap, stage: str, behind: frozenset[str]) -> DebugAnswer:
        request = DebugRequest(
            stage,
            self._collect_inputs(cdap, stage, behind),
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

    def _collect_inputs(self, cdap: Cdap, stage: str, behind: frozenset[str]) -> list[GivenRecords]:
        sources = dict.fromkeys(c.source for c in self._connections if c.target == stage)
        return [GivenRecords(each, self._arriving(cdap, stage, each, behind)) for each in sources]

    def _between(self, source: str, target: str) -> list[StageConnection]:
        return [c for c in self._connections if (c.source, c.target) == (source, target)]


def _left(answer: DebugAnswer, ports: set[str | None], *, takes_errors: bool) -> Records:
    """What of a stage's answer goes on by some of its ports."""
    if takes_errors:
        return [
            {"record": each.record, "code": each.code, "message": each.message}
            for each in answer.error_records
        ]
    if answer.ports:
        return [r for port, out in answer.ports.items() if port in ports for r in out.records]
    return answer.output.records if answer.output is not None else []
