"""The story of a pipeline of systems that are not here: validated, run on recordings, and shown as such."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.pipelines import csv_source, json_records, json_sink, pipeline, schema, stage, write
from tests.e2e.program import Command

ORDERS = schema(order_id="long", email=["string", "null"], amount=["double", "null"])
CLEAN = schema(order_id="long", email=["string", "null"], score=["int", "null"])


@pytest.fixture
def sap(tmp_path: Path) -> str:
    """A pipeline of which no plugin is installed but the filter of the sink."""
    stages = [
        stage(
            "Orders", "batchsource", "SapOdp", referenceName="sap", schema=ORDERS, host="${host}"
        ),
        stage("Score", "transform", "SapScorer", schema=CLEAN),
        stage("Store", "batchsink", "Kudu", name="orders"),
        stage("Notify", "action", "Pager"),
    ]
    connections = (("Orders", "Score"), ("Score", "Store"), ("Store", "Notify"))
    return write(pipeline(stages, *connections), tmp_path / "sap.json")


def test_without_recordings_every_missing_plugin_is_a_failure_and_ranked(command: Command, sap):
    code, out, _ = command("validate", sap, "--json")
    missing = [e["stage"] for e in json.loads(out)["errors"] if e["type"] == "Artifact Not Found"]
    assert code == 1
    assert sorted(missing) == ["Notify", "Orders", "Score", "Store"]
    code, out, _ = command("plugins", "--wanted", sap, str(Path(sap).parent), "--json")
    assert code == 0
    stand_ins = {each["name"]: each["standIn"] for each in json.loads(out)}
    assert stand_ins == {
        "SapOdp": "recording",
        "SapScorer": "pass",
        "Kudu": "recording",
        "Pager": "skip",
    }


@pytest.mark.slow
@pytest.mark.spark
def test_the_pipeline_runs_on_recordings_and_is_marked_everywhere(command: Command, sap, tmp_path):
    orders = tmp_path / "orders.csv"
    orders.write_text("ORDER_ID,email,amount,extra\n1,ada@example.com,2.5,x\n2,,,\n")
    given = [
        *("--record", f"Orders={orders}", "--record", "Score=pass"),
        *("--record", f"Store={tmp_path / 'out.json'}", "--record", "Notify=skip"),
    ]

    code, out, _ = command("validate", sap, *given)
    assert code == 0, out
    assert f"recorded: stage 'Orders' (batchsource SapOdp) is {orders} (command line)" in out
    assert "Left out, because the schema lacks them: extra." in out
    assert "placeholder: stage 'Score' (transform SapScorer) is pass (command line)" in out

    code, out, _ = command("run", sap, *given, "--json")
    run = json.loads(out)
    assert code == 0, run["error"]
    assert run["stages"]["Orders"]["out"] == 2
    assert run["stages"]["Store"]["in"] == 2
    assert [each["kind"] for each in run["standIns"]] == [
        *("recorded", "placeholder", "recorded", "placeholder")
    ]
    assert run["standIns"][0]["records"] == 2
    assert json_records(tmp_path / "out.json") == [
        {"order_id": 1, "email": "ada@example.com", "score": None},
        {"order_id": 2, "email": None, "score": None},
    ]

    code, out, _ = command("runs")
    assert "COMPLETED (recorded, placeholder)" in out
    code, out, _ = command("lineage", "recorded.sap", "--json")
    assert code == 0
    assert "test_pipeline" in out


@pytest.mark.spark
def test_records_of_a_real_source_are_kept_masked_and_read_again(command: Command, tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("".join(f"{n},ada{n}@example.com,{n}.5\n" for n in range(8)))
    stages = [csv_source("Orders", source, ORDERS), json_sink("Out", tmp_path / "out")]
    file = write(pipeline(stages, ("Orders", "Out")), tmp_path / "orders.json")
    kept = tmp_path / "kept.json"

    code, out, _ = command("record", file, "Orders", "-o", str(kept), "--mask-personal", "--json")
    assert code == 0, out
    assert json.loads(out) == {"file": str(kept), "records": 8, "masked": {"email": "e-mail"}}
    rows = json.loads(kept.read_text())
    assert [row["order_id"] for row in rows] == list(range(8))
    assert len({row["email"] for row in rows}) == 8
    assert not any("ada" in row["email"] for row in rows)
    assert not (tmp_path / "out").exists()

    source.unlink()
    code, out, _ = command("preview", file, "--record", f"Orders={kept}", "--json")
    preview = json.loads(out)
    assert code == 0, preview["error"]
    assert preview["stages"]["Orders"]["records"] == rows
    assert preview["standIns"][0]["kind"] == "recorded"


def test_recordings_of_the_instance_and_the_settings_count_and_can_be_removed(command, sap):
    for key, recording in (("plugin:SapOdp", "generate:5"), ("Score", "pass"), ("Notify", "skip")):
        assert command("recordings", "set", key, recording)[0] == 0
    assert command("recordings", "set", "stage:test_pipeline/Store", "discard")[0] == 0
    code, out, _ = command("validate", sap, "--json")
    assert code == 0, out
    origins = [each["origin"] for each in json.loads(out)["standIns"]]
    assert origins[0] == "instance: plugin:SapOdp"
    _, out, _ = command("recordings", "--json")
    assert {each["key"]: each["recording"] for each in json.loads(out)} == {
        "plugin:SapOdp": "generate:5",
        "stage:Notify": "skip",
        "stage:Score": "pass",
        "stage:test_pipeline/Store": "discard",
    }
    assert command("recordings", "remove", "Notify")[0] == 0
    assert command("validate", sap)[0] == 1
    code, _, err = command("recordings", "remove", "Notify")
    assert code == 1 or code == 2
    assert "plugin:SapOdp" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recording", "said"),
    [
        ("gone.csv", "There is no recording"),
        ("table:gone", "There is no table 'gone'."),
        ("dataset:gone", "it cannot be read"),
        ("discard", "'discard' cannot stand in for a stage of type 'batchsource'."),
        ("pass", "A source has a file"),
    ],
)
def test_a_recording_that_cannot_be_used_is_one_failure_of_its_stage(
    command: Command, sap, recording, said
):
    code, out, _ = command("validate", sap, "--record", f"Orders={recording}", "--json")
    errors = [each for each in json.loads(out)["errors"] if each["stage"] == "Orders"]
    assert code == 1
    assert said in f"{errors[0]['message']} {errors[0]['correctiveAction']}"


def test_what_applies_to_no_stage_or_says_nothing_is_refused(command: Command, sap):
    code, out, _ = command("validate", sap, "--record", "Order=generate", "--json")
    assert code == 1
    messages = [each["message"] for each in json.loads(out)["errors"]]
    assert "The recording of 'Order' applies to no stage." in messages
    code, _, err = command("validate", sap, "--record", "Orders=generate:0")
    assert code == 2
    assert "does not say how many records to generate" in err
    code, out, _ = command("validate", sap, "--record", "Store=table:orders", "--json")
    assert "needs a key" in out


@pytest.mark.slow
def test_kinds_of_stages_that_a_pipeline_lacks_are_warnings(command: Command, sap):
    fitting = ("plugin:SapOdp=generate", "Score=pass", "Store=discard", "Notify=skip")
    lacking = ("type:sparksink=discard", "plugin:Gone=generate", "plugin:batchsink/Kafka=discard")
    rules = [word for rule in (*fitting, *lacking) for word in ("--record", rule)]
    code, out, _ = command("validate", sap, *rules, "--json")
    answer = json.loads(out)
    assert (code, answer["errors"]) == (0, [])
    said = [
        each["message"] for each in answer["warnings"] if "applies to no stage" in each["message"]
    ]
    assert said == [
        f"The recording of '{rule.partition('=')[0]}' applies to no stage." for rule in lacking
    ]
    code, out, _ = command("validate", sap, *rules, "--record", "type:sink=discard", "--json")
    assert code == 1
    assert "The types that can have one: action, " in out


@pytest.mark.spark
def test_values_that_do_not_fit_keep_a_run_from_starting(command: Command, sap, tmp_path):
    orders = tmp_path / "orders.csv"
    orders.write_text("order_id,email,amount\n1,,1\nmany,,2\n")
    others = ("--record", "Score=pass", "--record", "Store=discard", "--record", "Notify=skip")
    code, out, _ = command("run", sap, "--record", f"Orders={orders}", *others)
    assert code == 1
    assert "record 2, field 'order_id': expected a value of type long" in out
    assert "SapOdp" not in out
    assert command("runs", "--json")[1].strip() == "[]"


def test_a_method_of_a_plugin_that_is_not_installed_is_a_clear_error(command: Command):
    code, _, err = command("call", "batchsource", "SapOdp", "listObjects")
    assert code == 1
    assert "SapOdp" in err
