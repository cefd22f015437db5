"""Pipelines that an instance keeps, as the commands show them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localcdap.home import Home
from localcdap.host import open_in_process
from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema, stage, write
from tests.e2e.program import Command, Program

ROW = schema(id="int", name="string")


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    stages = [csv_source("In", tmp_path / "in.csv", ROW), json_sink("Out", tmp_path / "out")]
    return pipeline(stages, ("In", "Out")) | {"__ui__": {"nodes": [1.50]}}


@pytest.fixture
def file(document: dict[str, Any], tmp_path: Path) -> str:
    return write(document, tmp_path / "orders.json")


def answer(reported: tuple[int, str, str]) -> Any:
    code, out, err = reported
    assert code == 0, err
    return json.loads(out)


def test_properties_that_data_fusion_ignores_are_named(
    command: Command, document: dict[str, Any], file: str, tmp_path: Path
):
    properties = {
        "path": "out",
        "format": "csv",
        "referenceName": "r",
        "enableQuotedValues": "true",
        "writeHeader": "true",
    }
    plugin = {"name": "File", "type": "batchsink", "properties": properties}
    document["config"]["stages"][1]["plugin"] = plugin
    changed = write(document, tmp_path / "changed.json")
    told = "Out\n  ! enableQuotedValues: Data Fusion ignores the property 'enableQuotedValues'"
    assert told in command("validate", changed)[1]
    assert command("import", changed, "--name", "orders")[0] == 0
    code, out, err = command("export", "orders")
    assert code == 0
    assert told in err
    assert json.loads(out)["config"]["stages"][1]["plugin"]["properties"] == properties
    code, out, err = command("diff", file, changed, "--json")
    assert code == 1
    assert json.loads(out)["stages"]
    assert told in err
    properties["enableQuotedValues"] = "false"
    quiet = write(document, tmp_path / "quiet.json")
    assert told in command("diff", changed, quiet)[2]
    properties["writeHeader"] = "false"
    assert command("diff", quiet, write(document, tmp_path / "quiet2.json"))[2] == ""
    assert command("diff", changed, "orders")[2] == ""


def test_a_pipeline_is_deployed_exported_compared_and_deleted(
    command: Command, document: dict[str, Any], file: str, tmp_path: Path
):
    first = answer(command("import", file, "--name", "orders", "--json"))
    assert first["application"]["number"] == 1
    exported = command("export", "orders")[1]
    assert exported.strip() == json.dumps({**document, "name": "orders"}, indent=2)
    assert command("export", "orders@1", "--output", str(tmp_path / "e.json"))[0] == 0
    assert command("diff", str(tmp_path / "e.json"), "orders")[:2] == (0, "No differences.\n")

    document["config"]["stages"][0]["plugin"]["properties"]["skipHeader"] = "true"
    changed = write(document, tmp_path / "changed.json")
    code, out, _ = command("import", changed, "--name", "orders", "--change", "with a header")
    assert (code, out.splitlines()[-1]) == (0, "orders: deployed as version 2")
    code, out, _ = command("diff", "orders@1", "orders", "--json")
    assert code == 1
    assert json.loads(out)["stages"][0]["changes"][0]["what"] == "skipHeader"

    code, _, err = command("import", changed, "--name", "orders", "--based-on", "1")
    assert code == 1
    assert "its version 1" in err
    (listed,) = answer(command("pipelines", "--json"))
    assert (listed["name"], listed["number"]) == ("orders", 2)
    assert "with a header" in command("pipelines", "versions", "orders")[1]
    assert "version 1 (" in command("pipelines", "show", "orders@1")[1]
    assert command("pipelines", "delete", "orders")[1] == "Pipeline 'orders' deleted, 2 versions.\n"
    assert answer(command("pipelines", "--json")) == []


def test_an_import_with_failures_says_all_and_keeps_nothing_until_fixed(
    command: Command, document: dict[str, Any], tmp_path: Path
):
    for each in document["config"]["stages"]:
        each["plugin"]["artifact"]["version"] = "1.0.0"
    file = write(document, tmp_path / "old.json")
    code, out, _ = command("import", file)
    assert code == 1
    assert out.count("Plugin named 'File'") == 2
    assert "2 failures; not deployed" in out
    assert answer(command("pipelines", "--json")) == []

    code, out, _ = command("import", file, "--fix")
    assert code == 0
    assert "Stage 'In' uses core-plugins 2.11.0 instead of core-plugins 1.0.0 (SYSTEM)." in out
    code, out, _ = command("diff", file, "test_pipeline", "--json")
    changes = [(s["name"], [c["what"] for c in s["changes"]]) for s in json.loads(out)["stages"]]
    assert changes == [("In", ["artifact"]), ("Out", ["artifact"])]


@pytest.mark.slow
def test_a_deployed_pipeline_is_validated_and_debugged_by_its_name(
    command: Command, document: dict[str, Any], tmp_path: Path
):
    recipe = stage(
        "Recipe",
        "transform",
        "Wrangler",
        "wrangler-transform",
        directives="uppercase :name",
        schema=ROW,
    )
    recipe["plugin"]["artifact"]["version"] = "1.0.0"
    document["config"]["stages"].append(recipe)
    document["config"]["connections"] = [
        {"from": "In", "to": "Recipe"},
        {"from": "Recipe", "to": "Out"},
    ]
    file = write(document, tmp_path / "orders.json")
    records = tmp_path / "records.json"
    records.write_text('[{"id": 1, "name": "ada"}]')

    answered = command("debug", file, "Recipe", "--input", str(records))
    assert (answered[0], "1.0.0" in answered[1]) == (1, True)
    repaired = answer(command("debug", file, "Recipe", "--input", str(records), "--fix", "--json"))
    assert repaired["output"]["records"] == [{"id": 1, "name": "ADA"}]

    assert command("import", file, "--name", "orders", "--fix")[0] == 0
    assert command("validate", "orders")[1] == "orders: valid, 3 stages\n"
    assert answer(command("debug", "orders@1", "Recipe", "--input", str(records), "--json"))[
        "output"
    ] == {"schema": repaired["output"]["schema"], "records": [{"id": 1, "name": "ADA"}]}

    code, _, err = command("validate", "order")
    assert code == 1
    assert "There is no file 'order'." in err
    assert "orders" in err


def test_recipes_are_compared_line_by_line(command: Command, tmp_path: Path):
    before = ["parse-as-csv :body", *(f"drop :c{n}" for n in range(8)), "trim :x", "trim :y"]
    after = ["parse-as-csv :body", "drop :one", *before[2:-1], "swap :x :y", "trim :y"]

    def save(name: str, recipe: list[str]) -> str:
        w = stage("W", "transform", "Wrangler", directives="\n".join(recipe))
        return write(pipeline([w]), tmp_path / name)

    code, out, _ = command("diff", save("a.json", before), save("b.json", after))
    assert (code, out.splitlines()) == (
        1,
        [
            "~ W  transform Wrangler",
            "  ~ directives:",
            "       1   parse-as-csv :body",
            "       2 - drop :c0",
            "       2 + drop :one",
            "       3   drop :c1",
            "       4   drop :c2",
            "       …",
            "       9   drop :c7",
            "      10   trim :x",
            "      11 + swap :x :y",
            "      12   trim :y",
        ],
    )


def test_a_package_of_the_hub_is_imported(
    command: Command, document: dict[str, Any], tmp_path: Path
):
    def action(type: str, name: str) -> dict[str, Any]:
        arguments = {"artifact": document["artifact"], "name": name, "config": "p.json"}
        return {"type": type, "arguments": [{"name": k, "value": v} for k, v in arguments.items()]}

    write(
        {"specVersion": "1.0", "actions": [action("create_pipeline", "a b")]},
        tmp_path / "spec.json",
    )
    write(document["config"], tmp_path / "p.json")
    code, _, err = command("import", str(tmp_path / "spec.json"))
    assert (code, "such as a_b." in err) == (2, True)
    actions = [action("create_pipeline", "a"), action("create_pipeline_draft", "b")]
    write({"specVersion": "1.0", "label": "P", "actions": actions}, tmp_path / "p" / "spec.json")
    code, _, err = command("import", str(tmp_path / "p"))
    assert code == 2
    assert "p.json: there is no such file." in err
    write(document["config"], tmp_path / "p" / "p.json")
    assert answer(command("import", str(tmp_path / "p" / "spec.json"), "--json"))["label"] == "P"
    assert [a["name"] for a in answer(command("pipelines", "--json"))] == ["a"]
    assert [d["name"] for d in answer(command("drafts", "--json"))] == ["b"]
    assert json.loads(command("export", "a")[1])["config"] == document["config"]


def test_a_draft_is_saved_compared_restored_and_deleted(
    command: Command, document: dict[str, Any], file: str, tmp_path: Path
):
    assert answer(command("drafts", "save", file, "--name", "my draft", "--json"))["revision"] == 1
    document["config"]["stages"].pop()
    half = write(document, tmp_path / "half.json")
    assert command("drafts", "save", half, "--name", "my draft", "--based-on", "1")[0] == 0
    code, _, err = command("drafts", "save", file, "--name", "my draft", "--based-on", "1")
    assert code == 1
    assert "based on revision 1, the latest is revision 2" in err
    code, out, _ = command("diff", "draft:my draft@1", "draft:my draft")
    assert code == 1
    assert "- Out  batchsink File" in out

    assert json.loads(command("drafts", "show", "my draft")[1]) == document
    assert command("drafts", "restore", "my draft", "--revision", "1")[0] == 0
    assert command("diff", file, "draft:my draft@3")[0] == 0
    assert len(answer(command("drafts", "revisions", "my draft", "--json"))) == 3
    assert command("drafts", "delete", "my draft")[0] == 0
    assert answer(command("drafts", "--json")) == []


def test_a_template_is_listed_and_used_as_a_plugin(
    command: Command, document: dict[str, Any], tmp_path: Path
):
    path = str(tmp_path / "in.csv")
    properties = ["-p", f"path={path}", "-p", "format=csv", "--lock", "path"]
    create = ["templates", "create", "Orders", "--type", "batchsource", "--plugin", "File"]
    assert command(*create, *properties)[0] == 0
    assert command(*create, *properties)[0] == 1
    listed = {p["name"]: p for p in answer(command("plugins", "--type", "batchsource", "--json"))}
    assert listed["Orders"]["templateOf"] == "File"
    assert "templateOf" not in listed["File"]
    shown = answer(command("plugin", "batchsource", "Orders", "--json"))
    assert (shown["name"], shown["properties"]["path"]["default"]) == ("Orders", path)
    assert "A template of File." in shown["description"]
    assert command("plugins", "--capability", "PII")[0] == 1

    plugin = document["config"]["stages"][0]["plugin"]
    plugin["name"] = "Orders"
    for name in ("path", "format"):
        del plugin["properties"][name]
    file = write(document, tmp_path / "t.json")
    assert command("validate", file)[0] == 0
    assert "uses template 'Orders': batchsource File." in command("import", file)[1]
    kept = json.loads(command("export", "test_pipeline")[1])["config"]["stages"][0]["plugin"]
    assert (kept["name"], kept["properties"]["path"]) == ("File", path)

    plugin["properties"]["path"] = "/elsewhere"
    code, out, _ = command("validate", write(document, tmp_path / "t.json"))
    assert code == 1
    assert "path: Property 'path' is locked by template 'Orders'." in out
    assert command("templates", "delete", "Orders")[0] == 0


def test_wrong_use_has_its_exit_code(command: Command):
    cases: list[tuple[tuple[str, ...], int]] = [
        (("import", "nope.json"), 2),
        (("import", "nope"), 2),
        (("export", "nope"), 1),
        (("pipelines", "show"), 2),
        (("pipelines", "delete", "nope"), 1),
        (("run", "nope"), 1),
        (("diff", "nope", "draft:nope"), 1),
        (("drafts", "save"), 2),
        (("drafts", "show", "nope"), 1),
        (("drafts", "restore", "nope"), 2),
        (("drafts", "--sort", "colour"), 2),
        (("templates", "create", "x"), 2),
        (("templates", "create", "x", "--type", "transform", "--plugin", "Nope"), 1),
        (("templates", "delete", "x"), 1),
        (("pipelines", "-n", "nope"), 1),
        (("drafts", "-n", "nope"), 1),
        (("templates", "-n", "nope"), 1),
    ]
    reported = {arguments: command(*arguments)[0] for arguments, _ in cases}
    assert reported == dict(cases)


@pytest.mark.slow
def test_a_plugin_that_is_required_away_later_is_not_found_when_its_pipeline_runs(
    program: Program, document: dict[str, Any], file: str
):
    with open_in_process(Home(program.home)):
        assert program("import", file).code == 0  # as a client of this process
    program.settings('[plugin]\nrequired.capabilities = "PII"\n')
    with open_in_process(Home(program.home)):
        refused = program("run", "test_pipeline")
        assert refused.code == 1
        assert "Plugin named 'File' of type 'batchsource' not found." in refused.out
        assert "nothing was run" in refused.err
        (run,) = json.loads(program("runs", "test_pipeline", "--json").out)
        assert run["status"] == "FAILED"
        assert "Plugin named 'File' of type 'batchsource' not found." in run["error"]["message"]
        assert "PII" not in refused.out + refused.err + program("logs", "last").out


@pytest.mark.spark
@pytest.mark.slow
def test_a_deployed_pipeline_runs_under_its_name(command: Command, file: str, tmp_path: Path):
    (tmp_path / "in.csv").write_text("1,ada\n2,bob\n")
    deployed = answer(command("import", file, "--name", "people", "--json"))["application"]
    ran = answer(command("run", "people", "--json"))
    assert (ran["status"], ran["pipeline"]) == ("COMPLETED", "people")
    assert ran["applicationVersion"] == deployed["version"]
    (listed,) = answer(command("runs", "people", "--json"))
    assert listed["run"] == ran["run"]
    assert "Last run" in command("pipelines", "show", "people")[1]
