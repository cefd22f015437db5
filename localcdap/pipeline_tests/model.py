"""The content of a test file: a pipeline, input records, and what is expected of the output.

Files of records are CSV with a header, an array of JSON objects, or lines of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.engine.messages.flow import Stream
from localcdap.files.atomic import write_file
from localcdap.files.delimited import UnreadableRow, read_named_records
from localcdap.files.encodings import open_text
from localcdap.files.json_records import read_json_records
from localcdap.files.result_files import format_json_records, format_plain
from localcdap.files.writers import format_delimited

DEFAULT_TIMEOUT_S: Final = 60.0
DEFAULT_RECORDS: Final = 10_000
RELATIVE_TOLERANCE: Final = 1e-9
"""For floating-point numbers, whose last digits depend on the order in which they are added."""


class Records(msgspec.Struct):
    """The records in a test file, or in a file that the test file names."""

    records: list[Any]
    """As JSON, see :mod:`localcdap.api.record_json`."""
    are_text: bool = False
    """Whether every value is text, since the records come from a CSV file."""
    file: Path | None = None
    """The file of the records; None when they are in the test file itself."""


class Expectation(msgspec.Struct):
    """The expected records of one output of a stage."""

    records: Records | None = None
    count: int | None = None
    ordered: bool = False
    """Whether the order of the records counts."""
    tolerance: float | None = None
    """How much numbers may differ; None: floating-point numbers by 1e-9 of their size, others not at all."""
    fields: list[str] | None = None
    """The only fields that are compared; None for all."""
    named_only: bool = False
    """Whether only the fields of the expected record are compared; else a missing field means null."""
    key: list[str] = []
    """The fields that identify a record."""


class ExpectedFailure(msgspec.Struct):
    """The expected failure of a pipeline."""

    message: str | None = None
    """A part of the message."""
    stage: str | None = None
    when: str | None = None
    """``validation`` or ``run``; None for either."""


class PipelineTest(msgspec.Struct, kw_only=True):
    """A pipeline test."""

    file: Path
    name: str
    """The name of the file without ``.test.toml`` or ``.test.json``."""
    pipeline: Path | None = None
    """The pipeline file; None when the test names a deployed pipeline."""
    application: str | None = None
    """The deployed pipeline, ``NAME`` or ``NAME@VERSION``; None when the test names a file."""
    description: str | None = None
    arguments: dict[str, str] = {}
    given: dict[str, Records] = {}
    """The records that replace the output of a stage, by output; the stage does not run."""
    skip: list[str] = []
    """Actions that do not run."""
    decisions: dict[str, bool] = {}
    """The results of conditions, which are not evaluated."""
    expect: dict[str, Expectation] = {}
    """The expected records by output of a stage."""
    fails: ExpectedFailure | None = None
    start_ms: int | None = None
    records: int = DEFAULT_RECORDS
    """The most records that each source reads."""
    timeout_s: float = DEFAULT_TIMEOUT_S


class TestFileProblem(msgspec.Struct):
    """A mistake in a test file."""

    file: Path
    line: int
    """1-based."""
    key: str
    """Empty for the whole file."""
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {f'{self.key}: ' if self.key else ''}{self.message}"


def parse_output(output: str, stages: list[str]) -> Stream | None:
    """Parse the name of an output: ``Stage``, ``Stage.port`` or ``Stage.errors``; None for an unknown
    stage.
    """
    if output in stages:
        return Stream(output)
    stage, _, port = output.rpartition(".")
    if stage not in stages:
        return None
    return Stream(stage, errors=True) if port == "errors" else Stream(stage, port)


SUFFIXES: Final = (".csv", ".json", ".jsonl")


def read_records(file: Path) -> Records:
    """Return the records of a file.

    :raises BadRequestError: when the file cannot be read; the message has the line.
    """
    if file.suffix not in SUFFIXES:
        raise BadRequestError(f"{file.name} does not end in {' or '.join(SUFFIXES)}.")
    try:
        with open_text(file) as text:
            if file.suffix == ".csv":
                return Records(list(read_named_records(text, str(file))), are_text=True, file=file)
            return Records(list(_read_json(file, text)), file=file)
    except FileNotFoundError:
        raise BadRequestError(f"there is no file {file}.") from None
    except (OSError, ValueError) as error:
        raise BadRequestError(f"{file} cannot be read: {error}.") from None


def write_records(file: Path, records: list[Any]) -> None:
    """Replace the records in a file, and keep its format.

    :raises BadRequestError: when the file cannot be written.
    """
    if file.suffix == ".csv":
        names = list(dict.fromkeys(name for record in records for name in record))
        rows = ([format_plain(record.get(name)) for name in names] for record in records)
        write_file(file, format_delimited([names, *rows]))
    elif file.suffix == ".jsonl":
        lines = (json.dumps(record, ensure_ascii=False) for record in records)
        write_file(file, "".join(f"{line}\n" for line in lines))
    else:
        write_file(file, format_json_records(records))


def _read_json(file: Path, text: IO[str]) -> Iterator[dict[str, Any]]:
    for record in read_json_records(text):
        if isinstance(record, UnreadableRow):
            raise BadRequestError(f"{file}: {record.message}")
        yield record
