"""Answers of stage debugging, built from the results of the plugin worker or the engine."""

from __future__ import annotations

from localcdap.api.failures import ValidationFailure
from localcdap.engine.messages.orders import StageDebugOrder
from localcdap.engine.messages.samples import PortSample, StageProblem, StageSample
from localcdap.engine.messages.spool import Failed, LogLine, PreviewMessage, Sampled
from localcdap.engine.preview.records import convert_to_json
from localcdap.engine.preview.stage_debug import encode_inputs
from localcdap.runs.debug.model import DebugAnswer, DebugOutput


def build_sink_answer(order: StageDebugOrder) -> DebugAnswer:
    """Return the answer for a sink, which writes nothing: the records that it would write."""
    stage, records, schema = order.stage, [], None
    for stream, batch in encode_inputs(stage, order.inputs).items():
        schema = stage.input_schemas[stream.stage]
        records += convert_to_json(schema, batch, order.shown)
    return DebugAnswer([], DebugOutput(schema, records))


def build_answer(sample: StageSample, lines: list[str]) -> DebugAnswer:
    ports = {name: _create_output(each) for name, each in sample.ports.items()}
    output = None if ports else DebugOutput(sample.schema, sample.records)
    return DebugAnswer(
        sample.problems,
        output,
        sample.errors,
        ports,
        sample.expectations,
        sample.alerts,
        lines,
        sample.altered,
    )


def build_failed_answer(failures: list[ValidationFailure]) -> DebugAnswer:
    """Return the answer for an invalid stage."""
    return DebugAnswer(
        [StageProblem(f.message, f.corrective_action, f.stage, f.field) for f in failures], None
    )


def build_unknown_schema_answer(stage: str, source: str) -> StageProblem:
    return StageProblem(
        f"The schema of the records from '{source}' is not known.",
        f"Give it with the records, or set the output schema of stage '{source}'.",
        stage,
    )


class DebugResultCollector:
    """Collects the sample, the log lines and the error that a debugging process reports."""

    def __init__(self) -> None:
        self.sample: StageSample | None = None
        self.error: StageProblem | None = None
        self.lines: list[str] = []

    def __call__(self, message: PreviewMessage) -> None:
        if isinstance(message, Sampled):
            self.sample = message.sample
        elif isinstance(message, LogLine) and message.stage is not None:
            self.lines.append(f"{message.level} {message.text}")
        elif isinstance(message, Failed):
            trace = "\n".join(message.trace) or None
            self.error = StageProblem(
                message.message, message.corrective_action, message.stage, trace=trace
            )


def _create_output(sample: PortSample) -> DebugOutput:
    return DebugOutput(sample.schema, sample.records)
