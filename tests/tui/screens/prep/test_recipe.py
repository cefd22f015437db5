"""The recipe of the prep area: undo and redo equal replay."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from localcdap.tui.screens.prep.recipe import PrepRecipe, PrepStep

CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["insert", "edit", "switch", "remove", "move", "undo", "redo"]),
        st.integers(0, 5),
        st.sampled_from(["trim :a", "drop :b", "keep :c"]),
    ),
    max_size=30,
)


def change(recipe: PrepRecipe, what: str, number: int, text: str) -> None:
    if what == "insert":
        recipe.insert([text], min(number, len(recipe.steps)))
    elif what == "undo" and recipe.can_undo:
        recipe.undo()
    elif what == "redo" and recipe.can_redo:
        recipe.redo()
    elif number < len(recipe.steps):
        calls: dict[str, Any] = {
            "edit": lambda: recipe.edit(number, text),
            "switch": lambda: recipe.switch(number),
            "remove": lambda: recipe.remove(number),
            "move": lambda: recipe.move(number, 1 if text == "trim :a" else -1),
        }
        calls.get(what, lambda: None)()


@given(CHANGES)
def test_undo_and_redo_go_through_all_states(changes: list[tuple[str, int, str]]) -> None:
    recipe = PrepRecipe()
    states = [recipe.steps]
    at = 0
    for what, number, text in changes:
        could = {"undo": recipe.can_undo, "redo": recipe.can_redo}.get(what, False)
        change(recipe, what, number, text)
        if could:
            at += 1 if what == "redo" else -1
        elif recipe.steps != states[at]:
            del states[at + 1 :]
            states.append(recipe.steps)
            at += 1
        assert recipe.steps == states[at]
        assert recipe.can_undo == (at > 0)
        assert recipe.can_redo == (at < len(states) - 1)
    while recipe.can_undo:
        recipe.undo()
    assert recipe.steps == ()
    while recipe.can_redo:
        recipe.redo()
    assert recipe.steps == states[-1]


def test_steps_that_are_off_do_not_run() -> None:
    recipe = PrepRecipe(
        [PrepStep("trim :a"), PrepStep("drop :b", is_on=False), PrepStep("keep :c")]
    )
    assert recipe.directives == ["trim :a", "keep :c"]
    assert [recipe.count_running(number) for number in (-1, 0, 1, 2)] == [0, 1, 1, 2]
    assert recipe.with_directive("x", 1, replaces=True) == ["trim :a", "x", "keep :c"]
    assert recipe.with_directive("x", 3, replaces=False) == ["trim :a", "keep :c", "x"]
    assert not recipe.move(0, -1)
    assert not recipe.can_undo
