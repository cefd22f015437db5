"""The structural rules, one test for each case of CDAP 6 ``PipelineSpecGeneratorTest`` and more."""

from __future__ import annotations

import pytest

from localcdap.pipeline.document.reader import read_document
from tests.pipeline.pipelines import check, config, pipeline


def messages(stages: str, connections: str = "") -> list[str]:
    return [failure.message for failure in check(pipeline(stages, connections))]


def test_no_stages():
    assert messages("") == ["A pipeline must contain at least one stage."]


def test_unique_names():
    assert messages("source:a sink:b transform:b", "a>b") == [
        "Invalid pipeline. Multiple stages are named b. Please ensure all stage names are unique"
    ]


def test_equal_stages_are_one_stage():
    assert messages("source:a sink:b sink:b", "a>b") == []


def test_a_post_action_may_not_have_the_name_of_a_stage():
    document = config("source:a sink:b", "a>b")
    document["postActions"] = [{"name": "a", "plugin": {"name": "Mail", "properties": {}}}]
    (failure,) = check(read_document(document))
    assert "Multiple stages are named a." in failure.message


def test_duplicate_names_do_not_hide_a_dead_end():
    found = messages("source:a sink:b transform:b transform:t", "a>b a>t")
    assert "Stage t is a dead end, it has no outgoing connections." in found
    assert any("Multiple stages are named b" in message for message in found)


def test_connection_to_missing_stage():
    (failure,) = check(pipeline("source:a sink:sink1", "a>sink1 a>sink"))
    assert failure.message == "Invalid connection a -> sink. sink is not a stage."
    assert failure.corrective_action == "Did you mean 'sink1'?"
    assert failure.type == "Invalid Pipeline"


def test_connection_between_two_missing_stages_is_reported_for_both():
    found = messages("source:a sink:b", "a>b x>y")
    assert found == [
        "Invalid connection x -> y. x is not a stage.",
        "Invalid connection x -> y. y is not a stage.",
    ]


def test_connection_into_source():
    assert messages("source:a transform:t source:b sink:z", "a>t t>b b>z") == [
        (
            "batchsource b has incoming connections from t. "
            "batchsource stages cannot have any incoming connections."
        )
    ]


def test_connection_out_of_sink():
    assert messages("source:a sink:y sink:z", "a>y y>z") == [
        (
            "batchsink y has outgoing connections to z. "
            "batchsink stages cannot have any outgoing connections."
        )
    ]


def test_actions_and_conditions_may_come_before_sources_and_after_sinks():
    assert messages("action:x source:a sink:z program:y", "x>a a>z z>y") == []
    assert messages("if:c source:a sink:z", "c?true>a a>z") == []


def test_unreachable_stage():
    assert messages("source:a sink:z transform:t", "a>z t>z") == [
        "Stage t is unreachable, it has no incoming connections."
    ]


def test_dead_end_stage():
    assert messages("source:a sink:z transform:t", "a>z a>t") == [
        "Stage t is a dead end, it has no outgoing connections."
    ]


def test_a_condition_may_start_but_not_end():
    assert messages("source:a sink:z if:c", "a>z a>c") == [
        "Stage c is a dead end, it has no outgoing connections."
    ]


def test_a_stage_connected_to_nothing_is_unreachable_and_a_dead_end():
    assert messages("source:a sink:z transform:t", "a>z") == [
        "Stage t is unreachable, it has no incoming connections.",
        "Stage t is a dead end, it has no outgoing connections.",
    ]


def test_no_connections():
    assert messages("source:a sink:z") == [
        (
            "Invalid pipeline. There are no connections between stages. "
            "This is only allowed if the pipeline consists of a single action plugin."
        )
    ]


@pytest.mark.parametrize("kind", ["action", "program"])
def test_single_action(kind):
    assert messages(f"{kind}:a") == []


def test_two_actions_must_be_connected():
    assert len(messages("action:a action:b")) == 1
    assert messages("action:a action:b", "a>b") == []


def test_action_in_the_middle():
    message = (
        "Action stage 'x' is invalid. "
        "Actions can only be placed at the start or end of the pipeline."
    )
    assert message in messages("source:a action:x sink:z", "a>x x>z")
    assert message in messages("source:a sink:y action:x source:b sink:z", "a>y y>x x>b b>z")


def test_two_actions_in_a_row_at_the_end():
    assert messages("source:a sink:z action:x action:y", "a>z z>x x>y") == []


def test_error_transform_behind_what_cannot_emit_errors():
    (failure,) = check(pipeline("source:a source:b join:j sink:z errors:e", "a>j b>j j>z j>e e>z"))
    assert failure.message == (
        "ErrorTransform e cannot have stage j of type batchjoiner as input. Only batchsource, "
        "transform, batchaggregator, errortransform stages can emit errors."
    )
    assert failure.stage == "e"


