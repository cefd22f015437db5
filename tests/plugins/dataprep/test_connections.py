"""The connections of Data Prep, by endpoint (CDAP ``ConnectionHandler``), and workspaces of their samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from localcdap.apps.model import AppAnswer

from .conftest import DataPrepClient

PEOPLE = "id;name;city\n" + "".join(f"{i};n{i};{'Ulm' if i % 10 else 'Bonn'}\n" for i in range(200))
HANGS = """
import os, time
from localcdap.api import Connector, PluginConfig, field, plugin


@plugin(name="Broken", description="Breaks.")
class Broken(Connector):
    class Config(PluginConfig):
        how: str = field("How it breaks.")

    config: Config

    def test(self, context):
        self._break()

    def browse(self, context, request):
        self._break()

    def read(self, context, request):
        self._break()

    def _break(self):
        if self.config.how == "raise":
            raise RuntimeError("no such thing")
        if self.config.how == "exit":
            os._exit(3)
        if self.config.how == "answer":
            return 7
        while True:
            time.sleep(1)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    (data / "people.csv").write_text(PEOPLE)
    (data / "empty").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    return data


def _create(client: DataPrepClient, name: str, kind: str, **properties: str) -> AppAnswer:
    body = {"plugin": {"name": kind, "type": "connector", "properties": properties}}
    return client.call("PUT", f"connections/{name}", body)


def _sampled(client: DataPrepClient, **request: Any) -> str:
    body = {"connection": "files", "sampleRequest": {"path": "/people.csv", **request}}
    answer = client.call("POST", "workspaces", body)
    assert answer.status == 200, answer.body
    id: str = answer.body
    return id


def test_put_get_list_delete(client: DataPrepClient, folder: Path) -> None:
    assert _create(client, "My Files", "File", root=str(folder), token="x").status == 200
    one = client.call("GET", "connections/my%20files").body
    assert (one["name"], one["connectionId"], one["connectionType"]) == (
        "My Files",
        "my_files",
        "File",
    )
    assert (one["preConfigured"], one["isDefault"]) == (False, False)
    assert one["plugin"]["properties"]["token"] == "${secure(connection-my_files-token)}"
    assert client.call("GET", "connections").body == [one]
    assert client.instance.cdap.connections.get(client.namespace, "My Files").name == "My Files"
    again = _create(client, "My Files", "File", root="/")
    assert again.status == 409
    body = {"plugin": {"name": "File", "properties": {"root": "/"}}, "overWrite": True}
    assert client.call("PUT", "connections/My%20Files", body).status == 200
    changed = client.call("GET", "connections/My%20Files").body
    assert changed["createdTimeMillis"] == one["createdTimeMillis"]
    assert changed["plugin"]["properties"] == {"root": "/"}

    assert client.call("DELETE", "connections/My%20Files").status == 200
    for method in ("GET", "DELETE"):
        assert client.call(method, "connections/My%20Files").status == 404
    assert client.call("GET", "connections").body == []


def test_connection_types(client: DataPrepClient) -> None:
    found = {each["type"]: each for each in client.call("GET", "connectionTypes").body}
    assert {"File", "GCS", "S3", "BigQuery", "Database", "DuckDB", "SQLite"} <= set(found)
    assert {"HTTP", "Paste", "Pipelines", "Runs", "Tables", "PostgreSQL", "MySQL"} <= set(found)
    names = ["format", "delimiter", "skipHeader", "fileEncoding", "root"]
    assert found["File"]["properties"] == names
    assert found["File"]["artifact"]["name"] == "core-plugins"


def test_test(client: DataPrepClient, folder: Path) -> None:
    def test(kind: str, **properties: str) -> AppAnswer:
        body = {"plugin": {"name": kind, "properties": properties}}
        return client.call("POST", "connections/test", body)

    assert (test("File", root=str(folder)).status, test("File", root=str(folder)).body) == (
        200,
        None,
    )
    (failure,) = test("File", root=str(folder / "none")).body
    assert "nothing at" in failure["message"]
    (missing,) = test("DuckDB").body
    assert missing["causes"] == [{"attributes": {"stageConfig": "path"}}]
    assert test("Nope").status == 404
    assert client.call("POST", "connections/test").body["message"] == "The request body is empty"


