"""The order of phases, conditions and actions."""

from __future__ import annotations

import msgspec
import pytest

from localcdap.api.failures import ArtifactId
from localcdap.api.pipeline import PipelineSpec, PluginSpec, Resources, StageConnection, StageSpec
from localcdap.engine.plan.phases import PhaseRoute

TYPES = {
    "s": "batchsource",
    "t": "transform",
    "k": "batchsink",
    "c": "condition",
    "a": "action",
    "j": "batchjoiner",
}


def route(*ways: str) -> PhaseRoute:
    """Of ways such as ``s1 t1 k1``; the letter of a stage says its type."""
    pairs = [p for way in ways for p in zip(way.split(), way.split()[1:], strict=False)]
    names = list(dict.fromkeys(name for way in ways for name in way.split()))
    order: list[str] = []
    while len(order) < len(names):
        order += [
            n for n in names if n not in order and all(a in order for a, b in pairs if b == n)
        ]
    artifact = ArtifactId("x", "1.0.0", "SYSTEM")
    stages = [
        StageSpec(n, PluginSpec(TYPES[n[0]], "X", {}, artifact), {}, [], {}, {}, None, None)
        for n in order
    ]
    connections = list(dict.fromkeys(StageConnection(a, b) for a, b in pairs))
    sizes = Resources()
    return PhaseRoute(
        PipelineSpec(stages, connections, sizes, sizes, sizes, True, True, 100, {}, [], "SPARK")
    )


@pytest.mark.parametrize(
    ("ways", "steps"),
    [
        (["s1 t1 k1"], ["s1 t1 k1"]),
        (["s1 k1", "s1 k2"], ["s1 k1 k2"]),
        (["s1 t1 c1 k1", "c1 k2", "t1 k3"], ["s1 t1 k3", "c1", "k1", "k2"]),
        (["s1 c1 t1 k1", "c1 t2 k1"], ["s1", "c1", "t1 t2 k1"]),
        (["s1 c1", "s2 c1 k1"], ["s1 s2", "c1", "k1"]),
        (["s1 c1 c2 k1", "c2 k2"], ["s1", "c1", "c2", "k1", "k2"]),
        (["a1 s1 k1 a2", "a1 s2 k2"], ["a1", "s1 k1", "s2 k2", "a2*"]),
        (["c1 s1 k1", "c1 a1"], ["c1", "s1 k1", "a1"]),
        (["s1 k1 c1 a1", "c1 a2"], ["s1 k1", "c1*", "a1*", "a2*"]),
        (["a1"], ["a1"]),
    ],
)
def test_steps(ways, steps):
    found = [" ".join(step.stages) + "*" * step.is_ending for step in route(*ways).steps]

    assert found == steps


def test_records_flow_through_conditions_but_not_to_sources_or_actions():
    made = route("a1 s1 t1 c1 c2 k1 a2", "c1 s2 k2")
    flows = {str(c) for c in made.connections if made.carries_records(c)}

    assert flows == {"s1 -> t1", "t1 -> c1", "c1 -> c2", "c2 -> k1", "s2 -> k2"}
    assert made.forwarding == {"c1", "c2"}
    assert made.list_feeders("c2") == ["c1"]
    assert made.list_entries(["k1"], made.connections) == ["c2"]
    assert made.list_entries(["k1"], []) == []
    assert made.list_exits(["s1", "t1"]) == ["c1"]


def test_a_knot_of_phases_is_reported():
    from localcdap.api.errors import StageError

    with pytest.raises(StageError, match="No order is found"):
        route("s1 t1 j1 k1", "t1 c1 t2 j1")


def test_steps_know_what_is_before_them():
    made = route("a1 s1 c1 k1", "c1 k2")
    before = {step.stages[0]: {made.steps[b].stages[0] for b in step.before} for step in made.steps}

    assert before["k2"] == {"a1", "s1", "c1"}
    assert before["s1"] == {"a1"}
    assert msgspec.structs.asdict(made.steps[0])["is_phase"] is False
