"""``localcdap run``: records, counts, and what bad input gets."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.e2e.pipelines import (
    csv_source,
    json_records,
    json_sink,
    pipeline,
    python,
    schema,
    stage,
    write,
)
from tests.e2e.program import Program

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("hosted")]

ROW = schema(id="int", name=["string", "null"])
RECORDS = "1,ann\n2,bob\n3,\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "in.csv"
    file.write_text(RECORDS)
    return file


def test_records_arrive_and_are_counted(program: Program, tmp_path: Path, source: Path):
    out = tmp_path / "out"
    document = pipeline([csv_source("In", source, ROW), json_sink("Out", out)], ("In", "Out"))

    run = program("run", write(document, tmp_path / "p.json"), "--json").json

    assert run["status"] == "COMPLETED"
    assert run["stages"]["Out"] == {"in": 3, "out": 0, "errors": 0}
    assert [r["id"] for r in json_records(out)] == [1, 2, 3]
    assert [r.get("name") for r in json_records(out)] == ["ann", "bob", None]


@pytest.mark.slow
def test_fan_out_errors_and_splitter_ports(program: Program, tmp_path: Path, source: Path):
    seen = tmp_path / "seen"
    script = (
        "def transform(record, emitter, context):\n"
        f"    open({str(seen)!r}, 'a').write('x')\n"
        "    if record['id'] == 2:\n"
        "        emitter.emitError({'errorCode': 7, 'errorMsg': 'no bobs', 'invalidRecord': record})\n"
        "    else:\n"
        "        emitter.emit(record)\n"
    )
    stages = [
        csv_source("In", source, ROW),
        python("Check", script, ROW),
        stage("Split", "splittertransform", "NullFieldSplitter", "transform-plugins", field="name"),
        json_sink("All", tmp_path / "all"),
        json_sink("Named", tmp_path / "named"),
        json_sink("Nameless", tmp_path / "nameless"),
        stage(
            "Errors",
            "errortransform",
            "ErrorCollector",
            messageField="msg",
            codeField="code",
            stageField="stage",
        ),
        json_sink("Bad", tmp_path / "bad"),
    ]
    document = pipeline(
        stages,
        ("In", "Check"),
        ("Check", "All"),
        ("Check", "Split"),
        ("Split", "Named", "nonnull"),
        ("Split", "Nameless", "null"),
        ("Check", "Errors"),
        ("Errors", "Bad"),
    )

    run = program("run", write(document, tmp_path / "p.json"), "--json").json

    assert run["status"] == "COMPLETED", run["error"]
    assert run["stages"]["Check"] == {"in": 3, "out": 2, "errors": 1}
    assert run["stages"]["Split"] == {"in": 2, "out": 2, "errors": 0}
    assert json_records(tmp_path / "named") == [{"id": 1, "name": "ann"}]
    assert [r["id"] for r in json_records(tmp_path / "nameless")] == [3]
    (bad,) = json_records(tmp_path / "bad")
    assert (bad["msg"], bad["code"], bad["stage"]) == ("no bobs", 7, "Check")
    assert len(seen.read_text()) == 3, "each record is transformed once for all sinks"


@pytest.mark.slow
def test_arguments_give_macros_their_values(program: Program, tmp_path: Path, source: Path):
    document = pipeline(
        [csv_source("In", Path("${folder}/in.csv"), ROW), json_sink("Out", tmp_path / "${where}")],
        ("In", "Out"),
    )
    file = write(document, tmp_path / "p.json")

    open_macros = program("validate", file)
    missing = program("run", file, "--json")
    given = program("run", file, "-a", f"folder={tmp_path}", "-a", "where=there", "--json")

    assert open_macros.code == 0
    assert missing.code == 1
    assert {f["field"] for f in missing.json["errors"]} == {"path"}
    assert given.json["status"] == "COMPLETED"
    assert len(json_records(tmp_path / "there")) == 3


def test_a_table_is_upserted_and_read_back(program: Program, tmp_path: Path, source: Path):
    fill = pipeline(
        [
            csv_source("In", source, ROW),
            stage("T", "batchsink", "Table", name="people", schema__row__field="id"),
        ],
        ("In", "T"),
    )
    read = pipeline(
        [
            stage("T", "batchsource", "Table", name="people", schema=ROW),
            json_sink("Out", tmp_path / "out"),
        ],
        ("T", "Out"),
    )
    file = write(fill, tmp_path / "fill.json")

    first = program("run", file, "--json").json
    source.write_text("3,carl\n4,dora\n")
    second = program("run", file, "--json").json
    third = program("run", write(read, tmp_path / "read.json"), "--json").json

    assert (first["status"], second["status"], third["status"]) == ("COMPLETED",) * 3, third[
        "error"
    ]
    assert [r["name"] for r in json_records(tmp_path / "out")] == ["ann", "bob", "carl", "dora"]


def test_foreign_paths_are_found_through_locations(program: Program, tmp_path: Path, source: Path):
    program.settings(f'[locations]\n"gs://bucket" = "{tmp_path}"\n')
    document = pipeline(
        [csv_source("In", Path("x"), ROW), json_sink("Out", tmp_path / "out")], ("In", "Out")
    )
    document["config"]["stages"][0]["plugin"]["properties"]["path"] = "gs://bucket/in.csv"
    file = write(document, tmp_path / "p.json")

    assert program("run", file, "--json").json["status"] == "COMPLETED"


def test_compressed_input_is_read(program: Program, tmp_path: Path):
    file = tmp_path / "in.csv.gz"
    file.write_bytes(gzip.compress(RECORDS.encode()))
    document = pipeline(
        [csv_source("In", file, ROW), json_sink("Out", tmp_path / "out")], ("In", "Out")
    )

    run = program("run", write(document, tmp_path / "p.json"), "--json").json

    assert run["stages"]["In"]["out"] == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "properties", "expected"),
    [
        (None, {}, "does not exist"),
        ("1,ann\nx,bob\n", {}, "x"),
        (RECORDS, {"fileRegex": "("}, "fileRegex"),
    ],
    ids=["missing input", "unreadable record", "bad regex"],
)
def test_bad_input_fails_the_run_and_names_the_stage(
    program: Program, tmp_path: Path, content: str | None, properties: dict[str, str], expected: str
):
    file = tmp_path / "data.csv"
    if content is not None:
        file.write_text(content)
    out = tmp_path / "out"
    document = pipeline(
        [csv_source("Customers", file, ROW, **properties), json_sink("Out", out)],
        ("Customers", "Out"),
    )

    answer = program("run", write(document, tmp_path / "p.json"), "--json")

    reported = answer.json.get("errors") or [answer.json["error"]]
    assert answer.code == 1
    assert reported[0]["stage"] == "Customers"
    assert (
        expected
        in f"{reported[0]['message']} {reported[0].get('correctiveAction')} {reported[0].get('field')}"
    )
    assert not out.exists()


def test_a_sink_that_cannot_be_written_fails_before_anything_is_written(
    program: Program, tmp_path: Path, source: Path
):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "precious").write_text("mine")
    good = tmp_path / "good"
    document = pipeline(
        [
            csv_source("In", source, ROW),
            json_sink("Good", good),
            json_sink("Taken", tmp_path / "taken"),
            json_sink("Inside a file", source / "out"),
        ],
        ("In", "Good"),
        ("In", "Taken"),
        ("In", "Inside a file"),
    )

    answer = program("run", write(document, tmp_path / "p.json"), "--json")

    assert answer.code == 1
    assert answer.json["error"]["stage"] in ("Taken", "Inside a file")
    assert not good.exists()
    assert [p.name for p in (tmp_path / "taken").iterdir()] == ["precious"]
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")], "no staging is left"


@pytest.mark.slow
def test_a_plugin_that_raises_is_reported_with_its_record(
    program: Program, tmp_path: Path, source: Path
):
    script = "def transform(record, emitter, context):\n    emitter.emit({'id': 1 // (record['id'] - 2)})\n"
    document = pipeline(
        [
            csv_source("In", source, ROW),
            python("Divide", script, schema(id="int")),
            json_sink("Out", tmp_path / "out"),
        ],
        ("In", "Divide"),
        ("Divide", "Out"),
    )

    answer = program("run", write(document, tmp_path / "p.json"))

    assert answer.code == 1
    assert "Divide" in answer.out
    assert "ZeroDivisionError" in answer.out
    assert "bob" in answer.out
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("path", ["in/people.csv", "gs://bucket/people.csv"])
def test_a_schema_taken_from_a_file_is_that_of_the_run(program: Program, tmp_path: Path, path: str):
    (program.home / "in").mkdir(parents=True)
    (program.home / "in" / "people.csv").write_text("id,name\n1,ann\n")
    program.settings('[locations]\n"gs://bucket" = "in"\n')
    source = csv_source("In", Path("x"), "", skipHeader="true")
    source["plugin"]["properties"]["path"] = path
    document = pipeline([source, json_sink("Out", tmp_path / "out")], ("In", "Out"))
    file = write(document, tmp_path / "p.json")

    shown = program("validate", file, "--connected", "--json").json
    offline = program("validate", file, "--json").json
    run = program("run", file, "--json").json

    fields = shown["spec"]["stages"][0]["outputSchema"]["fields"]
    assert [(f["name"], f["type"]) for f in fields] == [("id", "int"), ("name", "string")]
    assert offline["spec"]["stages"][0]["outputSchema"] is None
    assert run["status"] == "COMPLETED", run["error"]
    assert json_records(tmp_path / "out") == [{"id": 1, "name": "ann"}]


def test_a_foreign_path_is_reported_when_the_files_are_looked_at(program: Program, tmp_path: Path):
    source = csv_source("In", Path("x"), "")
    source["plugin"]["properties"]["path"] = "gs://nowhere/people.csv"
    document = pipeline([source, json_sink("Out", tmp_path / "out")], ("In", "Out"))

    answer = program("validate", write(document, tmp_path / "p.json"), "--connected", "--json")

    failure = answer.json["errors"][0]
    assert failure["field"] == "path"
    assert '"gs://nowhere" = ' in failure["correctiveAction"]