def test_error_transforms_behind_what_can_emit_errors():
    assert (
        messages(
            "source:a transform:t count:c errors:e errors:f sink:z",
            "a>t t>c c>z a>e t>e c>e e>f f>z e>z",
        )
        == []
    )


def test_splitter_connection_without_port():
    assert messages("source:a split:s sink:y sink:z", "a>s s.A>y s>z") == [
        "Connection from Splitter 's' to 'z' must specify a port."
    ]


def test_several_stages_on_one_port():
    assert messages("source:a split:s sink:y sink:z", "a>s s.A>y s.A>z") == []


# -- graph ---------------------------------------------------------------------------------


def test_cycle_of_all_stages():
    found = messages("transform:t transform:u transform:v", "t>u u>v v>t")
    assert found == [
        "DAG does not have any sources. Please remove cycles from the graph.",
        "DAG does not have any sinks. Please remove cycles from the graph.",
        "Invalid DAG. The stages t -> u -> v -> t form a cycle.",
    ]


def test_cycle_before_a_sink():
    found = messages("transform:t transform:u sink:z", "t>u u>t u>z")
    assert found == [
        "DAG does not have any sources. Please remove cycles from the graph.",
        "Invalid DAG. The stages t -> u -> t form a cycle.",
    ]


def test_cycle_in_a_part_of_the_graph_is_reported_in_order():
    found = messages("source:a transform:w transform:v transform:u sink:z", "a>u u>v v>w w>u w>z")
    assert found == ["Invalid DAG. The stages w -> u -> v -> w form a cycle."]


def test_two_cycles_are_both_reported():
    found = messages("source:a transform:t transform:u sink:z", "a>t t>t t>u u>u u>z")
    assert found == [
        "Invalid DAG. The stages t -> t form a cycle.",
        "Invalid DAG. The stages u -> u form a cycle.",
    ]


def test_island():
    found = messages("source:a transform:t sink:z source:b sink:y", "a>t t>z b>y")
    assert found == [
        "Invalid DAG. There is an island made up of stages b, y (no other stages connect to them)."
    ]


def test_parts_that_meet_late_are_no_islands():
    assert messages("source:a source:b source:c sink:y sink:z", "a>y c>z b>y b>z") == []


def test_a_dangling_connection_is_not_reported_again_as_a_dead_end_or_an_island():
    found = messages("source:a transform:t source:b sink:z", "a>t t>typo b>z")
    assert found == ["Invalid connection t -> typo. typo is not a stage."]


# -- conditions ----------------------------------------------------------------------------


def test_condition_without_branch_info():
    assert messages("source:a if:c sink:z", "a>c c>z") == [
        "For condition stage c, the connection c -> z is not marked with either 'true' or 'false'."
    ]


def test_condition_with_two_true_branches():
    assert messages("source:a if:c sink:y sink:z", "a>c c?true>y c?true>z") == [
        "For condition stage 'c', more than one outgoing connections are marked as true."
    ]


def test_nested_condition_with_two_true_branches():
    assert messages(
        "source:a if:c if:d sink:x sink:y sink:z", "a>c c?true>x c?false>d d?true>y d?true>z"
    ) == ["For condition stage 'd', more than one outgoing connections are marked as true."]


def test_condition_with_three_outputs():
    found = messages("source:a if:c sink:x sink:y sink:z", "a>c c?true>x c?false>y c?true>z")
    assert (
        "Condition stage in the pipeline 'c' should have at least 1 and at max 2 outgoing "
        "connections corresponding to 'true' and 'false' branches but found '3'."
    ) in found


def crossed(stage: str, condition: str, others: str) -> str:
    return (
        f"Stage in the pipeline '{stage}' is on the branch of condition '{condition}'. However it "
        f"also has following incoming paths: '{others}'. Different branches of a condition cannot "
        "be inputs to the same stage."
    )


def test_condition_with_cross_connection_from_a_second_source():
    assert messages("source:a source:b if:c sink:y sink:z", "a>c c?true>y c?false>z b>z") == [
        crossed("z", "c", "b")
    ]


def test_nested_condition_with_cross_connection():
    found = messages(
        "source:a source:b if:c if:d transform:t sink:x sink:y sink:z",
        "a>c c?true>t c?false>x t>d d?true>y d?false>z b>z",
    )
    assert found == [crossed("z", "c", "b"), crossed("z", "d", "b")]


def test_condition_then_source_then_condition_with_rejoining_branches():
    assert (
        messages(
            "if:c source:a if:d transform:t transform:u sink:z",
            "c?true>a a>d d?true>t d?false>u t>z u>z",
        )
        == []
    )


