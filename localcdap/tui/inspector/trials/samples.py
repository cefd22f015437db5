"""Records of a stage to look at, wherever they come from: a preview, a trial."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from localcdap.api.schema import Schema
from localcdap.engine.preview.samples import Problem, Rejected, StageSample
from localcdap.runs.debug.model import DebugAnswer


class Sheet(NamedTuple):
    """One table of records."""

    label: str
    records: list[Any]
    schema: Schema | None
    note: str = ""
    """What is not shown of it."""


class Findings(NamedTuple):
    """What a stage made of records."""

    sheets: list[Sheet]
    problems: list[Problem]
    logs: list[str]


def of_preview(sample: StageSample) -> Findings:
    sheets = [
        Sheet(f"port {port}", each.records, each.schema, _note(len(each.records), each.count))
        for port, each in sample.ports.items()
    ]
    if not sheets:
        note = _note(len(sample.records), sample.count)
        sheets = [Sheet("records", sample.records, sample.schema, note)]
    if sample.errors:
        note = _note(len(sample.errors), sample.error_count)
        sheets.append(Sheet("errors", _rejected(sample.errors), None, note))
    return Findings(sheets, sample.problems, [])


def of_trial(answer: DebugAnswer) -> Findings:
    sheets = [Sheet(f"port {p}", each.records, each.schema) for p, each in answer.ports.items()]
    if answer.output is not None:
        sheets.append(Sheet("records", answer.output.records, answer.output.schema))
    if answer.error_records:
        sheets.append(Sheet("errors", _rejected(answer.error_records), None))
    return Findings(sheets, answer.errors, answer.logs)


def _rejected(errors: list[Rejected]) -> list[Any]:
    return [
        {"code": each.code, "message": each.message, "record": _text(each.record)}
        for each in errors
    ]


def _text(record: Any) -> str:
    return record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)


def _note(shown: int, count: int) -> str:
    return f"the first of {count:,}" if count > shown else ""
