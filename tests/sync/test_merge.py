"""The three-way merge: laws that hold for all documents, and what conflicts."""

from __future__ import annotations

import json
from functools import partial
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.sync.merge import ABSENT, Bases, Side, merge_documents
from localcdap.sync.pipelines import PIPELINE_LISTS
from localcdap.sync.pipelines import merge_pipelines as merge_with_bases

VALUES = st.sampled_from(["a", "b", "1", 1, True, None])
NAMES = st.sampled_from(["p", "q", "r", "s"])
PROPERTIES = st.dictionaries(st.sampled_from(["x", "y", "z"]), VALUES, max_size=3)


@st.composite
def pipelines(draw):
    names = draw(st.lists(NAMES, unique=True, max_size=4))
    plugins = [{"type": "transform", "name": draw(st.sampled_from(["T", "U"]))} for _ in names]
    stages = [
        {"name": name, "plugin": plugin | {"properties": draw(PROPERTIES)}}
        for name, plugin in zip(names, plugins, strict=True)
    ]
    ends = st.sampled_from(names) if names else st.nothing()
    links = draw(st.lists(st.tuples(ends, ends), unique=True, max_size=3)) if names else []
    connections = [{"from": one, "to": other} for one, other in links]
    return {"config": {"stages": stages, "connections": connections, **draw(PROPERTIES)}}


SIDES = st.one_of(pipelines(), st.just(ABSENT))


def stages(document):
    found = {} if document is ABSENT else document["config"]
    return {each["name"]: each for each in found.get("stages", [])}


class Merged(NamedTuple):
    value: object
    conflicts: list


def merge_pipelines(base, mine, theirs, choose=lambda _: None):
    """Merge what came from one document; both sides become the same then."""
    merge = merge_with_bases(Bases(base, base), mine, theirs, choose)
    assert merge.conflicts or dump(merge.mine) == dump(merge.theirs)
    return Merged(merge.mine, merge.conflicts)


def choose(side, _):
    return side


def dump(document):
    return None if document is ABSENT else json.dumps(document, sort_keys=True)


def unordered(document):
    """A document without the order of its lists."""
    if document is ABSENT:
        return None
    config = document["config"]
    lists = {key: sorted(map(dump, config.get(key, []))) for key in ("stages", "connections")}
    return dump(document | {"config": config | lists})


@given(base=SIDES, other=SIDES)
def test_one_side_alone_is_taken(base, other):
    for merge in (merge_pipelines(base, other, base), merge_pipelines(base, base, other)):
        assert (dump(merge.value), merge.conflicts) == (dump(other), [])


@given(base=SIDES, both=SIDES)
def test_equal_sides_are_taken(base, both):
    merge = merge_pipelines(base, both, both)

    assert (dump(merge.value), merge.conflicts) == (dump(both), [])


@given(base=SIDES, mine=SIDES, theirs=SIDES)
def test_sides_can_be_exchanged(base, mine, theirs):
    one, other = merge_pipelines(base, mine, theirs), merge_pipelines(base, theirs, mine)

    assert dump(one.value) == dump(other.value)
    assert sorted(
        (each.path, dump(each.mine), dump(each.theirs)) for each in one.conflicts
    ) == sorted((each.path, dump(each.theirs), dump(each.mine)) for each in other.conflicts)


@given(base=SIDES, mine=SIDES, theirs=SIDES)
def test_merging_again_changes_nothing_as_after_a_killed_process(base, mine, theirs):
    merge = merge_pipelines(base, mine, theirs)
    if merge.conflicts:
        return

    for again in (
        merge_pipelines(base, merge.value, theirs),
        merge_pipelines(base, mine, merge.value),
    ):
        assert again.conflicts == []
        assert unordered(again.value) == unordered(merge.value)


@given(base=SIDES, mine=SIDES, theirs=SIDES)
def test_no_stage_is_lost(base, mine, theirs):
    merge = merge_pipelines(base, mine, theirs)
    if merge.conflicts:
        return
    before, found = stages(base), stages(merge.value)

    for side in (stages(mine), stages(theirs)):
        for name in side.keys() - before.keys():
            assert name in found
        for name in before.keys() & side.keys():
            if (
                side[name] != before[name]
            ):  # changed here: it stays, also if the other side has removed it
                assert name in found
    assert found.keys() <= stages(mine).keys() | stages(theirs).keys()