def test_browse(client: DataPrepClient, folder: Path) -> None:
    _create(client, "files", "File", root=str(folder))
    found = client.call("POST", "connections/files/browse", {"path": "/"}).body
    assert found["totalCount"] == 2
    assert [(each["name"], each["type"]) for each in found["entities"]] == [
        ("empty", "directory"),
        ("people.csv", "file"),
    ]
    assert found["entities"][1]["properties"]["Size"] == {
        "value": str(len(PEOPLE)),
        "type": "SIZE_BYTES",
    }
    limited = client.call("POST", "connections/files/browse", {"path": "/", "limit": 1}).body
    assert (len(limited["entities"]), limited["totalCount"]) == (1, 2)
    searched = client.call("POST", "connections/files/browse", {"path": "/", "search": "PEO"}).body
    assert [each["name"] for each in searched["entities"]] == ["people.csv"]
    empty = client.call("POST", "connections/files/browse")
    assert (empty.status, empty.body["message"]) == (400, "The request body is empty")
    pathless = client.call("POST", "connections/files/browse", {})
    assert pathless.body["message"] == "Path is not provided in the browse request"
    assert client.call("POST", "connections/none/browse", {"path": "/"}).status == 404
    assert client.call("POST", "connections/files/browse", {"path": "/no"}).status == 404
    outside = client.call("POST", "connections/files/browse", {"path": "/../secret.txt"})
    assert outside.status == 400


def test_sample(client: DataPrepClient, folder: Path) -> None:
    _create(client, "files", "File", root=str(folder))
    request = {"path": "people.csv", "limit": 2}
    found = client.call("POST", "connections/files/sample", request).body
    assert found["sample"] == [
        {"id": "0", "name": "n0", "city": "Bonn"},
        {"id": "1", "name": "n1", "city": "Ulm"},
    ]
    assert found["description"] == "2 of 200 records"
    assert [each["name"] for each in found["schema"]["fields"]] == ["id", "name", "city"]
    (source,) = found["detail"]["relatedPlugins"]
    assert (source["name"], source["type"]) == ("File", "batchsource")
    assert source["properties"]["format"] == "delimited"
    assert source["properties"]["delimiter"] == ";"
    strata = {"samplingType": "stratified", "strata": "city", "limit": 20, "seed": 1}
    mixed = client.call("POST", "connections/files/sample", {"path": "people.csv", **strata}).body
    assert [each["city"] for each in mixed["sample"]].count("Bonn") == 3  # one, and a tenth of 18
    for request, message in (
        ({}, "Path is not provided in the sample request"),
        ({"path": "people.csv", "limit": 0}, "Limit should be greater than 0"),
    ):
        wrong = client.call("POST", "connections/files/sample", request)
        assert (wrong.status, wrong.body["message"]) == (400, message)


def test_specification(client: DataPrepClient, folder: Path) -> None:
    _create(client, "files", "File", root=str(folder))
    wanted = {"path": "people.csv", "properties": {"types": "detect"}}
    found = client.call("POST", "connections/files/specification", wanted).body
    (source,) = found["relatedPlugins"]
    assert '"int"' in source["properties"]["schema"]
    assert found["supportedSampleTypes"][:2] == ["default", "first"]
    none = client.call("POST", "connections/files/specification", wanted | {"pluginType": "x"})
    assert none.body["relatedPlugins"] == []