def test_simple_condition():
    assert messages("source:a if:c transform:t sink:y sink:z", "a>c c?true>t t>y c?false>z") == []


def test_nested_conditions():
    assert (
        messages(
            "action:x if:c source:a if:d sink:w sink:y sink:z source:b",
            "x>c c?true>a a>d d?true>y d?false>z c?false>b b>w",
        )
        == []
    )


def test_two_conditions_feeding_the_same_stage():
    found = messages(
        "source:a transform:s if:c if:d transform:t transform:u sink:z",
        "a>s s>c s>d c?true>t d?true>u t>z u>z",
    )
    assert found == [crossed("z", "c", "a"), crossed("z", "d", "a")]


# -- types and application -----------------------------------------------------------------


def test_unknown_plugin_type_is_named_with_the_nearest():
    (failure,) = check(pipeline("batchsorce:a sink:z", "a>z"))
    assert failure.message == "Unknown plugin type 'batchsorce' of stage 'a'."
    assert "batchsource" in failure.corrective_action
    assert failure.stage == "a"


@pytest.mark.parametrize(
    ("type", "message"),
    [
        ("streamingsource", "is for streaming pipelines only"),
        ("windower", "is for streaming pipelines only"),
        ("connector", "is not a type of stages"),
        ("postaction", "is not a type of stages"),
        ("realtimesource", "is for streaming pipelines only"),
    ],
)
def test_types_that_a_batch_pipeline_cannot_have(type, message):
    document = config(f"{type}:a source:s sink:z", "s>z a>z")
    document = {"artifact": {"name": "cdap-data-pipeline"}, "config": document}
    (failure,) = check(read_document(document))
    assert message in failure.message


def test_streaming_pipelines_carry_one_failure_and_their_structural_ones():
    document = config("streamingsource:a windower:w transform:t sink:z", "a>w w>z t>z")
    document = {"artifact": {"name": "cdap-data-streams", "version": "6.0.0"}, "config": document}
    assert [f.message for f in check(read_document(document))] == [
        "Streaming pipelines cannot be run here; only their structure was checked.",
        "Stage t is unreachable, it has no incoming connections.",
    ]


@pytest.mark.parametrize("name", ["cdap-data-pipeline", "cdap-etl-batch", "ETLBatch", "etlBatch"])
def test_batch_applications(name):
    document = {
        "artifact": {"name": name, "version": "9"},
        "config": config("source:a sink:z", "a>z"),
    }
    assert check(read_document(document)) == []


def test_an_application_that_is_no_pipeline():
    document = {
        "artifact": {"name": "x", "version": "1"},
        "config": config("source:a sink:z", "a>z"),
    }
    assert [f.message for f in check(read_document(document))] == [
        "Invalid artifact 'x'. Must be 'cdap-data-pipeline' or 'cdap-data-streams'."
    ]


def test_everything_wrong_is_reported_at_once():
    found = messages(
        "source:a transform:t transform:u sink:z sink:z2 if:c bogus:b errors:e join:j "
        "source:i sink:o source:k sink:m",
        "a>t t>u u>t a>z z>z2 a>c c>j j>e z>nowhere b>z2 i>o k>m e>z2",
    )
    fragments = (
        "Unknown plugin type 'bogus'",
        "nowhere is not a stage",
        "t -> u -> t form a cycle",
        "island made up of stages i, o",
        "batchsink z has outgoing connections to z2",
        "ErrorTransform e cannot have stage j",
        "is not marked with either",
    )
    for fragment in fragments:
        assert any(fragment in message for message in found), fragment


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"schedule": "0 3 * * *", "maxConcurrentRuns": 1}, []),
        ({"schedule": "0 0 12 ? * MON-FRI"}, []),
        ({"schedule": "", "maxConcurrentRuns": -1}, []),  # no schedule is made
        ({"schedule": "daily"}, [("schedule", "Invalid cron entry format in 'daily'.")]),
        ({"schedule": "0 99 * * *"}, [("schedule", "Invalid cron expression '0 99 * * *'")]),
        (
            {"schedule": "x", "maxConcurrentRuns": -1},
            [
                ("schedule", "Invalid cron entry format in 'x'."),
                ("maxConcurrentRuns", "The most runs of a schedule"),
            ],
        ),
    ],
)
def test_the_schedule_can_be_made(settings, expected):
    failures = check(read_document(config("source:a sink:b", "a>b") | settings))
    assert [each.field for each in failures] == [field for field, _ in expected]
    for each, (_, message) in zip(failures, expected, strict=True):
        assert each.message.startswith(message)
        assert each.corrective_action
