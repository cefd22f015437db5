"""What a test file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.engine.messages.flow import Stream

DEFAULT_TIMEOUT_S: Final = 60.0
DEFAULT_RECORDS: Final = 10_000
RELATIVE_TOLERANCE: Final = 1e-9
"""Of floating-point numbers, whose last digits depend on the order in which they are added."""


class Records(msgspec.Struct):
    """Records as a test file or a file beside it has them."""

    records: list[Any]
    """As JSON, see :mod:`localcdap.api.record_json`."""
    are_text: bool = False
    """Every value is text: they come from a CSV file."""
    file: Path | None = None
    """Where they stand; None for in the test itself."""


class Expectation(msgspec.Struct):
    """What an output of a stage is to give."""

    records: Records | None = None
    count: int | None = None
    ordered: bool = False
    """Whether the order of the records counts."""
    tolerance: float | None = None
    """By how much numbers may differ; None for 1e-9 of their size, for those that are floating-point."""
    fields: list[str] | None = None
    """The only fields that are compared; None for all."""
    named_only: bool = False
    """Compare of each record only the fields that the expected one names; else a field not named is null."""
    key: list[str] = []
    """The fields by which records are recognised."""


class ExpectedFailure(msgspec.Struct):
    """How the pipeline is to fail."""

    message: str | None = None
    """A part of the message."""
    stage: str | None = None
    when: str | None = None
    """``validation`` or ``run``; None for either."""


class PipelineTest(msgspec.Struct, kw_only=True):
    """One test."""

    file: Path
    name: str
    """The file's name without ``.test.toml`` or ``.test.json``, behind its folder."""
    pipeline: Path | None = None
    """The pipeline file, or else the deployed pipeline:"""
    application: str | None = None
    """``NAME`` or ``NAME@VERSION``"""
    description: str | None = None
    arguments: dict[str, str] = {}
    given: dict[str, Records] = {}
    """By output of a stage, which is not run."""
    skip: list[str] = []
    """Actions that are not run."""
    decisions: dict[str, bool] = {}
    """What conditions are taken to say."""
    expect: dict[str, Expectation] = {}
    """By output of a stage."""
    fails: ExpectedFailure | None = None
    start_ms: int | None = None
    records: int = DEFAULT_RECORDS
    """The most records of each source that is run."""
    timeout_s: float = DEFAULT_TIMEOUT_S


class TestFileProblem(msgspec.Struct):
    """Something wrong in a test file."""

    file: Path
    line: int
    """1-based."""
    key: str
    """Empty for the whole file."""
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {f'{self.key}: ' if self.key else ''}{self.message}"


def parse_output(output: str, stages: list[str]) -> Stream | None:
    """What ``Stage``, ``Stage.port`` or ``Stage.errors`` means; None when there is no such stage."""
    if output in stages:
        return Stream(output)
    stage, _, way = output.rpartition(".")
    if stage not in stages:
        return None
    return Stream(stage, errors=True) if way == "errors" else Stream(stage, way)
