"""What a task of a pass reports about itself, on a row of its own among the data.

Spark hands on the reports of tasks that succeeded, and of no others, so that sums of them are right.
"""

from __future__ import annotations

from typing import Final

import msgspec


class TaskReport(msgspec.Struct, array_like=True):
    """What happened since the last report of the same task."""

    counts: list[int]
    """In the order of ``PassPlan.counts``."""
    metrics: list[tuple[str, str, int]] = []
    """User metrics: stage, name, how much was added."""


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(TaskReport)


def encode_report(report: TaskReport) -> bytes:
    return _ENCODER.encode(report)


def decode_report(data: bytes) -> TaskReport:
    return _DECODER.decode(data)
