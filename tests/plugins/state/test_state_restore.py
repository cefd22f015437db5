"""StateRestore in a pipeline that stores its state, run after run."""

from __future__ import annotations

from typing import Any

import pytest
from state_restore.state_restore import StateRestore

from localcdap.api import Schema
from localcdap.datasets.model import DatasetRequest
from localcdap.datasets.sql import SqlRequest
from localcdap.testing import StageTester, TemporaryInstance

ROW = Schema.record("row", [("key", Schema.STRING), ("value", Schema.STRING)])


def stage(name: str, type: str, plugin: str, **properties: str) -> dict[str, Any]:
    return {"name": name, "plugin": {"type": type, "name": plugin, "properties": properties}}


def document(**more: str) -> dict[str, Any]:
    """A pipeline that reads the file of its state, and stores what the file says as the next state."""
    file = {"referenceName": "file", "format": "csv", "path": "${state}.csv", "schema": str(ROW)}
    store = stage("store", "batchsink", "KVTable", **{"key.field": "key", "value.field": "value"})
    store["plugin"]["properties"]["name"] = "states"
    stages = [
        stage("restore", "action", "StateRestore", trackingTable="states", key="next", **more),
        stage("read", "batchsource", "File", **file),
        store,
    ]
    pairs = [("restore", "read"), ("read", "store")]
    connections = [{"from": source, "to": target} for source, target in pairs]
    return {"name": "Stateful", "config": {"stages": stages, "connections": connections}}


@pytest.mark.spark
def test_each_run_begins_where_the_last_one_ended(cdap_instance: TemporaryInstance, engine: object):
    home = cdap_instance.home.path
    (home / "first.csv").write_text("next,second\n", encoding="utf-8")
    (home / "second.csv").write_text("next,third\n", encoding="utf-8")

    missing = cdap_instance.run(document(defaultValue="first"))
    assert missing.error is not None
    assert "the state cannot be read from table 'states'" in missing.error.message
    assert missing.error.stage == "restore"

    request = DatasetRequest("states", "keyValueTable", {"schema": str(ROW)})
    cdap_instance.cdap.datasets.create(request)
    first = cdap_instance.run(document(defaultValue="first"))
    assert (first.status, first.error) == ("COMPLETED", None)
    second = cdap_instance.run(document(defaultValue="first"))
    assert (second.status, second.error) == ("COMPLETED", None)
    log = [line.text for line in cdap_instance.cdap.runs.read_log(second.run)]
    assert "State: second" in log
    rows = cdap_instance.cdap.sql.query(SqlRequest("SELECT value FROM states")).to_table()
    assert rows.to_pylist() == [{"value": "third"}]


def test_table_and_key_are_required():
    assert StageTester(StateRestore, {}).problems == [
        "trackingTable: Required property 'trackingTable' has no value.",
        "key: Required property 'key' has no value.",
    ]
    assert StageTester(StateRestore, {"trackingTable": "${t}", "key": "${k}"}).problems == []
