"""Which profile a run gets."""

from __future__ import annotations

import pytest

from localcdap.api.errors import NotFoundError
from localcdap.runs.startup.profiles import PROFILE_ARGUMENT, Profiles, RemoteProfile

CLUSTER = RemoteProfile("sc://a:1/;token=hidden", ["pii", "mode_cloud"])


def profiles(**of_namespace: str) -> Profiles:
    return Profiles({"cluster": CLUSTER, "other": CLUSTER}, "other", of_namespace.get)


def test_the_nearest_wins():
    everywhere = profiles(eu="cluster")
    argument = {PROFILE_ARGUMENT: "native"}

    preferred = {PROFILE_ARGUMENT: "USER:native"}

    assert everywhere.choose_profile("us") == "other"
    assert everywhere.choose_profile("eu") == "cluster"
    assert everywhere.choose_profile("eu", preferences=preferred) == "native"
    assert everywhere.choose_profile("eu", asked="other", preferences=preferred) == "other"
    assert everywhere.choose_profile("eu", arguments=argument, asked="other") == "native"
    assert Profiles().choose_profile("eu") == "native"


@pytest.mark.parametrize("text", ["SYSTEM:cluster", "USER:cluster", "user:cluster", " cluster "])
def test_a_scope_may_stand_in_front(text):
    assert profiles().choose_profile("default", arguments={PROFILE_ARGUMENT: text}) == "cluster"
    assert profiles(default=text).choose_profile("default") == "cluster"


@pytest.mark.parametrize(
    "text", ["cluste", "Cluster", "SYSTEM:", "OTHER:cluster", "SYSTEM:USER:cluster"]
)
def test_a_profile_that_is_not_there_is_named_with_who_names_it(text):
    with pytest.raises(NotFoundError) as by_argument:
        profiles().choose_profile("default", arguments={PROFILE_ARGUMENT: text})
    with pytest.raises(NotFoundError) as by_namespace:
        profiles(eu=text).choose_profile("eu")

    assert f"no profile '{text}'" in by_argument.value.message
    assert PROFILE_ARGUMENT in by_argument.value.message
    assert by_argument.value.message.endswith("available: native, cluster, other.")
    assert "namespace 'eu'" in by_namespace.value.message


def test_the_list_marks_the_default_and_shows_no_secret():
    listed = profiles(eu="cluster").list_summaries("eu")

    assert [(p.name, p.kind, p.is_default) for p in listed] == [
        ("native", "native", False),
        ("cluster", "spark-connect", True),
        ("other", "spark-connect", False),
    ]
    assert listed[0].required_capabilities == ["mode_native"]
    assert listed[1].required_capabilities == ["mode_cloud", "pii"]
    assert listed[1].address == "sc://a:1"
    assert "hidden" not in str(listed)
