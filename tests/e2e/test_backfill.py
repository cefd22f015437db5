"""``logical.start.time``: runs for days of the past, one and many."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.e2e.pipelines import csv_source, json_records, json_sink, pipeline, schema, stage, write
from tests.e2e.program import Command

ROW = schema(id="int", a=["string", "null"])
NEW_YEAR_2020 = "1577836800000"


@pytest.fixture
def by_day(tmp_path: Path) -> str:
    """A pipeline that copies the file of a day into the folder of this day."""
    for day in ("2020-02-28", "2020-02-29", "2020-03-02"):
        (tmp_path / f"in-{day}.csv").write_text(f"1,{day}\n")
    day = "${logicalStartTime(yyyy-MM-dd)}"
    stages = [
        csv_source("In", tmp_path / f"in-{day}.csv", ROW),
        json_sink("Out", tmp_path / "out" / day),
    ]
    return write(pipeline(stages, ("In", "Out")), tmp_path / "by_day.json")


def list_days(folder: Path) -> list[str]:
    """The days that have a folder."""
    return sorted(path.name for path in (folder / "out").glob("*"))


@pytest.mark.spark
def test_the_argument_sets_the_time_of_every_macro(command: Command, tmp_path: Path):
    (tmp_path / "in.csv").write_text("1,x\n")
    fields = schema(id="int", a=["string", "null"], b=["string", "null"], c=["string", "null"])
    directives = (
        "set-column :a \"${logicalStartTime(yyyy-MM-dd'T'HH-mm-ss,1d-4h+30m)}\"; "
        'set-column :b "${logicalStartTime(yyyy-MM-dd HH:mm z,0d,America/Los_Angeles)}"; '
        'set-column :c "${logical.start.time}"'
    )
    wrangler = stage(
        "W",
        "transform",
        "Wrangler",
        "wrangler-transform",
        field="*",
        precondition="false",
        directives=directives,
        schema=fields,
    )
    stages = [
        csv_source("In", tmp_path / "in.csv", ROW),
        wrangler,
        json_sink("Out", tmp_path / "out", suffix="yyyy-MM-dd"),
    ]
    file = write(pipeline(stages, ("In", "W"), ("W", "Out")), tmp_path / "p.json")
    expected = {
        "id": 1,
        "a": "2019-12-31T03-30-00",
        "b": "2019-12-31 16:00 PST",
        "c": NEW_YEAR_2020,
    }

    previewed = command("preview", file, "--logical-start-time", "2020-01-01", "--json")
    code, _, errors = command("run", file, "-a", f"logical.start.time={NEW_YEAR_2020}")

    assert code == 0, errors
    assert json_records(tmp_path / "out" / "2020-01-01") == [expected]
    assert json.loads(previewed[1])["stages"]["W"]["records"] == [expected]


@pytest.mark.spark
def test_each_day_runs_until_one_fails_and_goes_on_from_there(
    command: Command, tmp_path: Path, by_day: str
):
    code, out, errors = command(
        "run", by_day, "-a", "x=a b", "--each-day", "2020-02-28..2020-03-02"
    )

    assert code == 1
    assert list_days(tmp_path) == ["2020-02-28", "2020-02-29"]
    assert [line for line in out.splitlines() if line.startswith("2020-")] == [
        "2020-02-28",
        "2020-02-29",
        "2020-03-01",
    ]
    (line,) = [line for line in errors.splitlines() if line.startswith("Stopped at 2020-03-01.")]
    words = shlex.split(line.partition("there: ")[2])
    assert words[words.index("--each-day") + 1] == "2020-03-01..2020-03-02"
    assert "x=a b" in words

    (tmp_path / "in-2020-03-01.csv").write_text("1,2020-03-01\n")
    rest = words[words.index("run") :]
    del rest[rest.index("--home") : rest.index("--home") + 2]  # the command adds it
    code, out, errors = command(*rest, "--json")

    assert code == 0, errors
    assert [run["arguments"]["logical.start.time"] for run in json.loads(out)] == [
        "1583020800000",
        "1583107200000",
    ]
    assert list_days(tmp_path) == ["2020-02-28", "2020-02-29", "2020-03-01", "2020-03-02"]


@pytest.mark.spark
def test_detached_days_are_queued(command: Command, tmp_path: Path, by_day: str):
    code, out, errors = command(
        "run",
        by_day,
        "--each-day",
        "2020-02-28..2020-02-29",
        "--timezone",
        "UTC",
        "--detach",
        "--json",
    )
    assert code == 0, errors
    for run in json.loads(out):
        assert run["status"] == "PENDING"
        assert command("logs", run["run"], "--follow")[0] == 0
    assert list_days(tmp_path) == ["2020-02-28", "2020-02-29"]


def test_an_argument_that_is_no_time_starts_nothing(command: Command, by_day: str):
    code, _, errors = command("run", by_day, "-a", "logical.start.time=2020-01-01")
    assert code == 2
    assert "'2020-01-01', which is not a time in milliseconds since 1970" in errors
    assert json.loads(command("runs", "--json")[1]) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--each-day", "2020-02-30"], "'2020-02-30' is not of the form 2024-01-01..2024-01-31"),
        (["--each-day", "2020-02-02..2020-02-01"], "2020-02-01 is before 2020-02-02"),
        (["--each-day", "2020-02-01", "--timezone", "Moon/Base"], "no time zone 'Moon/Base'"),
        (["--each-day", "2020-02-01", "-a", "logical.start.time=1"], "not both"),
        (["--each-day", "2020-02-01", "--logical-start-time", "2020-01-01"], "not both"),
        (["--each-day", "2020-02-01", "--explain"], "not both"),
        (["--logical-start-time", "yesterday"], "'yesterday' is not of the form 2024-01-01"),
        (["--logical-start-time", "2020-01-01", "-a", "logical.start.time=1"], "not both"),
        (["--logical-start-time", "2020-01-01T00:00+02:00", "--timezone", "UTC"], "has an offset"),
    ],
)
def test_options_that_contradict_or_are_not_understood(command: Command, by_day, options, message):
    code, _, errors = command("run", by_day, *options)
    assert code == 2
    assert message in errors