def test_a_workspace_of_a_sample(client: DataPrepClient, folder: Path) -> None:
    _create(client, "files", "File", root=str(folder))
    id = _sampled(client, limit=3)
    one = client.call("GET", f"workspaces/{id}").body
    assert one["workspaceName"] == "people.csv"
    specification = one["sampleSpec"]
    assert (specification["connectionName"], specification["path"]) == ("files", "/people.csv")
    assert specification["description"] == "3 of 200 records"
    assert one["owner"]
    shown = client.execute(id, "uppercase :name")
    assert [each["name"] for each in shown.body["values"]] == ["N0", "N1", "N2"]
    stages = client.call("GET", f"workspaces/{id}/specification").body
    assert stages["sources"][0]["plugin"]["name"] == "File"

    body: dict[str, Any] = {
        "sampleRequest": {"path": "/people.csv", "samplingType": "random", "seed": 5}
    }
    assert client.call("POST", f"workspaces/{id}/resample", body).status == 200
    again = client.call("GET", f"workspaces/{id}").body
    assert again["directives"] == ["uppercase :name"]
    assert again["sampleSpec"]["description"] == "200 of 200 records (random, seed 5)"
    missing = client.call("POST", f"workspaces/{id}/resample", {})
    assert missing.body["message"] == "Sample request has to be provided to resample a workspace"
    nothing = {"connection": "files", "sampleRequest": {"path": "/none"}}
    assert client.call("POST", "workspaces", nothing).status == 404


def test_records_that_match_or_fail(client: DataPrepClient, folder: Path) -> None:
    _create(client, "files", "File", root=str(folder))
    matching: dict[str, str] = {"condition": "city == 'Bonn'"}
    id = _sampled(client, samplingType="matching", properties=matching, limit=5)
    shown = client.execute(id)
    assert [each["id"] for each in shown.body["values"]] == ["0", "10", "20", "30", "40"]
    failing = {"recipe": "send-to-error exp:{id =~ '7.*'}"}
    id = _sampled(client, samplingType="failing", properties=failing, limit=3)
    shown = client.execute(id)
    assert [each["id"] for each in shown.body["values"]] == ["7", "70", "71"]
    wanted = {"path": "/people.csv", "samplingType": "failing"}
    body = {"connection": "files", "sampleRequest": wanted}
    assert client.call("POST", "workspaces", body).status == 400


@pytest.mark.parametrize("how", ["raise", "exit", "answer", "hang"])
@pytest.mark.slow
def test_a_connector_that_breaks_costs_one_answer(client: DataPrepClient, how: str) -> None:
    home = Path(client.instance.home.path)
    place = home / "plugins" / client.namespace
    place.mkdir(parents=True)
    (place / "broken-1.0.0.py").write_text(HANGS)
    client.instance.cdap.artifacts.sync()
    assert _create(client, "broken", "Broken", how=how).status == 200
    answer = client.call("POST", "connections/broken/browse", {"path": "/"})
    assert answer.status == 400, answer.body
    assert "Broken" in answer.body["message"]
    assert client.call("GET", "connections").status == 200
    other = DataPrepClient(client.instance, "default")
    assert other.call("POST", "connections/broken/browse", {"path": "/"}).status == 404


def test_system_and_missing_namespaces_come_first(client: DataPrepClient) -> None:
    calls = [
        ("GET", "connections", "Listing connections"),
        ("GET", "connections/x", "Getting connection"),
        ("PUT", "connections/x", "Creating connection"),
        ("DELETE", "connections/x", "Deleting connection"),
        ("POST", "connections/test", "Creating connection"),
        ("POST", "connections/x/browse", "Browsing connection"),
        ("POST", "connections/x/sample", "Sampling connection"),
        ("POST", "connections/x/specification", "Generating connector spec"),
    ]
    for method, path, operation in calls:
        there = DataPrepClient(client.instance, "system").call(method, path)
        text = f"{operation} in system namespace is currently not supported."
        assert (there.status, there.body["message"]) == (400, text)
        gone = DataPrepClient(client.instance, "nowhere").call(method, path)
        assert (gone.status, gone.body["message"]) == (404, "Namespace 'nowhere' does not exist.")


def test_a_new_namespace_sees_nothing_of_the_old(client: DataPrepClient, folder: Path) -> None:
    _create(client, "files", "File", root=str(folder), password="x")
    id = _sampled(client)
    namespaces = client.instance.cdap.namespaces
    namespaces.delete(client.namespace)
    namespaces.create(client.namespace)
    assert client.call("GET", "connections").body == []
    assert client.call("GET", f"workspaces/{id}").status == 404
    assert client.call("POST", "connections/files/browse", {"path": "/"}).status == 404
    assert client.instance.cdap.secure_keys.list_keys(client.namespace) == []
