"""What stands in the boxes."""

from __future__ import annotations

import msgspec
import pytest

from localcdap.api.failures import ValidationFailure
from localcdap.api.pipeline import StandIn
from localcdap.api.schema import Schema
from localcdap.pipeline.editing.incremental_validator import StageState
from localcdap.runs.model import StageCounts
from localcdap.tui.canvas.stage_card import StageMark, build_card, format_count

SCHEMA = Schema.parse({"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]})
FAILURE = ValidationFailure("Invalid Stage", "It is wrong.", None, [])


def state(errors=(), warnings=(), checking=False, schema=None):
    return StageState(list(errors), list(warnings), {}, schema, None, {}, None, checking)


@pytest.mark.parametrize(
    ("known", "mark", "words", "note"),
    [
        (None, StageMark.UNKNOWN, "not checked", ""),
        (state(schema=SCHEMA), StageMark.VALID, "valid", "1 field"),
        (state(errors=[FAILURE] * 2), StageMark.WRONG, "2 failures", ""),
        (state(warnings=[FAILURE]), StageMark.WARNED, "1 warning", ""),
        (state(errors=[FAILURE], checking=True), StageMark.CHECKING, "checking …", ""),
    ],
)
def test_a_state_is_a_glyph_and_a_word(known, mark, words, note):
    found = build_card("a", "CSVParser", "transform", known)

    assert (found.mark, found.words, found.note) == (mark, words, note)


def test_a_stage_on_a_recording_says_so_before_and_in_a_run():
    given = StandIn("a", "batchsource SapOdp", "recorded", "generate", "command line")
    known = msgspec.structs.replace(state(schema=SCHEMA), stand_in=given)

    card = build_card("a", "SapOdp", "batchsource", known)
    assert (card.mark, card.role, card.words) == (StageMark.RECORDED, "recorded", "recorded")
    running = build_card("a", "SapOdp", "batchsource", known, StageCounts(None, 12, 0))
    assert (running.words, running.note) == ("out 12", "recorded")
    wrong = msgspec.structs.replace(known, errors=[FAILURE])
    assert build_card("a", "SapOdp", "batchsource", wrong).mark is StageMark.WRONG


@pytest.mark.parametrize(
    ("type", "counts", "words", "brief", "short"),
    [
        ("batchsource", StageCounts(None, 12, 0), "out 12", "12", "12"),
        (
            "transform",
            StageCounts(12_345, 12_000, 345),
            "in 12.3k out 12.0k err 345",
            "12.3k→12.0k ✗345",
            "12.0k ✗345",
        ),
        ("batchsink", StageCounts(10, 10, None), "in 10", "10", "10"),
        ("transform", StageCounts(), "running", "", ""),
    ],
)
def test_records_of_a_run_take_the_place_of_the_state(type, counts, words, brief, short):
    found = build_card("a", "P", type, state(), counts)

    assert found.mark is StageMark.RUNNING
    assert (found.words, found.brief, found.short) == (words, brief, short)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (9999, "9999"), (10_000, "10.0k"), (999_999, "1.0M"), (2**62, "4.6E")],
)
def test_amounts_are_short(count, text):
    assert format_count(count) in (text, "∞")
    assert len(format_count(count)) <= 6
