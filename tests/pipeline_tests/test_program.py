"""``localcdap test`` as it is used: on the demo, and on pipelines that fail in every way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.cli.main import run
from localcdap.testing.instance import TemporaryInstance
from tests.runs.preview_plugins import PLUGINS, pipeline, sink, source, stage

DEMO = Path(__file__).parents[2] / "data" / "demo"
pytestmark = pytest.mark.spark
Test = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def instance(
    cdap_engine_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TemporaryInstance]:
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as instance:
        instance.drop(_plugins(tmp_path_factory.mktemp("plugins")))
        assert instance.cdap.is_host
        yield instance


def _plugins(folder: Path) -> Path:
    file = folder / "trying-1.0.0.py"
    file.write_text(PLUGINS)
    return file


@pytest.fixture
def test(instance: TemporaryInstance, capsys: pytest.CaptureFixture[str]) -> Test:
    """Runs the command. Returns its exit code and what it printed."""

    def tested(*arguments: str | Path) -> tuple[int, str]:
        code = run(["test", *map(str, arguments), "--home", str(instance.home.path)])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return tested


def write(folder: Path, name: str, content: dict[str, Any]) -> Path:
    file = folder / f"{name}.test.json"
    file.write_text(json.dumps({"pipeline": "p.json"} | content))
    return file


def people(folder: Path, **check: str) -> None:
    """A pipeline of a source that has no file, and of a transform."""
    document = pipeline(
        [source("In", "${nowhere}"), stage("Check", "transform", "Check", **check), sink("Out")],
        ("In", "Check"),
        ("Check", "Out"),
    )
    (folder / "p.json").write_text(json.dumps(document))


def test_the_tests_of_the_demo_pass(test: Test, instance: TemporaryInstance):
    code, said = test(DEMO)

    assert code == 0, said
    assert "3 passed" in said
    assert not (instance.home.path / "demo").exists()


def test_each_test_has_its_end_even_when_a_plugin_takes_the_process_along(
    test: Test, tmp_path: Path
):
    people(tmp_path, then="exit")
    ada, bob, old = ({"name": n, "age": a} for n, a in (("ada", 36), ("bob", 7), ("old", 200)))
    refused = {"record": bob, "code": 4, "message": "too young"}
    write(
        tmp_path,
        "a",
        {"given": {"In": [ada, bob]}, "expect": {"Out": [ada], "Check.errors": [refused]}},
    )
    write(tmp_path, "b", {"given": {"In": [old]}, "expect": {"Out": []}})
    write(tmp_path, "c", {"given": {"In": [old]}, "fails": {"message": "ended unexpectedly"}})
    write(tmp_path, "d", {"given": {"In": [ada]}, "expect": {"Out": [ada | {"age": 37}]}})
    write(tmp_path, "e", {"given": {"In": [{"nam": "x", "age": "y"}]}, "expect": {"Out": 0}})
    write(tmp_path, "f", {"given": {"Check": [bob]}, "expect": {"Out": [bob]}})

    code, said = test(tmp_path, "--json", "--junit", tmp_path / "j.xml")
    verdicts = {each["test"]: each for each in json.loads(said)["tests"]}

    assert code == 1
    assert {name: each["outcome"] for name, each in verdicts.items()} == {
        "a": "passed",
        "b": "failed",
        "c": "passed",
        "d": "failed",
        "e": "failed",
        "f": "passed",
    }
    assert "ended unexpectedly" in verdicts["b"]["reasons"][0]
    assert verdicts["d"]["outputs"][0]["records"] == [
        {
            "kind": "changed",
            "label": 'name="ada"',
            "fields": [{"field": "age", "expected": 37, "actual": 36}],
        }
    ]
    assert "record 1: there is no field 'nam'; fields: name, age." in verdicts["e"]["reasons"][0]
    assert (tmp_path / "j.xml").exists()


def test_actions_are_skipped_and_a_test_that_hangs_is_stopped(test: Test, tmp_path: Path):
    document = pipeline(
        [
            stage("Touch", "action", "Touch", file=str(tmp_path / "touched")),
            source("In", "in.csv"),
            stage("Check", "transform", "Check", then="sleep"),
            sink("Out"),
        ],
        ("Touch", "In"),
        ("In", "Check"),
        ("Check", "Out"),
    )
    (tmp_path / "p.json").write_text(json.dumps(document))
    old, ada = {"name": "old", "age": 200}, {"name": "ada", "age": 36}
    write(
        tmp_path,
        "hangs",
        {"given": {"In": [old]}, "skip": ["Touch"], "timeout": 2, "expect": {"Out": 0}},
    )
    write(tmp_path, "works", {"given": {"In": [ada]}, "skip": ["Touch"], "expect": {"Out": 1}})

    code, said = test(tmp_path)

    assert code == 1
    assert "stopped after 2 s" in said
    assert "1 passed, 1 failed" in said
    assert not (tmp_path / "touched").exists()


def test_given_records_and_skipped_actions_need_no_plugin(test: Test, tmp_path: Path):
    missing = stage("In", "batchsource", "SapOdp", referenceName="sap")
    missing["outputSchema"] = source("In", "in.csv")["plugin"]["properties"]["schema"]
    document = pipeline(
        [
            missing,
            stage("Check", "transform", "Check"),
            sink("Out"),
            stage("Page", "action", "Pager"),
        ],
        ("In", "Check"),
        ("Check", "Out"),
        ("Out", "Page"),
    )
    (tmp_path / "p.json").write_text(json.dumps(document))
    ada = {"name": "ada", "age": 36}
    write(tmp_path, "given", {"given": {"In": [ada]}, "skip": ["Page"], "expect": {"Check": [ada]}})
    assert test(tmp_path)[0] == 0
    code, said = test(tmp_path, "--record", "In=generate", "--record", "Out=discard")
    assert (code, "1 passed" in said) == (0, True)


def test_mistakes_of_all_files_are_reported_and_nothing_is_run(test: Test, tmp_path: Path):
    people(tmp_path)
    one = write(tmp_path, "one", {"given": {"Inn": []}, "expect": {"Out": 0}})
    two = write(tmp_path, "two", {"expects": {}})

    code, said = test(tmp_path)

    assert code == 2
    assert f"{one}:1: given.Inn: the pipeline has no stage 'Inn'. Did you mean 'In'?" in said
    assert f"{two}:1: expects: there is no such key." in said
    assert "passed" not in said


def test_a_first_test_is_written_fails_after_a_change_and_is_updated(test: Test, tmp_path: Path):
    people(tmp_path)
    (tmp_path / "in.csv").write_text("ada,36\nbob,7\neve,20\n")
    file = tmp_path / "p.test.toml"
    new = ("--new", tmp_path / "p.json", "-a", f"nowhere={tmp_path / 'in.csv'}", "--limit", "2")
    code, said = test(*new)
    assert code == 0, said
    assert "eve" not in file.read_text()
    people(tmp_path, least="5")

    code, said = test(tmp_path, "--stage", "Out")
    assert code == 1
    assert "Out: expected 1 records, got 2" in said
    assert '+ name="bob" age=7' in said
    assert "Check.errors" not in said
    assert test(file, "--update")[0] == 0
    assert test(file)[0] == 0
    code, said = test(*new)
    assert (code, "exists already" in said) == (1, True)


def test_plugins_of_other_versions_are_taken_when_that_is_asked_for(test: Test, tmp_path: Path):
    people(tmp_path)
    document = json.loads((tmp_path / "p.json").read_text())
    other = {"name": "core-plugins", "version": "2.7.0", "scope": "SYSTEM"}
    document["stages"][2]["plugin"]["artifact"] = other
    (tmp_path / "p.json").write_text(json.dumps(document))
    write(tmp_path, "a", {"given": {"In": [{"name": "ada", "age": 36}]}, "expect": {"Out": 1}})

    code, said = test(tmp_path)
    assert (code, "2.7.0" in said) == (1, True)
    code, said = test(tmp_path, "--fix")
    assert code == 0, said


def test_a_deployed_pipeline_is_tested_by_its_name(
    test: Test, tmp_path: Path, instance: TemporaryInstance
):
    people(tmp_path)
    assert run(["import", str(tmp_path / "p.json"), "--home", str(instance.home.path)]) == 0
    file = tmp_path / "named.test.toml"
    file.write_text(
        'application = "tried"\n[given]\nIn = [{ name = "a", age = 20 }]\n[expect]\nOut = 1\n'
    )

    code, said = test(file)

    assert code == 0, said
    assert f"✓ {file}" in said


def test_a_deployed_pipeline_is_previewed_and_gets_its_tests_by_its_name(
    test: Test,
    tmp_path: Path,
    instance: TemporaryInstance,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    people(tmp_path)
    (tmp_path / "in.csv").write_text("ada,36\nbob,7\n")
    home = ("--home", str(instance.home.path))
    value = ("-a", f"nowhere={tmp_path / 'in.csv'}")
    assert run(["import", str(tmp_path / "p.json"), "--name", "people", *home]) == 0
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()

    assert run(["preview", "people", "--json", *value, *home]) == 0
    preview = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in preview["stages"]["In"]["records"]] == ["ada", "bob"]

    code, said = test("people")
    assert (code, "localcdap test --new people" in said) == (2, True)
    code, said = test("--new", "people", *value)
    assert code == 0, said
    assert 'application = "people"' in (tmp_path / "people.test.toml").read_text()
    people(tmp_path)  # a test of a file, which the name does not select
    write(tmp_path, "other", {"given": {"In": []}, "expect": {"Out": 1}})
    code, said = test("people")
    assert (code, "1 passed" in said) == (0, True), said
