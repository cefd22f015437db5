"""``localcdap schedules`` on an instance whose host is this process."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcdap.cli.main import run
from localcdap.home import find_shipped_data
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.schedules.exports import build_calendar
from localcdap.schedules.model import Schedule, TimeTrigger
from localcdap.testing import TemporaryInstance

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def instance(
    tmp_path_factory: pytest.TempPathFactory, fresh_home: Callable[[Path], Path]
) -> Iterator[TemporaryInstance]:
    folder = fresh_home(tmp_path_factory.mktemp("schedules") / "home")
    with TemporaryInstance(folder) as made:
        text = (find_shipped_data() / "demo" / "pipeline.json").read_text()
        made.cdap.applications.deploy(DeployRequest(text, name="sales"))
        yield made


@pytest.fixture
def command(instance, capsys) -> Command:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["schedules", *arguments, "--home", str(instance.home.path)])
        return code, *capsys.readouterr()

    return call


def test_a_schedule_from_add_to_delete(command):
    code, out, err = command(
        *("add", "sales", "nightly", "--cron", "0 3 * * *", "--time-zone", "UTC", "--enable"),
        *("-a", "day=1", "--max-runs", "2", "--wait", "--timeout", "2h"),
    )
    assert code == 0, err
    assert out.startswith("sales nightly is enabled: 0 3 * * * (UTC), next ")
    assert "localcdap server start" in err

    found = json.loads(command("show", "sales", "nightly", "--json")[1])
    assert (found["status"], found["properties"]) == ("SCHEDULED", {"day": "1"})
    assert found["timeoutMillis"] == 7_200_000
    assert found["constraints"][0]["waitUntilMet"] is True
    shown = command("show", "sales", "nightly")[1]
    assert "at most 2 runs at once, waits" in shown
    assert "sales nightly 0 3 * * * (UTC) scheduled " in " ".join(command("list")[1].split())
    assert "03:00:00 UTC  sales     nightly" in command("planned", "--days", "2")[1]
    assert len(command("next", "sales", "--count", "3")[1].splitlines()) == 4

    assert command("enable", "sales", "nightly")[0] == 1
    assert "is suspended" in command("suspend", "sales", "nightly")[1]
    code, out, _ = command("update", "sales", "nightly", "--after", "orders=FAILED")
    assert (code, "after default.orders FAILED" in out) == (0, True)
    assert (
        "Warning: there is no deployed pipeline 'default.orders'"
        in (command("resume", "sales", "nightly")[2])
    )
    assert command("jobs")[2] == "No jobs: nothing that was triggered waits.\n"
    assert command("history", "sales")[2] == "Nothing was triggered yet.\n"
    assert command("delete", "sales", "nightly")[1] == "Deleted schedule 'nightly' of sales.\n"
    assert command("show", "sales", "nightly")[0] == 1


def test_several_triggers_and_a_file(command, tmp_path: Path):
    assert command("add", "sales", "both", "--after", "a", "--partitions", "n.d=3", "--any")[0] == 0
    found = json.loads(command("show", "sales", "both", "--json")[1])
    assert found["trigger"]["type"] == "OR"
    assert found["trigger"]["triggers"][1]["dataset"]["namespace"] == "n"
    file = tmp_path / "schedule.json"
    file.write_text(json.dumps(found))
    assert command("add", "sales", "copy", "--file", str(file), "--map", "date=day")[0] == 0
    copy = json.loads(command("show", "sales", "copy", "--json")[1])
    assert copy["trigger"] == found["trigger"]
    assert "triggering.properties.mapping" in copy["properties"]
    for name in ("both", "copy"):
        command("delete", "sales", name)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("add", "sales"), 2, "Name both: localcdap schedules add PIPELINE NAME"),
        (("add", "sales", "x"), 2, "No trigger was specified for the schedule"),
        (("add", "nope", "x", "--cron", "0 3 * * *"), 1, "nope"),
        (
            ("add", "sales", "x", "--cron", "0 3 * * 0"),
            2,
            "'0' is not a valid day of week: use 1 to 7",
        ),
        (
            ("add", "sales", "x", "--cron", "0 3 * * *", "--delay", "10"),
            2,
            "'10' is not a valid duration",
        ),
        (("add", "sales", "x", "--partitions", "d=many"), 2, "names no number of partitions"),
        (("add", "sales", "x", "--cron", "* * * * *", "--between", "9-10"), 2, "start time '9'"),
        (("add", "sales", "x", "--after", "a", "--map-property", "a=b"), 2, "TARGET=STAGE"),
        (("next",), 2, "Name a pipeline or a cron expression"),
        (("next", "x y"), 2, "Cron entry must contain 5 or 6 fields"),
        (("enable", "sales", "nope"), 1, "schedules of 'sales'"),
    ],
)
def test_wrong_use_says_what_to_do(command, arguments, code: int, message: str):
    found, _, err = command(*arguments)
    assert found == code
    assert message in err


def test_next_shows_when_an_expression_is_due(command):
    code, out, _ = command("next", "0 3 ? * FRI#3", "--time-zone", "Europe/Berlin", "--count", "3")
    assert code == 0
    assert [line[:3] for line in out.splitlines()] == ["Fri"] * 3


def test_exports(command, tmp_path: Path):
    command("add", "sales", "daily", "--cron", "0 3 * * 2-6", "-a", "to=50%", "--enable")
    code, line, err = command("export", "sales", "daily", "--as", "crontab")
    assert code == 0
    assert line.startswith("0 3 * * 1,2,3,4,5 ")
    assert " run sales -a to=50\\% --home " in line
    assert "suspend it, or runs start twice" in err

    assert command("export", "sales", "daily", "--directory", str(tmp_path))[0] == 0
    timer = (tmp_path / "localcdap-default-sales-daily.timer").read_text()
    assert "OnCalendar=Mon,Tue,Wed,Thu,Fri *-*-* 3:0:0" in timer
    service = (tmp_path / "localcdap-default-sales-daily.service").read_text()
    assert '"to=50%%"' in service

    command("update", "sales", "daily", "--cron", "0 0 3 L * ?")
    assert "'L' and 'W'" in command("export", "sales", "daily", "--as", "crontab")[2]
    command("update", "sales", "daily", "--after", "other")
    assert "waits for more than a time" in command("export", "sales", "daily")[2]
    command("delete", "sales", "daily")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not here")
@pytest.mark.parametrize(
    "cron",
    [
        *("0 3 * * *", "*/20 * * * *", "0 0 3 L * ?", "0 0 3 L-3 * ?", "0 0 3 ? * 6L"),
        *("0 0 3 ? * FRI#2", "30 0 3 1,15 2-4 ? 2030", "0 3 * * 2-6"),
    ],
)
def test_systemd_is_due_when_the_schedule_is(command, cron: str):
    ours = command("next", cron, "--time-zone", "UTC", "--count", "1")[1].strip()
    schedule = Schedule("n", "p", "s", TimeTrigger(cron, "UTC"))
    asked = ["systemd-analyze", "calendar", build_calendar(schedule)]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    if "Failed" in answer.stderr:
        pytest.skip(answer.stderr)
    (theirs,) = [line for line in answer.stdout.splitlines() if "Next elapse" in line]
    assert theirs.partition(": ")[2].strip() == ours
