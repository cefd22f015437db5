"""Input records for debugging: parsed, generated from a schema, or computed by upstream stages."""

from __future__ import annotations

import datetime
import decimal
import io
import json
import random
from typing import Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.api.pipeline import StageConnection
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.files.delimited import read_named_records
from localcdap.files.json_records import parse_document_or_lines
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.rules.graph import CONDITION, ERROR_TRANSFORM
from localcdap.runs.preview.model import DebugAnswer, DebugRequest, GivenRecords


def parse_records(text: str, schema: Schema | None) -> list[Any]:
    """Return the records of a text, which is JSON, lines of JSON, or CSV with a header.

    :param schema: the types of the values in CSV; without it they are texts.
    :raises BadRequestError: when the text has none of these formats.
    """
    if not text.strip():
        return []
    if text.lstrip()[0] not in "{[":
        return _read_csv(text, schema)
    try:
        document = parse_document_or_lines(text)
    except ValueError as error:
        raise BadRequestError(
            f"The records are not valid JSON: {error}.",
            'Write an array of objects, [{"name": "ada"}], an object a line, or CSV with a header.',
        ) from None
    return document if isinstance(document, list) else [document]


def format_records(records: list[Any]) -> str:
    """Return records as a JSON array with one record per line."""
    lines = (json.dumps(each, ensure_ascii=False) for each in records)
    return "[\n  " + ",\n  ".join(lines) + "\n]" if records else "[]"


def _read_csv(text: str, schema: Schema | None) -> list[Any]:
    return [
        {name: _convert_cell(cell, name, schema) for name, cell in record.items()}
        for record in read_named_records(io.StringIO(text, newline=""), "records")
    ]


def _convert_cell(cell: str, name: str, schema: Schema | None) -> Any:
    """Convert a value to the type of its field. A wrong value stays a text, which the stage then reports."""
    field = schema.field(name) if schema is not None else None
    if field is None:
        return cell
    if not cell and field.schema.is_nullable:
        return None
    inner = field.schema.non_nullable
    is_text = inner.logical_type is not None or inner.type in (Type.STRING, Type.BYTES, Type.ENUM)
    if is_text:
        return cell
    try:
        return json.loads(cell.strip().lower() if inner.type is Type.BOOLEAN else cell)
    except ValueError:
        return cell


_WORDS: Final = (
    "ada",
    "grace",
    "alan",
    "edsger",
    "barbara",
    "",
    " spaced ",
    "ünïcode",
    'O\'Neil, "x"',
)
_START: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
_DEEPEST: Final = 6


def generate_records(schema: Schema, count: int, seed: int = 0) -> list[Any]:
    """Generate records as JSON: usual values, and values that often break plugins.

    The same seed gives the same records. About one in eight nullable values is null.
    """
    source = random.Random(seed)  # noqa: S311 - nothing secret
    maker = _RecordGenerator(source)
    return [encode_json_record(maker.generate_record(schema, 0)) for _ in range(count)]


class _RecordGenerator:
    def __init__(self, source: random.Random) -> None:
        self._source = source

    def generate_record(self, schema: Schema, depth: int) -> dict[str, Any]:
        return {field.name: self.generate_value(field.schema, depth) for field in schema}

    def generate_value(self, schema: Schema, depth: int) -> Any:
        if schema.is_nullable and (depth > _DEEPEST or self._source.random() < 1 / 8):
            return None
        inner = schema.non_nullable
        if inner.logical_type is not None:
            return self._generate_logical(inner)
        match inner.type:
            case Type.RECORD:
                return self.generate_record(inner, depth + 1)
            case Type.ARRAY if inner.items is not None:
                return [
                    self.generate_value(inner.items, depth + 1)
                    for _ in range(self._choose_count(depth))
                ]
            case Type.MAP if inner.keys is not None and inner.values is not None:
                return {
                    self._generate_key(inner.keys, depth): self.generate_value(
                        inner.values, depth + 1
                    )
                    for _ in range(self._choose_count(depth))
                }
            case Type.UNION:
                members = [each for each in inner.members if each.type is not Type.NULL]
                return self.generate_value(self._source.choice(members), depth + 1)
            case Type.ENUM:
                return self._source.choice(inner.symbols)
        return self._generate_simple(inner.type)

    def _generate_key(self, schema: Schema, depth: int) -> str:
        """Generate the key of a map; in JSON, a key that is not a text is written as its JSON."""
        key = encode_json_record(self.generate_value(schema, depth + 1))
        return key if isinstance(key, str) else json.dumps(key)

    def _choose_count(self, depth: int) -> int:
        return self._source.randint(0, 3) if depth < _DEEPEST else 0

    def _generate_simple(self, type: Type) -> Any:
        source = self._source
        match type:
            case Type.BOOLEAN:
                return source.random() < 0.5
            case Type.INT | Type.LONG:
                return source.choice((0, -1, source.randint(1, 100), source.randint(1, 10**6)))
            case Type.FLOAT | Type.DOUBLE:
                return source.choice((0.0, -1.5, round(source.uniform(0, 1000), 2)))
            case Type.BYTES:
                return bytes(source.randrange(256) for _ in range(source.randint(0, 6)))
            case Type.STRING:
                return source.choice(_WORDS)
        return None

    def _generate_logical(self, schema: Schema) -> Any:
        source = self._source
        moment = _START + datetime.timedelta(seconds=source.randint(0, 366 * 86400))
        match schema.logical_type:
            case LogicalType.DATE:
                return moment.date()
            case LogicalType.TIME_MILLIS | LogicalType.TIME_MICROS:
                return moment.time()
            case LogicalType.DATETIME:
                return moment.replace(tzinfo=None)
            case LogicalType.DECIMAL:
                digits = min(schema.precision or 1, 9)
                whole = source.randint(-(10**digits) + 1, 10**digits - 1)
                return decimal.Decimal(whole).scaleb(-(schema.scale or 0))
        return moment


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
