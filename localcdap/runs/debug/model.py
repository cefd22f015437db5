"""What stage debugging takes and answers."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api.schema import Schema
from localcdap.engine.messages.samples import RejectedRecord, StageProblem


class GivenRecords(msgspec.Struct):
    """The records that come from one input stage."""

    stage: str = ""
    """May be left out for the only input of a stage of a pipeline."""
    records: list[Any] = []
    """As JSON, see :mod:`localcdap.api.record_json`. To an error transform each is an object with ``record``,
    ``code`` and ``message``."""
    schema: Any = None
    """Of the records (of ``record`` for an error transform), as JSON or as JSON text; None for that of the
    pipeline."""


class DebugRequest(msgspec.Struct, rename="camel"):
    """A stage to be tried on some records."""

    stage: Any = None
    """A stage as it stands in a pipeline document; with a document also the name of one of its stages."""
    input: list[GivenRecords] = []
    """In connection order. A source has none."""
    namespace: str = "default"
    arguments: dict[str, str] = {}
    """Values of macros, above those of the preferences."""
    document: Any = None
    """The pipeline that the stage is in: from it come the schemas that the input does not say."""
    file: str | None = None
    """Where the document came from, named in errors."""
    records: int = 100
    """The most records that a source reads."""


class DebugOutput(msgspec.Struct):
    """Records that leave a stage."""

    schema: Schema | None
    records: list[Any]


class DebugAnswer(msgspec.Struct, rename="camel"):
    """What the stage made of the records."""

    errors: list[StageProblem]
    """Failures of its configuration, and exceptions."""
    output: DebugOutput | None
    """None when it was not run, and for a splitter; of a sink the records that it would write."""
    error_records: list[RejectedRecord] = []
    ports: dict[str, DebugOutput] = {}
    """Of a splitter, by port."""
    logs: list[str] = []
    """What the plugin logged; where it ran in the plugin worker, also what it printed."""
