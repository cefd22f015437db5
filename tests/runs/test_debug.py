"""One stage on given records. That it gives what a run gives is in tests/plugins/test_shown_is_run.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.runs.debug.service import DebugService
from localcdap.runs.preview.model import DebugAnswer, DebugRequest, GivenRecords
from localcdap.testing.instance import TemporaryInstance
from tests.runs.preview_plugins import PEOPLE, PLUGINS, pipeline, sink, source, stage

ADA = {"name": "ada", "age": 36}
BOB = {"name": "bob", "age": 7}
OLD = {"name": "methuselah", "age": 969}


@pytest.fixture(scope="module")
def instance(
    cdap_engine_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TemporaryInstance]:
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("debugging")) as instance:
        instance.settings("plugin.time_limit_s = 5\n")
        (instance.home.path / "plugins").mkdir()
        (instance.home.path / "plugins" / "trying-1.0.0.py").write_text(PLUGINS)
        instance.cdap.secure_keys.put("default", "key", "open sesame")
        yield instance


@pytest.fixture
def debugging(instance: TemporaryInstance) -> DebugService:
    return instance.cdap.debugging


def check(debugging: DebugService, *records: Any, **properties: str) -> DebugAnswer:
    """What the plugin Check makes of records."""
    tried = stage("check", "transform", "Check", **properties)
    request = DebugRequest(tried, [GivenRecords("in", list(records), PEOPLE)])
    request.arguments = {"years": "18"}
    return debugging.debug(request)


def test_output_error_records_and_exceptions_of_all_records(debugging: DebugService):
    answer = check(debugging, ADA, OLD, BOB, {"name": "eve"}, ADA)

    assert answer.output is not None
    assert answer.output.records == [ADA, ADA]
    assert answer.output.schema.field_names == ["name", "age"]
    assert [(e.record, e.code, e.message) for e in answer.error_records] == [(BOB, 4, "too young")]
    assert [(e.record, e.message) for e in answer.errors] == [
        (2, "ValueError: 969 is too old"),
        (4, "ValueError: no age, token none"),
    ]
    assert answer.errors[0].trace.splitlines() == [
        "trying-1.0.0.py:18 in transform: self.deeper(age)",
        'trying-1.0.0.py:33 in deeper: raise ValueError(f"{age} is too old")',
        "ValueError: 969 is too old",
    ]
    assert answer.logs == ["age 36", "age 969", "age 7", "age None", "age 36"]


def test_a_value_that_does_not_fit_names_its_record(debugging: DebugService):
    answer = check(debugging, ADA, OLD, then="mismatch")

    assert answer.output is not None
    assert answer.output.records == [ADA]
    (problem,) = answer.errors
    assert problem.record == 2
    assert problem.message == "Field 'age' must be of type int, but a record holds 'old' (str)."


@pytest.mark.slow
def test_a_plugin_that_hangs_or_ends_its_process_costs_one_answer(debugging: DebugService):
    (problem,) = check(debugging, OLD, then="exit").errors
    assert "ended its process with exit code 7" in problem.message
    (problem,) = check(debugging, OLD, then="hog").errors
    assert "took more than 1024 MiB of memory" in problem.message
    (problem,) = check(debugging, OLD, then="sleep").errors
    assert "did not finish within 5 s" in problem.message
    assert "trying-1.0.0.py:24 in transform" in str(problem.trace)
    assert check(debugging, ADA).errors == []


def test_macros_have_values_and_secrets_are_not_shown(debugging: DebugService):
    answer = check(debugging, ADA, {"name": "x"}, least="${years}", token="${secure(key)}")

    assert answer.output.records == [ADA]
    assert answer.errors[0].message == "ValueError: no age, token ********"
    assert "sesame" not in str(answer)


def test_a_stage_that_is_not_valid_is_reported_and_not_run(debugging: DebugService):
    answer = check(debugging, ADA, least="x")

    assert answer.output is None
    assert [(e.field, e.message) for e in answer.errors] == [
        ("least", "Property 'least' must be a whole number, not 'x'.")
    ]
    answer = check(debugging, ADA, least="${nowhere}")
    assert [e.field for e in answer.errors] == ["least"]


def test_records_that_do_not_fit_are_reported_with_record_and_field(debugging: DebugService):
    with pytest.raises(
        BadRequestError, match="record 2, field 'age': expected a value of type int"
    ):
        check(debugging, ADA, {"name": "x", "age": "old"})


def test_a_stage_of_a_pipeline_gets_its_schemas_from_there(debugging: DebugService):
    document = pipeline(
        [source("in", "in.csv"), stage("check", "transform", "Check"), sink("out")],
        ("in", "check"),
        ("check", "out"),
    )

    answer = debugging.debug(
        DebugRequest("check", [GivenRecords(records=[ADA, BOB])], document=document)
    )

    assert answer.output.records == [ADA]
    answer = debugging.debug(DebugRequest("out", [GivenRecords("check", [ADA])], document=document))
    assert answer.output.records == [ADA]
    with pytest.raises(NotFoundError, match="no stage 'chek'"):
        debugging.debug(DebugRequest("chek", [], document=document))
    with pytest.raises(BadRequestError, match="no input stage 'inn'"):
        debugging.debug(DebugRequest("check", [GivenRecords("inn", [])], document=document))


def test_what_handles_no_records_cannot_be_debugged(debugging: DebugService):
    with pytest.raises(BadRequestError, match="of type action, handles no records"):
        debugging.debug(DebugRequest(stage("touch", "action", "Touch", file="x")))
    with pytest.raises(BadRequestError, match="none were given"):
        debugging.debug(DebugRequest(stage("check", "transform", "Check")))


def test_records_need_no_spark(debugging: DebugService, monkeypatch):
    monkeypatch.setattr(DebugService, "_run_on_engine", None)

    assert check(debugging, ADA).output.records == [ADA]


@pytest.mark.spark
def test_a_source_reads_some_records_and_a_failure_of_spark_names_its_stage(
    debugging: DebugService, instance: TemporaryInstance
):
    lines = "".join(f"n{number},{number}\n" for number in range(50))
    (instance.home.path / "many.csv").write_text(lines)

    answer = debugging.debug(DebugRequest(source("in", "many.csv"), records=3))

    assert answer.errors == []
    assert answer.output.records == [{"name": f"n{n}", "age": n} for n in range(3)]
    failing = stage("boom", "sparkcompute", "Fails")
    answer = debugging.debug(DebugRequest(failing, [GivenRecords("in", [ADA], PEOPLE)]))
    assert "asked to fail" in answer.errors[0].message
    failing = stage("boom", "sparkcompute", "Leaves")
    answer = debugging.debug(DebugRequest(failing, [GivenRecords("in", [ADA], PEOPLE)]))
    assert [e.message for e in answer.errors] == [
        "The process that stage 'boom' ran in ended unexpectedly."
    ]
    assert not list((instance.home.path / "previews").iterdir())


def test_the_program_shows_the_answer(instance: TemporaryInstance, tmp_path: Path, capsys):
    from localcdap.cli.main import run

    document = pipeline(
        [source("in", "in.csv"), stage("check", "transform", "Check"), sink("out")],
        ("in", "check"),
        ("check", "out"),
    )
    file, records = tmp_path / "p.json", tmp_path / "r.json"
    file.write_text(json.dumps(document))
    command = ["debug", str(file), "check", "--input", str(records), "--home"]
    command.append(str(instance.home.path))

    records.write_text(json.dumps([ADA, BOB]))
    assert run([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["output"]["records"] == [ADA]
    assert answer["errorRecords"] == [{"record": BOB, "code": 4, "message": "too young"}]
    records.write_text(f"{json.dumps(ADA)}\n{json.dumps(OLD)}\n")
    assert run(command) == 1
    shown = capsys.readouterr().out
    assert "ada    36" in shown
    assert "✗ record 2: ValueError: 969 is too old" in shown
    records.write_text(json.dumps(ADA))
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["output"]["records"] == [ADA]
    records.write_text('{"in": [1]}')
    assert run(command) == 2
    assert "record 1: expected an object, not 1." in capsys.readouterr().err
    records.write_text("{")
    assert run(command) == 2
