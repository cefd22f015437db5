"""The plan of one fused pass, as the driver sends it to the workers."""

from __future__ import annotations

from typing import Final

import msgspec

from localcdap.api.schema import Schema
from localcdap.artifacts.model import PluginRef
from localcdap.engine.plan.flow import Stream
from localcdap.engine.tasks.context import StageFacts

FED: Final = "fed"
"""What is counted of the stream that feeds a pass."""


class PassStage(msgspec.Struct):
    """A record- or batch-grain stage of a pass."""

    plugin: PluginRef
    properties: dict[str, str]
    facts: StageFacts
    inputs: list[Stream]
    """Streams of earlier stages of the pass, or :attr:`PassPlan.feed`."""

    @property
    def name(self) -> str:
        return self.facts.stage_name


class CountKey(msgspec.Struct, frozen=True):
    """Something that a pass counts."""

    stage: str
    what: str
    """:data:`FED`, ``out``, ``error``, ``alert`` or ``groups``; while the task goes on also ``in``."""
    port: str | None = None


class PassPlan(msgspec.Struct):
    """Several stages whose records stay in one Python process from first to last."""

    feed: Stream
    """The stream that the batches which come in are."""
    feed_schema: Schema
    """Of the batches that come in: only the fields that are needed, in the order of the columns."""
    stages: list[PassStage]
    """In topological order."""
    outlets: list[Stream]
    """The streams that are needed outside, at least one."""
    counts: list[CountKey]
    """What is counted, in the order of the values in a report; empty to report nothing."""
    grouped: bool = False
    """Whether the first stage is an aggregator and the batches come sorted by its groups."""
    channel: str | None = None
    """Directory through which tasks tell log lines and counts so far; None where nobody listens."""


ERROR_FIELDS = ("record", "code", "message", "stage")


def error_record_schema(schema: Schema) -> Schema:
    """The schema in which error records travel outside a pass."""
    parts = (schema, Schema.INT, Schema.STRING, Schema.STRING)
    nullable = [(name, part.as_nullable) for name, part in zip(ERROR_FIELDS, parts, strict=True)]
    return Schema.record("errorRecord", nullable)
