"""The service and the command for metadata, on a real instance."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcdap.api.errors import BadRequestError, NotFoundError, UnauthorizedError
from localcdap.api.metadata import Metadata, MetadataEntity, MetadataKind
from localcdap.api.security import Principal
from localcdap.cli.main import run as run_command
from localcdap.home import Home
from localcdap.host import Cdap, open_in_process
from localcdap.metadata.search import ALL, SearchRequest
from localcdap.metadata.service import UserMetadata
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.security.principals import act_as
from tests.conftest import REPOSITORY
from tests.metadata.catalog import USER

APP = MetadataEntity.of_application("spending_by_customer", "default")
FIELD = MetadataEntity.of_dataset("spending", "default").append("field", "name")
ARTIFACT = MetadataEntity.of_artifact("greet", "1.0.0", "default")
PLUGIN = """\
from localcdap.api import Capabilities, Transform, capability, plugin

@plugin(type="transform", name="Greet", description="Greets.")
@capability(Capabilities.Mode.NATIVE, "PII")
class Greet(Transform):
    def transform(self, record, emit):
        emit(record)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, fresh_home: Callable[[Path], Path]) -> Home:
    return Home(fresh_home(tmp_path_factory.mktemp("metadata")))


@pytest.fixture(scope="module")
def cdap(home: Home) -> Iterator[Cdap]:
    """An instance with the pipeline of the demo."""
    with open_in_process(home) as cdap:
        document = (REPOSITORY / "data" / "demo" / "pipeline.json").read_text("utf-8")
        cdap.applications.deploy(DeployRequest(document))
        yield cdap


@pytest.fixture(autouse=True)
def clean(cdap: Cdap) -> Iterator[None]:
    yield
    for found in cdap.metadata.search(SearchRequest("*", limit=ALL, scope=USER)).results:
        if not found.metadata.user.is_empty():
            cdap.metadata.remove_all(found.entity)


def find(cdap: Cdap, query: str, **request: object) -> list[MetadataEntity]:
    found = cdap.metadata.search(SearchRequest(query, limit=ALL, **request))
    return [each.entity for each in found.results]


def call(home: Home, *arguments: str) -> int:
    return run_command(["metadata", *arguments, "--home", str(home.path)])


def test_tags_and_properties_are_added_and_removed(cdap: Cdap) -> None:
    change = cdap.metadata.add(APP, {"owner": "Anna Miller"}, ["pii", "gold"])
    assert change.before.user.is_empty()
    assert change.after.user == Metadata.of({"owner": "Anna Miller"}, ["gold", "pii"])
    assert cdap.metadata.get(APP, USER).system.is_empty()
    assert cdap.metadata.get(APP, USER, MetadataKind.TAG).user == Metadata.of(tags=["gold", "pii"])

    cdap.metadata.remove(APP, ["owner", "absent"], ["gold"])
    assert cdap.metadata.get(APP).user == Metadata.of(tags=["pii"])
    cdap.metadata.remove_all(APP)
    assert cdap.metadata.get(APP).user.is_empty()
    assert not cdap.metadata.get(APP).system.is_empty()


def test_illegal_metadata_changes_nothing(cdap: Cdap) -> None:
    with pytest.raises(BadRequestError, match=r"Illegal format for 'a b'.*Illegal format for 'c!'"):
        cdap.metadata.add(APP, {"a b": "x", "good": "y"}, ["c!"])
    assert cdap.metadata.get(APP).user.is_empty()


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        (MetadataEntity.of_dataset("nope", "default"), "There is no table 'nope'"),
        (MetadataEntity.of_application("nope", "default"), "There is no application 'nope'"),
        (MetadataEntity.of_dataset("d", "nowhere"), "nowhere"),
        (MetadataEntity.of_dataset("d", "nowhere").append("field", "f"), "nowhere"),
        (
            MetadataEntity.of_artifact("core", "9.9", "default"),
            "There is no artifact 'core 9.9' in namespace 'default'; available: ",
        ),
        (
            MetadataEntity.of_program("DataPipelineWorkflow", "Workflow", "nope", "default"),
            "There is no application 'nope'",
        ),
    ],
)
def test_entities_of_cdap_types_must_exist(
    cdap: Cdap, entity: MetadataEntity, message: str
) -> None:
    for act in (cdap.metadata.get, lambda each: cdap.metadata.add(each, None, ["t"])):
        with pytest.raises(NotFoundError, match=message):
            act(entity)


