"""Turns of lines between two columns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from localcdap.tui.canvas.layers import find_nearest_rows
from localcdap.tui.canvas.layout import Crossing, route_turns


def test_a_straight_line_needs_no_track():
    assert route_turns([Crossing("a", 3, (3,))]) == ([], 0)


def test_lines_that_change_places_go_around_each_other():
    made, tracks = route_turns([Crossing("a", 0, (5,)), Crossing("b", 5, (0,))])

    assert tracks == 3
    assert sorted((turn.key for turn in made), key=str) in (["a", "a", "b"], ["a", "b", "b"])


def test_lines_that_go_down_beside_each_other_do_not_cross():
    made, _ = route_turns([Crossing("upper", 0, (4,)), Crossing("lower", 1, (5,))])

    track = {turn.key: turn.track for turn in made}
    assert track["lower"] < track["upper"]


rows = st.integers(0, 12)


@given(st.lists(st.tuples(rows, st.lists(rows, min_size=1, max_size=3)), max_size=8))
def test_lines_of_one_track_do_not_touch(lines):
    entering = {enters: tuple(sorted(set(leaves))) for enters, leaves in lines}
    made, tracks = route_turns([Crossing(e, e, leaves) for e, leaves in entering.items()])

    spans = [
        (turn.track, min(turn.enters, *turn.leaves), max(turn.enters, *turn.leaves))
        for turn in made
    ]
    assert all(0 <= track < tracks for track, _, _ in spans)
    for place, (track, first, last) in enumerate(spans):
        for other, top, bottom in spans[place + 1 :]:
            assert track != other or last < top or bottom < first


wishes = st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 8)), min_size=1, max_size=4)


@given(st.lists(st.tuples(wishes, st.integers(1, 4)), max_size=8))
def test_rows_keep_their_order_and_distance(things):
    found = find_nearest_rows([wish for wish, _ in things], [height for _, height in things])

    for place in range(len(found) - 1):
        assert found[place + 1] - found[place] >= things[place][1]


def test_rows_that_fit_are_as_wished():
    assert find_nearest_rows([[(0, 1)], [(7, 1)], [(9, 1)]], [2, 2, 2]) == [0, 7, 9]
