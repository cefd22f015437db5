"""Data Prep acts for its caller (document 002, story 10): what the caller may not do, it does not do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.security import Principal
from localcdap.engine.messages.host import StatementBatch
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.security.principals import act_as
from localcdap.testing import TemporaryInstance
from tests.e2e.pipelines import csv_source, pipeline, schema, stage

from .conftest import DataPrepClient

SETTINGS = """
[security]
enabled = true

[security.privileges.reader]
"namespaces/system/apps/dataprep" = ["EXECUTE"]
"namespaces/default" = ["READ"]

[security.privileges.writer]
"namespaces/system/apps/dataprep" = ["EXECUTE"]
"namespaces/default" = ["READ", "WRITE"]
"namespaces/private/datasets/open" = ["READ"]
"namespaces/private" = ["WRITE"]

[security.privileges.nobody]
"namespaces/system/apps/dataprep" = ["EXECUTE"]

[security.privileges.root]
"*" = ["READ", "WRITE", "EXECUTE", "ADMIN"]
"""
READER, WRITER, NOBODY, ROOT = map(Principal, ("reader", "writer", "nobody", "root"))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataPrepClient]:
    home = tmp_path_factory.mktemp("guarded")
    (home / "localcdap.toml").write_text(SETTINGS)
    with TemporaryInstance(home) as instance:
        with act_as(ROOT):
            statements = [f"CREATE TABLE {name} AS SELECT 1 AS n" for name in ("seen", "hidden")]
            batch = StatementBatch("default", statements, ["seen", "hidden"])
            instance.cdap.table_statements.carry_out(batch)
            plugin = {"name": "Tables", "properties": {}}
            instance.cdap.connections.load("default", {"name": "tables", "plugin": plugin})
            instance.cdap.namespaces.create("private")
        yield DataPrepClient(instance, "default")


def status(client: DataPrepClient, who: Principal, method: str, path: str, body: Any = None) -> int:
    with act_as(who):
        return client.call(method, path, body).status


def test_a_reader_reads_and_writes_nothing(client: DataPrepClient) -> None:
    allowed: list[tuple[str, str, Any]] = [
        ("GET", "workspaces", None),
        ("GET", "connections", None),
        ("GET", "connections/tables", None),
        ("GET", "connectionTypes", None),
        ("POST", "connections/tables/browse", {"path": "/"}),
        ("POST", "connections/tables/sample", {"path": "/seen"}),
        ("POST", "connections/tables/specification", {"path": "/seen"}),
    ]
    for method, path, body in allowed:
        assert status(client, READER, method, path, body) == 200, path
        assert status(client, NOBODY, method, path, body) == 403, path
    create = {"connection": "tables", "sampleRequest": {"path": "/seen"}}
    plugin = {"plugin": {"name": "Tables"}}
    refused: list[tuple[str, str, Any]] = [
        ("POST", "workspaces", create),
        ("POST", "recipes", {"recipeName": "r", "description": "", "directives": ["drop :n"]}),
        ("PUT", "connections/x", plugin),
        ("DELETE", "connections/tables", None),
        ("POST", "connections/test", plugin),
    ]
    for method, path, body in refused:
        assert status(client, READER, method, path, body) == 403, path
    assert status(client, WRITER, "PUT", "connections/x", plugin) == 403  # as for other front ends
    assert status(client, ROOT, "PUT", "connections/x", plugin) == 200


def test_a_writer_owns_what_is_made(client: DataPrepClient) -> None:
    create = {"connection": "tables", "sampleRequest": {"path": "/seen"}}
    with act_as(WRITER):
        id = client.call("POST", "workspaces", create).body
    with act_as(READER):
        assert client.call("GET", f"workspaces/{id}").body["owner"] == "writer"
        assert client.call("POST", f"workspaces/{id}/execute", {"directives": []}).status == 403
    assert status(client, WRITER, "DELETE", f"workspaces/{id}") == 200


def test_only_readable_tables_are_shown_and_sampled(client: DataPrepClient) -> None:
    cdap = client.instance.cdap
    with act_as(ROOT):
        statements = [f"CREATE TABLE {name} AS SELECT 1 AS n" for name in ("open", "shut")]
        batch = StatementBatch("private", statements, ["open", "shut"])
        cdap.table_statements.carry_out(batch)
        plugin = {"name": "Tables", "properties": {}}
        cdap.connections.load("private", {"name": "tables", "plugin": plugin})
    private = DataPrepClient(client.instance, "private")
    # WRITE on the namespace alone reads nothing of it.
    assert status(private, WRITER, "POST", "connections/tables/browse", {"path": "/"}) == 403
    create = {"connection": "tables", "sampleRequest": {"path": "/shut"}}
    assert status(private, WRITER, "POST", "workspaces", create) == 403
    with act_as(ROOT):
        found = private.call("POST", "connections/tables/browse", {"path": "/"}).body
    assert [each["name"] for each in found["entities"]] == ["open", "shut"]


def test_a_recipe_looks_only_into_tables_that_its_caller_may_read(client: DataPrepClient) -> None:
    statements = [
        "CREATE TABLE towns (key VARCHAR, n INTEGER)",
        "INSERT INTO towns VALUES ('a', 1)",
    ]
    private = DataPrepClient(client.instance, "private")
    with act_as(ROOT):
        client.instance.cdap.table_statements.carry_out(
            StatementBatch("private", statements, ["towns"])
        )
        id = private.upload("a\n")
        answer = private.execute(id, "table-lookup :body 'towns'")
        assert answer.body["values"] == [{"body": "a", "body_n": "1"}]
    with act_as(WRITER):
        answer = private.execute(id, "table-lookup :body 'towns'")
        assert answer.status == 400
        assert "towns" in answer.body["message"]


def test_records_of_a_stage_need_the_right_to_a_preview(
    client: DataPrepClient, tmp_path: Path
) -> None:
    stages = [
        csv_source("in", tmp_path / "in.csv", schema(n="string")),
        stage("out", "batchsink", "Trash", "trash-plugin", referenceName="out"),
    ]
    with act_as(ROOT):
        cdap = client.instance.cdap
        cdap.applications.deploy(DeployRequest(pipeline(stages, ("in", "out")), name="shop"))
        plugin = {"name": "Pipelines", "properties": {}}
        cdap.connections.load("default", {"name": "stages", "plugin": plugin})
    with act_as(READER):
        found = client.call("POST", "connections/stages/browse", {"path": "/shop"})
    assert [each["path"] for each in found.body["entities"]] == ["/shop/in", "/shop/out"]
    body = {"path": "/shop/in"}
    assert status(client, READER, "POST", "connections/stages/sample", body) == 403
