"""The lineage of a pipeline with conditions: each run knows the branch that it took."""

from __future__ import annotations

import pytest

from localcdap.api.lineage import EdgeKind, FieldEdge, StageLineage
from localcdap.api.pipeline import StageConnection
from localcdap.messaging.topics import Topics
from localcdap.metadata.accesses import AccessRecorder
from localcdap.metadata.audit import AuditLog
from localcdap.metadata.store import MetadataStore
from tests.metadata.lineage.run_ids import make_run

SAME = [FieldEdge("id", "id", EdgeKind.IDENTITY)]


def list_stages(sink, middle="condition"):
    return [
        StageLineage("in", "batchsource", [], [], outputs=["id"], datasets=["raw"]),
        StageLineage("if", middle, [], SAME, {"in": ["id"]}, ["id"]),
        StageLineage("out", "batchsink", [], SAME, {"if": ["id"]}, datasets=[sink], places=[sink]),
    ]


@pytest.fixture
def record(lineage, store):
    recorder = AccessRecorder(lineage, MetadataStore(store), AuditLog(Topics(store)))
    connections = [StageConnection("in", "if"), StageConnection("if", "out")]

    def record_run(stages):
        with store.transaction() as tx:
            assert recorder.record_fields(tx, "ns", "p", make_run(1), stages, connections) == []
            found = {each.target.dataset.dataset for each in lineage.list_edges(tx, "ns", "p")}
            places = {each.place for each in lineage.list_places(tx, "ns", "p")}
            assert places == found
        return found

    return record_run


def test_the_branch_that_a_run_did_not_take_keeps_its_lineage(record):
    assert record(list_stages("yes")) == {"yes"}
    assert record(list_stages("no")) == {"yes", "no"}
    assert record(list_stages("no")) == {"yes", "no"}


def test_a_pipeline_without_conditions_has_the_lineage_of_its_last_run(record):
    assert record(list_stages("monday", "transform")) == {"monday"}
    assert record(list_stages("tuesday", "transform")) == {"tuesday"}
