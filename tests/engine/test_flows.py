"""Which datasets flow into which: along the connections on which records went."""

from __future__ import annotations

from localcdap.api.pipeline import StageConnection
from localcdap.engine.driver.accesses import find_flows
from localcdap.engine.messages.spool import DatasetAccess, DatasetFlow

SOURCE, SINK = "batchsource", "batchsink"
TYPES = {"A": SOURCE, "B": SOURCE, "T": "transform", "X": SINK, "Y": SINK}


def connect(*pairs: str) -> list[StageConnection]:
    return [StageConnection(pair[0], pair[1]) for pair in pairs]


def test_only_sinks_behind_a_source_get_its_metadata() -> None:
    accesses = [
        DatasetAccess("A", "a", False),
        DatasetAccess("B", "b", False),
        DatasetAccess("T", "looked-into", False),
        DatasetAccess("X", "x", True),
        DatasetAccess("Y", "y", True),
    ]
    straight = find_flows(accesses, TYPES, connect("AT", "TX", "BY"))
    assert straight == [DatasetFlow("a", "x"), DatasetFlow("b", "y")]
    both = find_flows(accesses, TYPES, connect("AT", "BT", "TX", "TY"))
    assert both == [DatasetFlow(one, other) for one in "ab" for other in "xy"]
    assert find_flows(accesses, TYPES, connect("AT", "TX")) == [DatasetFlow("a", "x")]


def test_a_dataset_does_not_flow_into_itself() -> None:
    accesses = [DatasetAccess("A", "same", False), DatasetAccess("X", "same", True)]
    assert find_flows(accesses, TYPES, connect("AX")) == []
