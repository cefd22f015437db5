"""The report of a pipeline test, as text and as JUnit XML: what differs from what the test expects."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import msgspec

from localcdap.api.pipeline import StandIn
from localcdap.api.record_json import decode_text_record, format_json_value
from localcdap.api.schema import Schema
from localcdap.engine.messages.samples import StageSample
from localcdap.pipeline_tests.cases import CaseResult, CaseStatus
from localcdap.pipeline_tests.comparison import MOST_LETTERS, RecordDifference, list_differences
from localcdap.pipeline_tests.model import Expectation, ExpectedFailure, PipelineTest, parse_output


class Outcome(enum.StrEnum):
    """The outcome of a test."""

    PASSED = "passed"
    FAILED = "failed"
    """The output or the end of the pipeline is not as expected."""
    STOPPED = "stopped"


class OutputDifference(msgspec.Struct, rename="camel"):
    """The differences in the records of one output."""

    output: str
    expected_count: int
    actual_count: int
    records: list[RecordDifference] = []
    """Empty when only a number of records was expected."""


class PipelineTestReport(msgspec.Struct, rename="camel"):
    """The result of a test."""

    test: str
    file: str
    outcome: Outcome
    reasons: list[str] = []
    """Why the test failed, except for differing records."""
    outputs: list[OutputDifference] = []
    took_ms: int = 0
    stand_ins: list[StandIn] = []
    """The stages that did not use their plugins."""


class ActualOutput(msgspec.Struct):
    """The records that one output of a stage gave."""

    records: list[Any]
    count: int
    schema: Schema | None = None
    problem: str | None = None
    """Why the output has no records; None when it can have records."""


def evaluate(
    test: PipelineTest, result: CaseResult, outputs: list[str] | None = None
) -> PipelineTestReport:
    """Compare the result of a pipeline with what the test expects.

    :param outputs: the only outputs that are compared; None for all.
    """
    report = PipelineTestReport(
        test.name,
        str(test.file),
        Outcome.PASSED,
        took_ms=result.took_ms,
        stand_ins=result.stand_ins,
    )
    if result.status is CaseStatus.KILLED and result.error is None:
        report.outcome = Outcome.STOPPED
        return report
    report.reasons = _explain_outcome(test.fails, result)
    if test.fails is not None or result.status is CaseStatus.COMPLETED:
        for output, expectation in test.expect.items():
            if outputs is None or output in outputs:
                _compare(output, expectation, get_actual_output(output, result), report)
    if report.reasons or report.outputs:
        report.outcome = Outcome.FAILED
    return report


def get_actual_output(output: str, result: CaseResult) -> ActualOutput:
    """Return the records that an output gave; none when its stage was not run."""
    stream = parse_output(output, list(result.stages))
    if stream is None:
        return ActualOutput([], 0)
    sample = result.stages[stream.stage]
    if stream.errors:
        return ActualOutput(msgspec.to_builtins(sample.errors), sample.error_count)
    if stream.port is not None:
        port = sample.ports.get(stream.port)
        if port is None:
            known = ", ".join(sample.ports) or "none"
            problem = f"stage '{stream.stage}' has no port '{stream.port}'; its ports: {known}"
            return ActualOutput([], 0, problem=problem)
        return ActualOutput(port.records, port.count, port.schema)
    if sample.ports:
        problem = f"a port of the splitter must be named: {_list_ports(stream.stage, sample)}"
        return ActualOutput([], 0, problem=problem)
    return ActualOutput(sample.records, sample.count, sample.schema)


def _list_ports(stage: str, sample: StageSample) -> str:
    return ", ".join(f"'{stage}.{port}'" for port in sample.ports)


def _compare(
    output: str, how: Expectation, given: ActualOutput, report: PipelineTestReport
) -> None:
    if given.problem is not None:
        report.reasons.append(f"{output}: {given.problem}.")
        return
    wanted = how.count
    found: list[RecordDifference] = []
    if how.records is not None:
        records = how.records.records
        if how.records.are_text and given.schema is not None:
            records = [decode_text_record(given.schema, each) for each in records]
        wanted = len(records) if wanted is None else wanted
        found = list_differences(records, given.records, how, given.schema)
    if found or (wanted is not None and wanted != given.count):
        report.outputs.append(OutputDifference(output, wanted or 0, given.count, found))


def _explain_outcome(fails: ExpectedFailure | None, result: CaseResult) -> list[str]:
    """Return how the end of the pipeline differs from what the test expects."""
    failures = _list_failures(result)
    if fails is None:
        if result.status is CaseStatus.COMPLETED:
            return []
        what = "is not valid" if result.status is CaseStatus.INVALID else "failed"
        listed = [f"{stage}: {text}" if stage else text for stage, text in failures]
        return [f"The pipeline {what}: {each}" for each in listed] or [f"The pipeline {what}."]
    if result.status is CaseStatus.COMPLETED:
        return ["The pipeline was expected to fail, but did not."]
    reasons = []
    is_invalid = result.status is CaseStatus.INVALID
    if fails.when is not None and is_invalid is not (fails.when == "validation"):
        reasons.append(
            f"Expected to fail at {fails.when}, but it failed at {'validation' if is_invalid else 'run'}."
        )
    matching = [
        text
        for stage, text in failures
        if (fails.stage is None or stage == fails.stage)
        and (fails.message is None or fails.message in text)
    ]
    if not matching:
        where = f" of stage '{fails.stage}'" if fails.stage is not None else ""
        wanted = f" with '{fails.message}'" if fails.message is not None else ""
        actual = "; ".join(f"{stage or 'pipeline'}: {text}" for stage, text in failures)
        reasons.append(f"Expected a failure{where}{wanted}, but got: {actual}")
    return reasons


def _list_failures(result: CaseResult) -> list[tuple[str | None, str]]:
    """Return the stage and the message of each failure."""
    found = [(each.stage, each.message) for each in result.errors]
    found += [
        (name, problem.message) for name, each in result.stages.items() for problem in each.problems
    ]
    error = result.error
    if error is not None and (error.stage, error.message) not in found:
        lines = [error.message, error.corrective_action or "", *error.trace]
        found.append((error.stage, "\n".join(line for line in lines if line)))
    return found


_MOST_RECORDS: Final = 20
"""The most records of one output that are shown."""
MARKS: Final = {"missing": "-", "unexpected": "+", "changed": "~"}


def format_details(report: PipelineTestReport) -> list[str]:
    """Return the reasons of a failed test and a diff: ``-`` missing, ``+`` unexpected, ``~`` changed."""
    lines = [line for reason in report.reasons for line in reason.splitlines()]
    for output in report.outputs:
        lines += _format_output(output)
    return lines


def _format_output(output: OutputDifference) -> Iterator[str]:
    counts = ""
    if output.expected_count != output.actual_count:
        counts = f": expected {output.expected_count:,} records, got {output.actual_count:,}"
    yield f"{output.output}{counts or ': records differ'}"
    for record in output.records[:_MOST_RECORDS]:
        yield from _format_record(record)
    if len(output.records) > _MOST_RECORDS:
        yield f"  … and {len(output.records) - _MOST_RECORDS:,} more"


def _format_record(record: RecordDifference) -> Iterator[str]:
    yield f"  {MARKS[record.kind]} {record.label}"
    for field in record.fields:
        sides = (format_json_value(side, MOST_LETTERS) for side in (field.expected, field.actual))
        yield f"      {field.field}: {' → '.join(sides)}"


_UNWRITABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot contain."""


