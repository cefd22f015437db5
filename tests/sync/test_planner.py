"""Plans of whole synchronizations, of a kind of entities that lives in a dict."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from localcdap.sync.base_records import BaseTexts
from localcdap.sync.files import read_files
from localcdap.sync.json_files import format_document
from localcdap.sync.kinds import EntityKind, ReadEntity
from localcdap.sync.merge import Side
from localcdap.sync.model import (
    FolderFile,
    SyncAction,
    SyncDirection,
    SyncPlan,
    SyncRequest,
    complete_records,
)
from localcdap.sync.planner import Planner, describe_path, group_states


class Notes(EntityKind):
    """Notes, which an instance completes by a key of its own when it stores them."""

    name = "notes"
    noun = "note"

    def __init__(self) -> None:
        self.stored: dict[str, Any] = {}

    def list_documents(self, namespace: str) -> dict[str, Any]:
        return copy.deepcopy(self.stored)

    def read(self, namespace: str, document: dict[str, Any], path: str) -> ReadEntity:
        return ReadEntity(document["name"], document)

    def write(self, namespace: str, key: str, document: Any) -> None:
        self.stored[key] = document | {"stored": True}

    def delete(self, namespace: str, key: str) -> None:
        del self.stored[key]


class Both:
    """Both sides, and what they agreed on."""

    def __init__(self) -> None:
        self.kind = Notes()
        self.files: dict[str, str] = {}
        self.bases: dict[tuple[str, str], BaseTexts] = {}

    def plan(self, direction: SyncDirection, side: Side | None = None) -> SyncPlan:
        files = [FolderFile(path, text) for path, text in self.files.items()]
        request = SyncRequest("default", "/x", files, direction, {"all": side} if side else {})
        kinds: dict[str, EntityKind] = {"notes": self.kind}
        read = read_files("default", files, kinds, ())
        assert read.problems == []
        planner = Planner(request, list(self.files))
        instance = {("notes", key): each for key, each in self.kind.stored.items()}
        for states in group_states(kinds, instance, read.entities, self.bases):
            planner.add(states)
        return planner.plan

    def carry_out(self, plan: SyncPlan) -> None:
        for change in plan.instance:
            if change.action is SyncAction.DELETE:
                self.kind.delete("default", change.key)
            else:
                self.kind.write("default", change.key, change.document)
        for file in plan.files:
            if file.text is None:
                del self.files[file.path]
            else:
                self.files[file.path] = file.text
        stored = {
            change.entity: format_document(self.kind.stored[change.key])
            for change in plan.instance
            if change.key in self.kind.stored
        }
        for record in complete_records(plan.records, plan.instance, stored):
            key = (record.kind, record.key)
            if record.folder_text is None or record.instance_text is None:
                self.bases.pop(key, None)
            else:
                self.bases[key] = BaseTexts(record.folder_text, record.instance_text)

    def change(self, which: str, name: str, values: dict[str, int] | None) -> None:
        """Set the note of a name on a side; None deletes it."""
        path = f"notes/{name}.json"
        if which == "instance":
            self.kind.stored.pop(name, None)
            if values is not None:
                self.kind.write("default", name, {"name": name, **values})
        elif values is None:
            self.files.pop(path, None)
        else:
            self.files[path] = json.dumps({**values, "name": name})

    def compare(self) -> None:
        """Both sides have the same notes, except for what the instance has added."""
        found = {json.loads(text)["name"]: json.loads(text) for text in self.files.values()}
        stored = copy.deepcopy(self.kind.stored)
        for each in (*found.values(), *stored.values()):
            each.pop("stored", None)
        assert found == stored


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["instance", "folder"]),
        st.sampled_from(["a", "b"]),
        st.none() | st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 2), max_size=2),
    ),
    max_size=4,
)
ROUNDS = st.lists(st.tuples(CHANGES, st.sampled_from(Side)), min_size=1, max_size=4)


@given(ROUNDS)
def test_both_sides_agree_after_each_synchronization_and_nothing_is_left_to_do(rounds):
    both = Both()
    for changes, side in rounds:
        for change in changes:
            both.change(*change)
        plan = both.plan(SyncDirection.BOTH, side)
        assert plan.conflicts == []
        both.carry_out(plan)
        both.compare()
        assert both.plan(SyncDirection.BOTH).is_empty


@given(ROUNDS)
def test_pull_and_push_together_do_what_a_synchronization_does(rounds):
    one, other = Both(), Both()
    for changes, _ in rounds:
        for change in changes:
            one.change(*change)
            other.change(*change)
        plan = one.plan(SyncDirection.BOTH)
        if plan.conflicts:
            return
        one.carry_out(plan)
        for direction in (SyncDirection.PULL, SyncDirection.PUSH):
            step = other.plan(direction)
            assert step.conflicts == []
            assert not (step.files if direction is SyncDirection.PULL else step.instance)
            other.carry_out(step)
        other.compare()
        assert other.plan(SyncDirection.BOTH).is_empty
        assert one.kind.stored == other.kind.stored


@given(ROUNDS)
def test_changes_of_one_side_reach_the_other_as_they_are(rounds):
    both = Both()
    for changes, _ in rounds:
        for _, name, values in changes:
            both.change("folder", name, values)
        plan = both.plan(SyncDirection.BOTH)
        assert (plan.conflicts, plan.files) == ([], [])
        both.carry_out(plan)
        both.compare()


def test_places_are_described_in_words():
    assert describe_path(["config", "stages", "s", "plugin", "properties", "x"]) == (
        "stage 's', property 'x'"
    )
    assert describe_path(["config", "engine"]) == "'engine'"
    assert describe_path(["preferences", "region"]) == "preference 'region'"
    assert describe_path(["config", "stages", "s"]) == "stage 's'"
    assert describe_path([]) == ""
