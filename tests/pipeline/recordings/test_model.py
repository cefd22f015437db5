"""What a text of a recording means, and which of several rules a stage follows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.pipeline.recordings.model import (
    COMMAND_LINE,
    INSTANCE,
    SETTINGS,
    Kind,
    Recording,
    RecordingRule,
    RecordingRules,
    RuleSubject,
    parse_recording,
)

ORDERS = RuleSubject("Orders", "batchsource", "SapOdp", "sap_orders", "nightly")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("generate", Recording(Kind.GENERATE)),
        (" generate:1_000,-7 ", Recording(Kind.GENERATE, count=1000, seed=-7)),
        ("generate,7", Recording(Kind.GENERATE, seed=7)),
        ("file:a,b.csv", Recording(Kind.FILE, "a,b.csv")),
        ("table:orders, id", Recording(Kind.TABLE, "orders", key="id")),
        ("dataset:history", Recording(Kind.DATASET, "history")),
        ("discard", Recording(Kind.DISCARD)),
        ("pass", Recording(Kind.PASS)),
        ("skip", Recording(Kind.SKIP)),
        ("orders", Recording(Kind.NAMED, "orders")),
        ("gs://bucket/orders.csv", Recording(Kind.NAMED, "gs://bucket/orders.csv")),
    ],
)
def test_a_text_names_a_recording(text, meant):
    assert parse_recording(text) == meant


@pytest.mark.parametrize(
    "text",
    ["", "  ", "generate:", "generate:0", "generate:x", "generate:1000001", "table:", "file: "],
)
def test_a_text_that_is_no_recording_is_refused_with_what_could_be_written(text):
    with pytest.raises(BadRequestError) as error:
        parse_recording(text)
    assert error.value.corrective_action


@given(st.text())
def test_every_text_is_a_recording_or_refused(text):
    try:
        assert parse_recording(text).kind
    except BadRequestError:
        return


def test_of_several_rules_of_one_origin_the_most_specific_one_applies():
    keys = [
        "stage:nightly/Orders",
        "Orders",
        "reference:sap_orders",
        "plugin:batchsource/SapOdp",
        "plugin:SapOdp",
        "type:batchsource",
    ]
    for first, key in enumerate(keys):
        rules = RecordingRules([RecordingRule(each, "x") for each in reversed(keys[first:])])
        found = rules.find(ORDERS)
        assert found is not None
        assert found.key == key


def test_the_command_line_wins_over_the_instance_and_the_instance_over_the_settings():
    rules = [
        RecordingRule("Orders", "settings.csv", SETTINGS),
        RecordingRule("plugin:SapOdp", "instance.csv", INSTANCE),
        RecordingRule("type:batchsource", "line.csv", COMMAND_LINE),
    ]
    found = [RecordingRules(rules[:count]).find(ORDERS) for count in (1, 2, 3)]
    assert [each.recording for each in found if each] == [
        "settings.csv",
        "instance.csv",
        "line.csv",
    ]


def test_rules_of_other_stages_and_pipelines_do_not_apply():
    keys = ["stage:weekly/Orders", "orders", "reference:other", "plugin:batchsink/SapOdp"]
    assert RecordingRules([RecordingRule(key, "x") for key in keys]).find(ORDERS) is None
