"""The graph: order, cycles, parts; and random graphs against the rules."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.pipeline import StageConnection
from localcdap.pipeline.rules.graph import Graph
from localcdap.pipeline.rules.structure_rules import PipelineStructure
from localcdap.pipeline.validation.plugins import IndexedPlugins
from localcdap.pipeline.validation.resolution import resolve_pipeline
from localcdap.sandbox.stage_configuration import configure_stage
from tests.pipeline.pipelines import PLUGINS, check, pipeline
from tests.pipeline.shelf import mock_shelf


def graph(stages: str, connections: str = "") -> Graph:
    return Graph(stages, [StageConnection(*each) for each in connections.split()])


def test_order_puts_inputs_first_and_keeps_the_document_otherwise():
    assert graph("zab", "bz az").sort() == ["a", "b", "z"]
    assert graph("abc").sort() == ["a", "b", "c"]


def test_order_holds_the_stages_of_cycles_and_those_behind_them():
    assert graph("abcd", "ab bc cb cd").sort() == ["a", "b", "c", "d"]


def test_long_pipelines_need_no_deep_stack():
    names = [str(i) for i in range(5000)]
    line = Graph(names, [StageConnection(a, b) for a, b in zip(names, names[1:], strict=False)])
    assert line.sort() == names
    assert line.find_cyclic_groups() == []
    assert len(line.find_descendants("0")) == 4999


def test_cycles_are_reported_once_each_in_the_order_of_connections():
    assert graph("abcdef", "ab bc ca cd de ed").find_cycles() == [["a", "b", "c"], ["d", "e"]]


def test_components():
    assert graph("abcde", "ab cd").find_components() == [["a", "b"], ["c", "d"], ["e"]]


LETTERS = "abcdefgh"


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 8))
    stages = LETTERS[:count]
    letter = st.sampled_from(stages)
    pairs = draw(st.lists(st.tuples(letter, letter), max_size=16))
    return stages, pairs


@given(graphs())
def test_every_stage_has_its_place_after_inputs_that_are_on_no_cycle_with_it(drawn):
    stages, pairs = drawn
    made = Graph(stages, [StageConnection(*pair) for pair in pairs])
    order = made.sort()
    assert sorted(order) == sorted(stages)
    together = {frozenset((a, b)) for knot in made.find_cyclic_groups() for a in knot for b in knot}
    for source, target in pairs:
        if frozenset((source, target)) not in together:
            assert order.index(source) < order.index(target)


@given(graphs())
def test_cycles_are_ways_and_are_found_exactly_when_there_are_some(drawn):
    stages, pairs = drawn
    made = Graph(stages, [StageConnection(*pair) for pair in pairs])
    find_cycles = made.find_cycles()
    for cycle in find_cycles:
        assert all(pair in pairs for pair in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    assert bool(find_cycles) == any(stage in made.find_descendants(stage) for stage in stages)


@st.composite
def pipelines(draw):
    stages, pairs = draw(graphs())
    kind = st.sampled_from([*PLUGINS, "bogus", "windower"])
    arrow = st.sampled_from([">", ".A>", "?true>", "?false>"])
    text = " ".join(f"{draw(kind)}:{name}" for name in stages)
    return pipeline(text, " ".join(f"{a}{draw(arrow)}{b}" for a, b in pairs))


@given(pipelines())
def test_the_rules_check_every_graph(document):
    failures = check(document)
    assert all(failure.message and failure.type == "Invalid Pipeline" for failure in failures)
    assert len({(f.message, f.stage) for f in failures}) == len(failures)


SHELF = IndexedPlugins(mock_shelf(), "default")


@given(pipelines())
def test_every_graph_is_resolved(document):
    answer = resolve_pipeline(document, SHELF, configure_stage)
    assert (answer.spec is None) == bool(answer.errors)
    if answer.spec is not None:
        assert [stage.name for stage in answer.spec.stages] == PipelineStructure(
            document
        ).graph.sort()
    assert set(answer.requests) <= {stage.name for stage in document.stages}
