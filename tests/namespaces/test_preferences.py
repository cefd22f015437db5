"""Preferences: the nearest level wins."""

from __future__ import annotations

import pytest

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.namespaces.preferences import PIPELINE_PROGRAM, PreferenceLevel, PreferenceService
from localcdap.namespaces.service import NamespaceService
from localcdap.store.store import Store

INSTANCE = PreferenceLevel()
NAMESPACE = PreferenceLevel("team")
APPLICATION = PreferenceLevel("team", "orders")
PROGRAM = PreferenceLevel("team", "orders", PIPELINE_PROGRAM)


@pytest.fixture
def preferences(store: Store, namespaces: NamespaceService) -> PreferenceService:
    made = PreferenceService(store, namespaces)
    namespaces.create("team")
    return made


def test_the_nearest_level_wins(preferences: PreferenceService):
    for number, level in enumerate((INSTANCE, NAMESPACE, APPLICATION, PROGRAM)):
        values = {key: str(number) for key in "abcd"[number:]}
        preferences.replace(level, values | {f"only{number}": "x"})

    assert preferences.resolve(PROGRAM) == {
        "a": "0",
        "b": "1",
        "c": "2",
        "d": "3",
        **{f"only{n}": "x" for n in range(4)},
    }
    assert preferences.resolve(APPLICATION)["d"] == "2"
    assert preferences.resolve(PreferenceLevel("default", "orders")) == preferences.get(INSTANCE)
    assert preferences.get(NAMESPACE) == {"b": "1", "c": "1", "d": "1", "only1": "x"}
    assert preferences.resolve_for_pipeline("team", "orders") == preferences.resolve(PROGRAM)
    assert preferences.resolve_for_pipeline("team", "other") == preferences.resolve(NAMESPACE)
    assert preferences.resolve_for_pipeline("team", None) == preferences.resolve(NAMESPACE)


def test_a_level_is_replaced_changed_and_emptied(preferences: PreferenceService):
    assert preferences.get(NAMESPACE) == {}
    assert preferences.get_sequence(NAMESPACE) == 0
    first = preferences.replace(NAMESPACE, {"a": "1", "b": "2"})
    assert preferences.update(NAMESPACE, {"b": "3", "c": "4"}, ["a", "z"]) == {"b": "3", "c": "4"}
    assert preferences.get(NAMESPACE) == {"b": "3", "c": "4"}
    assert preferences.get_sequence(NAMESPACE) > first > 0
    preferences.delete(NAMESPACE)
    assert preferences.get(NAMESPACE) == {}


def test_levels_that_are_none_are_refused(preferences: PreferenceService):
    with pytest.raises(NotFoundError, match="available: default, team"):
        preferences.replace(PreferenceLevel("nope"), {})
    with pytest.raises(BadRequestError, match="Invalid program type 'flows'"):
        preferences.get(PreferenceLevel("team", "orders", "flows/x"))
    for level in (PreferenceLevel(None, "orders"), PreferenceLevel("team", None, PIPELINE_PROGRAM)):
        with pytest.raises(BadRequestError, match="needs a"):
            preferences.get(level)
    with pytest.raises(BadRequestError, match="needs a name"):
        preferences.replace(NAMESPACE, {"": "x"})


def test_preferences_go_with_their_namespace(preferences, namespaces: NamespaceService):
    preferences.replace(INSTANCE, {"a": "0"})
    for level in (NAMESPACE, APPLICATION, PROGRAM):
        preferences.replace(level, {"a": "1"})
    namespaces.delete("team")
    namespaces.create("team")

    assert preferences.resolve(PROGRAM) == {"a": "0"}
