"""Propagation: schemas from stage to stage, all failures at once, and what is not reported twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from localcdap.api.failures import ArtifactId
from localcdap.api.schema import Schema
from localcdap.pipeline.document.reader import read_document
from tests.pipeline.pipelines import config, pipeline, record
from tests.pipeline.shelf import resolved

ABC = {"schema": record("a", "b", "c")}
SCHEMA = Schema.parse(ABC["schema"])


def spec_of(stages: str, connections: str = "", **properties):
    answer = resolved(pipeline(stages, connections, **properties))
    assert answer.errors == []
    return {stage.name: stage for stage in answer.spec.stages}


def reported(answer) -> list[tuple[str | None, str]]:
    return [(failure.stage, failure.message) for failure in answer.errors]


# -- schemas ---------------------------------------------------------------------------------


def test_full_specification_with_fan_out_and_fan_in():
    spec = spec_of(
        "source:s1 source:s2 transform:t1 count:n sink:z1 sink:z2 errors:e",
        "s1>t1 s2>t1 t1>z1 t1>n n>z2 t1>e e>z1",
        s1=ABC,
        s2=ABC,
    )
    assert list(spec) == ["s1", "s2", "t1", "n", "e", "z2", "z1"]
    counted = Schema.record("count", [("n", Schema.LONG)])
    t1 = spec["t1"]
    assert t1.input_schemas == {"s1": SCHEMA, "s2": SCHEMA}
    assert t1.input_stages == ["s1", "s2"]
    assert (t1.output_schema, t1.error_schema) == (SCHEMA, SCHEMA)
    assert {name: (p.port, p.schema) for name, p in t1.output_ports.items()} == {
        "z1": (None, SCHEMA),
        "n": (None, SCHEMA),
        "e": (None, SCHEMA),
    }
    assert (spec["n"].output_schema, spec["n"].error_schema) == (counted, SCHEMA)
    assert spec["s1"].input_schemas == {}
    assert spec["s1"].error_schema is None
    assert spec["z1"].input_schemas == {"t1": SCHEMA, "e": SCHEMA}
    assert (spec["z1"].output_schema, spec["z1"].error_schema) == (None, SCHEMA)
    assert t1.plugin.artifact == ArtifactId("mock-plugins", "1.0.0", "SYSTEM")


def test_input_schemas_that_differ_in_record_name_only():
    other = {"schema": record("a", "b", "c", name="other")}
    spec = spec_of("source:s source:t sink:z", "s>z t>z", s=ABC, t=other)
    assert list(spec["z"].input_schemas.values()) == [SCHEMA, SCHEMA.renamed("other")]


def test_different_input_schemas_are_refused_but_for_joiners():
    other = {"schema": record("x")}
    answer = resolved(pipeline("source:s source:t sink:z", "s>z t>z", s=ABC, t=other))
    assert reported(answer) == [("z", "Two different input schema were set for the stage z")]
    assert answer.errors[0].type == "Invalid Pipeline"
    assert answer.spec is None
    spec = spec_of("source:s source:t join:j sink:z", "s>j t>j j>z", s=ABC, t=other)
    assert spec["z"].input_schemas["j"].field_names == ["s_a", "s_b", "s_c", "t_x"]


def test_two_sinks_with_different_schemas_into_one_action():
    spec = spec_of(
        "source:s source:t sink:y sink:z action:x",
        "s>y t>z y>x z>x",
        s=ABC,
        t={"schema": record("x")},
    )
    assert spec["x"].input_schemas == {"y": None, "z": None}
    assert spec["x"].output_schema is None


def test_no_join_is_refused_because_of_mapreduce():
    """CDAP refuses joins without equal keys there; here everything runs on Spark."""
    document = config("source:a source:b join:j sink:z", "a>j b>j j>z", a=ABC, b=ABC)
    answer = resolved(read_document({"config": {**document, "engine": "MAPREDUCE"}}))
    assert answer.errors == []
    assert answer.spec.engine == "MAPREDUCE"


def test_actions_pass_no_schema_to_what_follows():
    spec = spec_of("action:x source:s sink:z", "x>s s>z", s=ABC)
    assert spec["s"].input_schemas == {}
    assert spec["s"].input_stages == ["x"]
    assert spec["x"].output_ports["s"].schema is None


def test_single_action():
    assert spec_of("action:x")["x"].input_stages == []


def test_output_ports_of_a_splitter():
    spec = spec_of("source:s split:p sink:a sink:b sink:c", "s>p p.A>a p.B>b p.C>c", s=ABC)
    b = Schema.record("b", [("b", Schema.LONG)])
    assert spec["p"].output_schema is None
    assert spec["p"].port_schemas == {"A": SCHEMA, "B": b}
    assert {name: (p.port, p.schema) for name, p in spec["p"].output_ports.items()} == {
        "a": ("A", SCHEMA),
        "b": ("B", b),
        "c": ("C", None),
    }
    assert [spec[name].input_schemas["p"] for name in "abc"] == [SCHEMA, b, None]


def test_an_error_transform_gets_the_error_schema():
    spec = spec_of("source:s coded:t errors:e sink:y sink:z", "s>t t>y t>e e>z", s=ABC)
    error = Schema.record("error", [("code", Schema.INT)])
    assert spec["e"].input_schemas == {"t": error}
    assert spec["z"].input_schemas == {"e": error}


def test_errors_of_a_source_have_its_schema():
    spec = spec_of("source:s errors:e sink:y sink:z", "s>y s>e e>z", s=ABC)
    assert spec["e"].input_schemas == {"s": SCHEMA}
    assert spec["s"].error_schema is None


def test_conditions_forward_their_input():
    spec = spec_of(
        "source:s if:c if:d transform:t sink:y sink:z", "s>c c?true>t t>y c?false>d d?true>z", s=ABC
    )
    assert spec["t"].input_schemas == {"c": SCHEMA}
    assert spec["z"].input_schemas == {"d": SCHEMA}
    assert spec["c"].output_ports["t"].schema == SCHEMA


def test_a_condition_with_different_inputs():
    answer = resolved(
        pipeline(
            "source:s source:t if:c sink:z", "s>c t>c c?true>z", s=ABC, t={"schema": record("x")}
        )
    )
    assert reported(answer) == [("c", "Cannot have different input schemas going into stage c")]


def test_alert_publishers_take_no_records():
    other = {"schema": record("x")}
    spec = spec_of("source:s source:t sink:y sink:z alert:a", "s>y t>z s>a t>a", s=ABC, t=other)
    assert spec["a"].input_schemas == {"s": None, "t": None}


def test_an_alert_publisher_that_can_get_no_alerts_has_a_warning():
    silent = resolved(pipeline("source:s sink:z alert:a", "s>z s>a", s=ABC), warn=True)
    assert [(each.stage, each.message) for each in silent.warnings] == [
        ("a", "Stage 'a' gets no alerts: 's' (batchsource) cannot emit any.")
    ]
    loud = pipeline("source:s transform:t sink:z alert:a", "s>t t>z s>a t>a", s=ABC)
    assert resolved(loud, warn=True).warnings == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ["The SQL engine 'BigQueryPushdownEngine' is not used: all stages run on Spark."]),
        ({"pushdownEnabled": False}, []),
        ({"transformationPushdown": {}}, []),
        (
            {"transformationPushdown": {"plugin": {"name": "x", "type": "action"}}},
            [
                (
                    "The plugin of 'transformationPushdown' must have a name and the type "
                    "'batchsqlengine', not 'action'."
                )
            ],
        ),
    ],
)
def test_an_sql_engine_is_kept_and_not_used(changes: dict[str, Any], told: list[str]):
    plugin = {"name": "BigQueryPushdownEngine", "type": "batchsqlengine", "properties": {}}
    made = config("source:s sink:z", "s>z", s=ABC)
    engine = {"pushdownEnabled": True, "transformationPushdown": {"plugin": plugin}} | changes
    source = {"config": made | engine}
    answer = resolved(read_document(source), warn=True)
    assert [each.message for each in answer.warnings] == told
    assert answer.errors == []
    assert json.loads(answer.document.to_json())["config"].items() >= engine.items()


# -- all failures at once --------------------------------------------------------------------


def test_every_stage_reports_even_behind_a_broken_one():
    answer = resolved(
        pipeline(
            "source:s strict:t strict:u transform:v sink:z",
            "s>t t>u u>v v>z",
            s=ABC,
            t={},
            u={"number": "many"},
            z={"field": "zz"},
        )
    )
    assert reported(answer) == [
        ("t", "Required property 'needed' has no value."),
        ("u", "Required property 'needed' has no value."),
        ("u", "Property 'number' must be a whole number, not 'many'."),
        ("u", "Input schema of stage 'u' is unknown because stage 't' is invalid."),
    ]
    assert answer.errors[1].field == "needed"


def test_unknown_input_is_reported_for_each_stage_right_behind_a_broken_one():
    answer = resolved(
        pipeline(
            "source:s strict:t strict:u join:j sink:y sink:z", "s>t s>u t>j u>j j>y t>z", s=ABC
        )
    )
    unknown = {message for _, message in reported(answer) if "is unknown because" in message}
    assert unknown == {
        "Input schema of stage 'j' is unknown because stage 't' is invalid.",
        "Input schema of stage 'j' is unknown because stage 'u' is invalid.",
        "Input schema of stage 'z' is unknown because stage 't' is invalid.",
    }


def test_unknown_input_is_reported_behind_a_condition():
    answer = resolved(pipeline("source:s strict:t if:c sink:z", "s>t t>c c?true>z", s=ABC))
    assert reported(answer)[1:] == [
        ("z", "Input schema of stage 'z' is unknown because stage 't' is invalid.")
    ]


def test_a_failed_stage_with_a_schema_leaves_nothing_unknown():
    answer = resolved(
        pipeline(
            "source:s transform:t sink:z", "s>t t>z", s=ABC | {"path": "bad"}, z={"field": "x"}
        )
    )
    assert reported(answer) == [
        ("s", "No such path."),
        ("z", "Field 'x' must exist in the input schema."),
    ]


def test_structural_failures_do_not_hide_those_of_stages():
    answer = resolved(
        pipeline("source:s transform:t transform:d sink:z", "s>t t>z s>d", s=ABC, t={"field": "x"})
    )
    assert reported(answer) == [
        ("d", "Stage d is a dead end, it has no outgoing connections."),
        ("t", "Field 'x' must exist in the input schema."),
    ]


def test_stages_on_and_behind_a_cycle_are_configured_too():
    answer = resolved(
        pipeline("source:s strict:t transform:u strict:v sink:z", "s>t t>u u>t u>v v>z", s=ABC)
    )
    assert [stage for stage, _ in reported(answer)] == [None, "t", "v"]


def test_all_stages_of_one_name_are_configured():
    answer = resolved(pipeline("source:s sink:z strict:z strict:z2", "s>z", s=ABC))
    assert ("z", "Required property 'needed' has no value.") in reported(answer)


def test_stages_of_unknown_type_are_not_called_missing_plugins():
    answer = resolved(pipeline("bogus:s sink:z", "s>z"))
    assert reported(answer) == [
        ("s", "Unknown plugin type 'bogus' of stage 's'."),
        ("z", "Input schema of stage 'z' is unknown because stage 's' is invalid."),
    ]


# -- properties of the pipeline --------------------------------------------------------------


def test_conflicting_stage_properties():
    answer = resolved(
        pipeline(
            "source:s transform:a transform:b sink:z",
            "s>a a>b b>z",
            s=ABC,
            a={"engine": "x"},
            b={"engine": "y"},
        )
    )
    assert reported(answer) == [
        (
            None,
            (
                "Pipeline property 'p' is being set to different values by stages. "
                "stage 'a' = 'x', stage 'b' = 'y'"
            ),
        )
    ]


def test_properties_of_stages_win_over_those_of_the_document():
    document = config("source:s transform:a sink:z", "s>a a>z", s=ABC, a={"engine": "x"})
    document |= {
        "engine": "spark",
        "properties": {"system.spark.p": "1", "system.spark.q": "2", "system.mapreduce.r": "3"},
    }
    spec = resolved(read_document(document)).spec
    assert spec.properties == {"p": "x", "q": "2"}
    assert spec.engine == "SPARK"


def test_post_actions_are_configured_first_and_alone():
    document = config("source:s strict:t sink:z", "s>t t>z", s=ABC)
    mail = {"name": "m", "plugin": {"name": "Mail", "type": "postaction", "properties": {}}}
    document["postActions"] = [mail]
    answer = resolved(read_document(document))
    assert [stage for stage, _ in reported(answer)] == ["m", "t", "z"]
    mail["plugin"]["properties"] = {"to": "me"}
    document["stages"][1]["plugin"]["properties"] = {"needed": "x"}
    spec = resolved(read_document(document)).spec
    assert [(each.name, each.plugin.properties) for each in spec.ending_actions] == [
        ("m", {"to": "me"})
    ]