@given(base=SIDES, mine=SIDES, theirs=SIDES)
def test_a_side_that_is_chosen_solves_all(base, mine, theirs):
    for side in Side:
        merge = merge_pipelines(base, mine, theirs, partial(choose, side))
        assert merge.conflicts == []
        chosen = stages(mine if side is Side.MINE else theirs)
        for conflict in merge_pipelines(base, mine, theirs).conflicts:
            if conflict.path[:2] == ["config", "stages"] and len(conflict.path) == 3:
                name = conflict.path[2]
                assert dump(stages(merge.value).get(name, {})) == dump(chosen.get(name, {}))


def make(properties, *more):
    first = {"name": "s", "plugin": {"name": "T", "type": "transform", "properties": properties}}
    return {"config": {"stages": [first, *more], "connections": []}}


def test_properties_of_one_stage_are_merged():
    merge = merge_pipelines(
        make({"x": "1", "y": "1"}), make({"x": "2", "y": "1"}), make({"x": "1"})
    )

    assert merge.value == make({"x": "2"})


def test_a_property_that_both_changed_is_a_conflict():
    merge = merge_pipelines(make({"x": "1"}), make({"x": "2"}), make({"x": "3"}))

    (conflict,) = merge.conflicts
    assert conflict.path == ["config", "stages", "s", "plugin", "properties", "x"]
    assert (conflict.base, conflict.mine, conflict.theirs) == ("1", "2", "3")


def test_a_stage_that_is_removed_here_and_changed_there_is_a_conflict():
    removed = {"config": {"stages": [], "connections": []}}
    merge = merge_pipelines(make({"x": "1"}), removed, make({"x": "2"}))

    (conflict,) = merge.conflicts
    assert conflict.path == ["config", "stages", "s"]
    assert conflict.mine is ABSENT


def test_a_stage_that_is_removed_here_and_connected_there_is_a_conflict():
    other = {"name": "t", "plugin": {"name": "T", "type": "transform"}}
    link = {"from": "t", "to": "s"}
    base, mine, theirs = make({}, other), make({}, other), make({}, other)
    del mine["config"]["stages"][0]
    theirs["config"]["connections"] = [link]

    (conflict,) = merge_pipelines(base, mine, theirs).conflicts
    assert conflict.path == ["config", "stages", "s"]
    kept = merge_pipelines(base, mine, theirs, lambda _: Side.THEIRS).value
    assert set(stages(kept)) == {"s", "t"}
    assert kept["config"]["connections"] == [link]
    gone = merge_pipelines(base, mine, theirs, lambda _: Side.MINE).value
    assert set(stages(gone)) == {"t"}
    assert gone["config"]["connections"] == []


def test_stages_of_one_name_with_other_plugins_are_not_mixed():
    other = {"config": {"stages": [{"name": "s", "plugin": {"name": "U", "type": "transform"}}]}}
    none = {"config": {"stages": []}}
    merge = merge_documents(Bases(none, none), make({"x": "1"}), other, PIPELINE_LISTS)

    assert [each.path for each in merge.conflicts] == [["config", "stages", "s"]]


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), ("1", 1), (None, ABSENT)])
def test_values_that_python_takes_for_equal_differ(one, other):
    given = [{} if each is ABSENT else {"a": each} for each in (one, other)]
    merge = merge_documents(Bases(given[0], given[0]), given[1], given[0], {})

    assert dump(merge.theirs) == dump(given[1])


def test_new_elements_come_after_those_that_were_before_them():
    def of(*names):
        return {"config": {"stages": [{"name": name} for name in names]}}

    merge = merge_pipelines(of("a", "b"), of("a", "x", "b"), of("a", "b", "y"))

    assert list(stages(merge.value)) == ["a", "x", "b", "y"]
    moved = merge_pipelines(of("a", "b"), of("b", "a"), of("a", "b", "y"))
    assert list(stages(moved.value)) == ["b", "y", "a"]


def test_a_difference_that_was_there_when_both_agreed_stays():
    """The instance runs another version of a plugin, as --fix has chosen it."""
    agreed = Bases(make({"x": "1", "version": "2"}), make({"x": "1", "version": "1"}))
    theirs = make({"x": "5", "version": "1"})

    merge = merge_with_bases(agreed, agreed.mine, theirs)

    assert merge.conflicts == []
    assert merge.mine == make({"x": "5", "version": "2"})
    assert merge.theirs == theirs
    for gone in (ABSENT, {"config": {"stages": [], "connections": []}}):
        merge = merge_with_bases(agreed, agreed.mine, gone)
        assert (merge.mine, merge.theirs, merge.conflicts) == (gone, gone, [])
    both = make({"x": "1", "version": "3"})
    assert merge_with_bases(agreed, agreed.mine, both).mine == both
