"""The requests and answers of stage debugging."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api.schema import Schema
from localcdap.engine.messages.samples import AlteredValues, RejectedRecord, StageProblem
from localcdap.expectations.results import RuleResult


class GivenRecords(msgspec.Struct):
    """The records that come from one input stage."""

    stage: str = ""
    """The name of the input stage; it may be empty for the only input of a stage of a pipeline."""
    records: list[Any] = []
    """As JSON, see :mod:`localcdap.api.record_json`. For an error transform, each is an object with
    ``record``, ``code`` and ``message``."""
    schema: Any = None
    """The schema of the records (of ``record`` for an error transform), as JSON or JSON text; None for
    the schema in the pipeline."""


class DebugRequest(msgspec.Struct, rename="camel"):
    """A stage to run on some records."""

    stage: Any = None
    """A stage in the form of a pipeline document; with a document, also the name of one of its stages."""
    input: list[GivenRecords] = []
    """The records by input, in connection order. A source has none."""
    namespace: str = "default"
    arguments: dict[str, str] = {}
    """Runtime arguments, which override preferences."""
    document: Any = None
    """The pipeline of the stage, from which missing schemas of the input are taken."""
    file: str | None = None
    """The file of the document, for error messages."""
    records: int = 100
    """The most records that a source reads."""
    use_suggested: bool = False
    """Take the suggested artifact where the one that the stage names is missing."""


class DebugOutput(msgspec.Struct):
    """The output records of a stage."""

    schema: Schema | None
    records: list[Any]


class DebugAnswer(msgspec.Struct, rename="camel"):
    """The output of the stage, or the reasons why it has none."""

    errors: list[StageProblem]
    """Failures of its configuration, and exceptions."""
    output: DebugOutput | None
    """None when the stage did not run, and for a splitter; for a sink, the records that it would write."""
    error_records: list[RejectedRecord] = []
    ports: dict[str, DebugOutput] = {}
    """The output of a splitter, by port."""
    expectations: list[RuleResult] = []
    """The results of the stage's expectations; none for a sink."""
    alerts: list[dict[str, str | None]] = []
    """What the alerts of the stage say."""
    logs: list[str] = []
    """The log lines of the plugin; from the plugin worker, also its printed lines."""
    altered: list[AlteredValues] = []
    """The values that the stage has altered, by kind of change."""