def test_custom_entities_need_not_exist(cdap: Cdap) -> None:
    cdap.metadata.add(FIELD, None, ["confidential"])
    jar = MetadataEntity({"jar": "tools"})
    cdap.metadata.add(jar, {"kind": "library"})
    assert find(cdap, "tags:confidential") == [FIELD]
    assert find(cdap, "kind:library") == [jar]


def test_a_deployed_pipeline_has_system_metadata(cdap: Cdap) -> None:
    found = cdap.metadata.get(APP).system
    assert found.tags == ["cdap-data-pipeline"]
    assert found.properties["entity-name"] == "spending_by_customer"
    assert found.properties["plugin:Joiner:batchjoiner"] == "Joiner:batchjoiner"
    assert found.properties["Workflow:DataPipelineWorkflow"] == "DataPipelineWorkflow"
    assert found.properties["description"].startswith("Reads purchases")
    program = MetadataEntity.of_program("DataPipelineWorkflow", "Workflow", APP.name, "default")
    assert cdap.metadata.get(program).system.tags == ["Batch", "Workflow", "phase-1"]
    found_apps = find(cdap, "plugin:joiner", types=["application"])
    assert [each.name for each in found_apps] == [APP.name]


def test_a_deletion_removes_all_metadata_and_a_new_version_keeps_what_users_wrote(
    cdap: Cdap,
) -> None:
    document = json.loads((REPOSITORY / "data" / "demo" / "pipeline.json").read_text("utf-8"))
    copy = MetadataEntity.of_application("copy", "default")
    first = cdap.applications.deploy(DeployRequest(document, name="copy"))
    cdap.metadata.add(copy, None, ["mine"])
    before = cdap.metadata.get(copy)
    second = cdap.applications.deploy(
        DeployRequest(document | {"description": "New."}, name="copy")
    )
    assert first.application is not None
    assert second.application is not None
    after = cdap.metadata.get(copy)
    assert after.user == before.user
    assert after.system.properties["creation-time"] == before.system.properties["creation-time"]
    cdap.applications.delete("default", "copy")
    assert find(cdap, "mine") == []
    with pytest.raises(NotFoundError):
        cdap.metadata.get(copy)


def test_artifacts_and_plugins_have_system_metadata_while_they_are_there(
    cdap: Cdap, home: Home
) -> None:
    file = Path(cdap.artifacts.get_plugin_folder("default")) / "greet-1.0.0.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(PLUGIN, encoding="utf-8")
    cdap.artifacts.sync()
    plugin = MetadataEntity({**ARTIFACT.details, "type": "transform", "plugin": "Greet"})
    found = cdap.metadata.get(plugin).system.properties
    assert found["description"] == "Greets."
    assert set(found["capabilities"].split(",")) >= {"mode_native", "pii"}
    assert find(cdap, "capabilities:pii") == [plugin]
    properties = cdap.metadata.get(ARTIFACT).system.properties
    assert properties["plugin:Greet:transform"] == "Greet:transform"
    assert properties["plugin-version:Greet:transform"] == "Greet:1.0.0"
    cdap.metadata.add(plugin, None, ["approved"])

    file.write_text(PLUGIN.replace("Greet", "Hello"), encoding="utf-8")
    cdap.artifacts.sync()
    assert cdap.metadata.get(plugin).system.is_empty()
    assert "plugin:Hello:transform" in cdap.metadata.get(ARTIFACT).system.properties
    file.unlink()
    cdap.artifacts.sync()
    assert find(cdap, "hello") == []
    assert find(cdap, "approved") == [plugin], "what users wrote stays: the file may come back"


