"""What plugins emit: each emitted record is one of its own, whatever becomes of the object."""

from __future__ import annotations

from typing import Any

import pytest

from localcdap.api import Schema
from localcdap.engine.tasks.runners import PortsEmitter, RecordEmitter

FLAT = Schema.record("flat", [("k", Schema.STRING), ("n", Schema.LONG.as_nullable)])
NESTED = Schema.record("nested", [("k", Schema.STRING), ("tags", Schema.array(Schema.STRING))])


class Record(dict[str, Any]):
    """A record of a class that a plugin has of its own."""


@pytest.mark.parametrize("make", [dict, Record])
def test_a_record_that_is_changed_and_emitted_again_is_another_one(make):
    emit = RecordEmitter("stage", FLAT)
    record = make(k="", n=1)
    for letter in "xyz":
        record["k"] = letter
        emit(record)
        emit.error(record, 1, letter)
    record["k"] = "later"

    assert [each["k"] for each in emit] == ["x", "y", "z"]
    assert [each.record["k"] for each in emit.errors] == ["x", "y", "z"]


def test_a_list_within_a_record_is_copied_too():
    emit = RecordEmitter("stage", NESTED)
    record: dict[str, Any] = {"k": "a", "tags": []}
    for letter in "xy":
        record["tags"].append(letter)
        emit(record)

    assert [each["tags"] for each in emit] == [["x"], ["x", "y"]]


@pytest.mark.parametrize("schema", [FLAT, NESTED])
def test_one_record_of_two_ports_is_two_records(schema):
    emit = PortsEmitter("stage", {"left": schema, "right": schema})
    record = {"k": "a", "tags": ["x"], "n": None}
    for port in ("left", "right", "nowhere"):
        emit(port, record)
    emit.ports["left"][0]["k"] = "changed by the next stage"

    assert emit.ports["right"] == [record]


def test_what_is_not_a_record_is_left_to_the_check_of_its_type():
    emit = RecordEmitter("stage", FLAT)
    emit(None)
    assert emit == [None]
