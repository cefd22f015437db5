"""While a pipeline is edited, its stages show which datasets cannot be as they declare them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from localcdap.api.schema import Schema
from localcdap.datasets.model import DatasetRequest
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.pipeline.editing.edits import SetProperties
from localcdap.pipeline.editing.service import OpenRequest
from tests.e2e.pipelines import csv_source, pipeline, schema, stage

LONG_S = 30.0
HELD = Schema.record("r", [("id", Schema.INT), ("name", Schema.STRING)])


@pytest.fixture
def cdap(tmp_path, fresh_home):
    with open_in_process(Home(fresh_home(tmp_path))) as cdap:
        yield cdap


def make_document(table: str) -> dict[str, Any]:
    sink = stage("Out", "batchsink", "Table", name=table, schema__row__field="id")
    source = csv_source("In", Path("in.csv"), schema(id="string", name="string"))
    return pipeline([source, sink], ("In", "Out"))


def wait_for(cdap, id: str, after: int, *, wanted: bool) -> tuple[int, list[str]]:
    """Return the revision, and the failures of the sink as soon as it has some, or none."""
    while True:
        found = cdap.editing.get_changes(id, after, LONG_S)
        assert found.revision > after, "nothing has changed in time"
        after = found.revision
        state = found.stages.get("Out")
        if state is not None and not state.checking and bool(state.errors) is wanted:
            return after, [each.message for each in state.errors]


def test_failures_of_datasets_are_shown_at_once(cdap):
    request = DatasetRequest("people", "table", {"schema": str(HELD), "schema.row.field": "id"})
    cdap.datasets.create(request)
    opened = cdap.editing.open(OpenRequest(make_document("people")))
    revision, (message,) = wait_for(cdap, opened.id, -1, wanted=True)
    assert message.startswith("Dataset 'people': field 'id'")

    properties = {"name": "others", "schema.row.field": "id"}
    edit = SetProperties("Out", properties)
    revision = cdap.editing.apply(opened.id, edit).revision - 1
    revision, _ = wait_for(cdap, opened.id, revision, wanted=False)
    cdap.editing.apply(opened.id, SetProperties("Out", {**properties, "name": "people"}))
    _, (again,) = wait_for(cdap, opened.id, revision, wanted=True)
    assert again == message
    cdap.editing.close(opened.id)