def test_a_plugin_without_its_type_has_the_metadata_of_all_types(cdap: Cdap) -> None:
    listed = {each.name: each.version for each in cdap.artifacts.list_artifacts("default")}
    core = {"namespace": "system", "artifact": "core-plugins", "version": listed["core-plugins"]}
    source, sink = (
        MetadataEntity({**core, "type": type, "plugin": "File"})
        for type in ("batchsource", "batchsink")
    )
    cdap.metadata.add(source, {"kept": "here"}, ["one"])
    cdap.metadata.add(sink, None, ["two"])
    both = cdap.metadata.get(MetadataEntity({**core, "plugin": "File"}))
    assert both.user == Metadata.of({"kept": "here"}, ["one", "two"])
    parts = [cdap.metadata.get(each).system.properties["capabilities"] for each in (source, sink)]
    expected = {each for part in parts for each in part.split(",")}
    assert set(both.system.properties["capabilities"].split(",")) == expected


def test_plugins_are_listed_by_their_tags(
    cdap: Cdap, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    versions = {each.name: each.version for each in cdap.artifacts.list_artifacts("default")}
    core = {"namespace": "system", "artifact": "core-plugins", "version": versions["core-plugins"]}
    for name, tags in (("File", ["approved", "fast"]), ("Excel", ["approved-not"])):
        plugin = MetadataEntity({**core, "type": "batchsource", "plugin": name})
        cdap.metadata.add(plugin, None, tags)

    def list_names(*tags: str) -> list[str]:
        options = [part for tag in tags for part in ("--tag", tag)]
        run_command(["plugins", *options, "--json", "--home", str(home.path)])
        return [each["name"] for each in json.loads(capsys.readouterr().out)]

    assert list_names("approved") == list_names("approved", "fast") == ["File"]
    assert list_names("approved", "slow") == []


def test_a_namespace_has_metadata_until_it_is_deleted(cdap: Cdap) -> None:
    cdap.namespaces.create("team", "Our team.")
    team = MetadataEntity.of_namespace("team")
    assert cdap.metadata.get(team).system.properties["description"] == "Our team."
    cdap.metadata.add(team.append("file", "x"), None, ["inside"])
    cdap.namespaces.delete("team")
    assert find(cdap, "inside") == []
    assert [each for each in find(cdap, "*") if each.namespace == "team"] == []


def test_the_metadata_of_an_instance_without_any_is_written_when_it_is_opened(
    tmp_path: Path, fresh_home: Callable[[Path], Path]
) -> None:
    from localcdap.store.store import Store

    home = Home(fresh_home(tmp_path / "old"))
    with Store(home.database) as store:
        before = store.read("SELECT entity FROM metadata ORDER BY entity")
        with store.transaction() as tx:
            tx.execute("DELETE FROM metadata")
    with open_in_process(home) as cdap:
        assert len(find(cdap, "*", show_hidden=True)) == len(before) > 100


def test_files_of_user_metadata_are_written_and_read(
    cdap: Cdap, home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "metadata.json"
    cdap.metadata.add(APP, {"owner": "Anna"}, ["pii"])
    cdap.metadata.add(
        MetadataEntity({"namespace": "default", "a": "x", "b": "y"}, "a"), None, ["t"]
    )
    assert cdap.metadata.export("default") == [
        UserMetadata(MetadataEntity({"namespace": "default", "a": "x", "b": "y"}, "a"), {}, ["t"]),
        UserMetadata(APP, {"owner": "Anna"}, ["pii"]),
    ]
    assert call(home, "export", str(file)) == 0
    text = file.read_text("utf-8")
    assert json.loads(text)["entities"][0] == {"entity": "a/x/b/y", "type": "a", "tags": ["t"]}

    cdap.metadata.remove_all(APP)
    cdap.metadata.add(APP, None, ["other"])
    assert call(home, "import", str(file)) == 0
    assert "Entities read: 2; changed: 1." in capsys.readouterr().out
    assert cdap.metadata.get(APP).user == Metadata.of({"owner": "Anna"}, ["other", "pii"])
    assert call(home, "import", str(file), "--replace") == 0
    assert cdap.metadata.get(APP).user == Metadata.of({"owner": "Anna"}, ["pii"])

    file.write_text(text.replace('"pii"', '"a b"'), encoding="utf-8")
    assert call(home, "import", str(file)) == 2
    file.write_text('{"entities": [{"path": "x"}]}', encoding="utf-8")
    assert call(home, "import", str(file)) == 2
    assert f"{file}: The text is not a file of metadata" in capsys.readouterr().err


def test_the_command_shows_changes_and_finds(
    cdap: Cdap, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(home, "add", f"apps/{APP.name}", "--tag", "pii", "--property", "owner=Anna") == 0
    assert capsys.readouterr().out == (
        f"apps/{APP.name}: added tag pii, property owner=Anna. Now: tag pii, property owner=Anna.\n"
    )
    assert call(home, "add", f"apps/{APP.name}", "--tag", "pii") == 0
    assert f"apps/{APP.name}: nothing changed." in capsys.readouterr().out
    assert call(home, "get", f"application:{APP.name}", "--scope", "user") == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "USER   tag    pii",
        "USER   owner  Anna",
    ]
    assert call(home, "search", "anna", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["totalResults"] == 1
    assert answer["results"][0]["metadata"]["USER"] == {
        "properties": {"owner": "Anna"},
        "tags": ["pii"],
    }
    assert call(home, "remove", f"apps/{APP.name}", "--tag", "pii", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"properties": {"owner": "Anna"}, "tags": []}
    assert call(home, "remove", f"apps/{APP.name}", "--all") == 0
    assert call(home, "search", "anna") == 1
    assert call(home, "search", "*", "--limit", "2") == 0
    assert "--offset 2 shows more" in capsys.readouterr().err
    for wrong in (["add", "apps/x"], ["remove", "apps/x"], ["add", "apps", "--tag", "x"]):
        assert call(home, *wrong) == 2
    assert call(home, "get", "apps/nope") == 1


def test_the_audit_log_is_shown_and_pruned(
    cdap: Cdap, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    def audit(*options: str) -> int:
        return run_command(["audit", *options, "--home", str(home.path)])

    cdap.metadata.add(APP, {"owner": "Anna"}, ["audited"])
    cdap.metadata.remove(APP, ["owner"])
    assert audit(f"apps/{APP.name}", "--since", "now-1h", "--limit", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith("-USER owner")
    assert lines[2].endswith("+USER audited; +USER owner")
    assert f"METADATA_CHANGE  apps/{APP.name}" in lines[1]
    assert audit("--type", "create", "--json") == 0
    created = json.loads(capsys.readouterr().out)
    assert {each["type"] for each in created} == {"CREATE"}
    assert APP.name in {each["metadataEntity"]["details"].get("application") for each in created}
    assert audit("--user", "nobody") == 1
    assert audit("--prune") == audit("--since", "yesterday") == 2
    assert audit("--prune", "--until", "now-1d") == 0
    assert "0 messages deleted." in capsys.readouterr().out


def test_metadata_is_written_and_found_with_the_privileges_of_its_entity(
    tmp_path: Path, fresh_home: Callable[[Path], Path]
) -> None:
    place = Home(fresh_home(tmp_path / "guarded"))
    place.settings_file.write_text(
        "[security]\nenabled = true\n[security.privileges.anna]\n"
        '"namespaces/default/apps/mine" = ["READ", "WRITE"]\n'
        '[security.privileges.root]\n"*" = ["READ", "WRITE", "ADMIN", "EXECUTE"]\n',
        encoding="utf-8",
    )
    mine, other = (MetadataEntity.of_application(each, "default") for each in ("mine", "other"))
    with act_as(Principal("root")), open_in_process(place) as guarded:
        document = json.loads((REPOSITORY / "data" / "demo" / "pipeline.json").read_text("utf-8"))
        for name in ("mine", "other"):
            guarded.applications.deploy(DeployRequest(document, name=name))
        with act_as(Principal("anna")):
            guarded.metadata.add(mine, None, ["tagged"])
            with pytest.raises(UnauthorizedError):
                guarded.metadata.add(other, None, ["tagged"])
            with pytest.raises(UnauthorizedError):
                guarded.metadata.get(other)
            found = guarded.metadata.search(SearchRequest("*", types=["application"]))
            assert [each.entity.name for each in found.results] == ["mine"]
            assert found.total_results == 1
        seen = guarded.metadata.search(SearchRequest("*", types=["application"])).results
        assert {each.entity.name for each in seen} == {"mine", "other"}