def write_junit(file: Path, reports: Sequence[PipelineTestReport]) -> None:
    """Write a JUnit report; an existing file is replaced."""
    counted = {
        "tests": str(len(reports)),
        "failures": str(sum(each.outcome is Outcome.FAILED for each in reports)),
        "skipped": str(sum(each.outcome is Outcome.STOPPED for each in reports)),
        "errors": "0",
        "time": _format_seconds(sum(each.took_ms for each in reports)),
    }
    suite = ET.Element("testsuite", {"name": "localcdap", **counted})
    for each in reports:
        case = ET.SubElement(
            suite,
            "testcase",
            name=_replace_unwritable(each.test),
            classname=_replace_unwritable(str(Path(each.file).parent)),
            file=_replace_unwritable(each.file),
            time=_format_seconds(each.took_ms),
        )
        lines = format_details(each)
        if each.outcome is Outcome.FAILED:
            failure = ET.SubElement(case, "failure", message=_replace_unwritable(lines[0]))
            failure.text = _replace_unwritable("\n".join(lines))
        elif each.outcome is Outcome.STOPPED:
            ET.SubElement(case, "skipped", message="stopped")
    file.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def _format_seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"


def _replace_unwritable(text: str) -> str:
    return _UNWRITABLE.sub("�", text)
