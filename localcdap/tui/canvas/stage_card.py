"""The content of the boxes that stand for stages on the canvas."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from localcdap.pipeline.editing.incremental_validator import StageState
from localcdap.pipeline.rules.graph import SINKS, SOURCES
from localcdap.runs.model import StageCounts
from localcdap.text import plural


class StageMark(enum.Enum):
    """The state of a stage as a glyph; words follow it where they fit."""

    UNKNOWN = "·"
    CHECKING = "…"
    VALID = "✓"
    WARNED = "!"
    RECORDED = "●"
    """It is valid, with what stands in for its plugin."""
    WRONG = "✗"
    RUNNING = "▶"


@dataclass(frozen=True, slots=True)
class StageCard:
    """The texts of a box.

    :param title: the plugin, in the frame.
    :param role: the plugin's type, after the title where it fits.
    :param words: the state in words.
    :param brief: replaces the words where they do not fit.
    :param note: follows the words, less important.
    :param short: the counts of a run, short enough to follow the name.
    :param is_loop: whether the stage is connected to itself.
    :param remark: the note about the stage.
    """

    name: str
    title: str = ""
    role: str = ""
    mark: StageMark = StageMark.UNKNOWN
    words: str = ""
    brief: str = ""
    note: str = ""
    short: str = ""
    is_loop: bool = False
    remark: str = ""


_TYPES: Final = {
    "batchsource": "source",
    "batchsink": "sink",
    "sparksink": "spark sink",
    "sparkcompute": "spark",
    "sparkprogram": "spark program",
    "batchaggregator": "aggregate",
    "batchjoiner": "join",
    "splittertransform": "splitter",
    "errortransform": "errors",
    "alertpublisher": "alerts",
    "streamingsource": "stream source",
    "streamingsink": "stream sink",
    "realtimesource": "stream source",
    "realtimesink": "stream sink",
    "postaction": "post action",
}


_RUN_WORDS: Final = {
    StageMark.RUNNING: "running",
    StageMark.VALID: "done",
    StageMark.WRONG: "failed",
    StageMark.WARNED: "done",
    StageMark.CHECKING: "waiting",
    StageMark.UNKNOWN: "stopped",
}
"""The words for a stage in a run whose records are not counted."""


def format_plugin_type(type: str) -> str:
    """Return the display name of a plugin type."""
    return _TYPES.get(type, type)


def build_card(
    name: str,
    plugin: str,
    type: str,
    state: StageState | None,
    counts: StageCounts | None = None,
    *,
    run_mark: StageMark = StageMark.RUNNING,
    is_loop: bool = False,
    remark: str = "",
) -> StageCard:
    """Build the card of a stage.

    :param state: None while the service has not answered.
    :param counts: the record counts of the run that is shown.
    :param run_mark: the state of the stage in that run.
    """
    title = plugin or "no plugin"
    role = format_plugin_type(type)
    mark, words, note = _describe_validation(state)
    stand_in = state.stand_in.kind if state is not None and state.stand_in is not None else ""
    if stand_in:
        role = stand_in
    brief = short = ""
    if counts is not None:
        words, brief, short = _describe_counts(counts, type)
        mark, words, note = run_mark, words or _RUN_WORDS[run_mark], stand_in
    return StageCard(name, title, role, mark, words, brief, note, short, is_loop, remark)


def format_count(count: int | None) -> str:
    """Return a number in at most five characters: ``9999``, ``12.3k``, ``4.1M``."""
    if count is None:
        return "?"
    if count < 10_000:
        return str(count)
    value = float(count)
    for unit in "kMGTP":
        value /= 1000
        if value < 999.95:
            return f"{value:.1f}{unit}"
    return "∞"


def _describe_validation(state: StageState | None) -> tuple[StageMark, str, str]:
    if state is None:
        return StageMark.UNKNOWN, "not checked", ""
    note = _describe_schema(state)
    if state.checking:
        return StageMark.CHECKING, "checking …", ""
    if state.errors:
        return StageMark.WRONG, plural(len(state.errors), "failure"), ""
    if state.warnings:
        return StageMark.WARNED, plural(len(state.warnings), "warning"), note
    if state.stand_in is not None:
        return StageMark.RECORDED, state.stand_in.kind, note
    return StageMark.VALID, "valid", note


def _describe_schema(state: StageState) -> str:
    schema = state.output_schema
    if schema is not None:
        return plural(len(schema.fields or ()), "field")
    if state.port_schemas:
        return plural(len(state.port_schemas), "port")
    return ""


def _describe_counts(counts: StageCounts, type: str) -> tuple[str, str, str]:
    """Return the counts in words, in few words, and as one number."""
    parts: Sequence[tuple[str, int | None]] = (
        ("in", None if type in SOURCES else counts.records_in),
        ("out", None if type in SINKS else counts.records_out),
        ("err", counts.errors or None),
    )
    shown = [(word, count) for word, count in parts if count is not None]
    words = " ".join(f"{word} {format_count(count)}" for word, count in shown)
    brief = "→".join(format_count(count) for word, count in shown if word != "err")
    main = counts.records_in if type in SINKS else counts.records_out
    short = "" if main is None else format_count(main)
    wrong = f" ✗{format_count(counts.errors)}" if counts.errors else ""
    return words, brief + wrong, short + wrong
