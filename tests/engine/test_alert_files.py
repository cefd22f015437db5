"""Alerts of tasks: in files with the run's directory, in the reports without it."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localcdap.engine.driver.control_stages import RunAlerts
from localcdap.engine.tasks.pass_plan import StageAlert, TaskReport, decode_report, encode_report
from localcdap.engine.tasks.task_messages import AlertWriter


def runner(stage: str, *names: str) -> Any:
    """A stage of a task that has emitted alerts."""
    return SimpleNamespace(alerts=[StageAlert(stage, {"name": name}) for name in names])


def report(writer: AlertWriter, *runners: Any) -> TaskReport:
    """The next report of a task, as Spark delivers it."""
    made = TaskReport([])
    writer.move(runners, made)
    return decode_report(encode_report(made))


def add(directory: Path | None, *reports: TaskReport) -> tuple[RunAlerts, list[Any]]:
    """The alerts of a run whose only phase had these reports."""
    files: Counter[str] = Counter()
    for each in reports:
        if each.alert_file:
            files[each.alert_file] += each.alert_lines
    given = [alert for each in reports for alert in each.alerts]
    place = None if directory is None else str(directory)
    run = RunAlerts(SimpleNamespace(message_directory=place))
    return run, run.add(SimpleNamespace(alerts=given, alert_files=files))


def payloads(run: RunAlerts, *stages: str) -> list[str | None]:
    return [alert.payload["name"] for alert in run.read(stages)]


@pytest.mark.parametrize("is_local", [True, False])
def test_only_what_reports_tell_counts(tmp_path: Path, is_local: bool):
    directory = tmp_path if is_local else None
    task, lost = (AlertWriter(str(tmp_path) if is_local else None) for _ in range(2))
    first = report(task, runner("a", "ada", "bo\nb"), runner("b", "cem"))
    report(lost, runner("a", "of a task that failed"))
    nothing = report(task, runner("a"))
    second = report(task, runner("a", "dan"))
    report(task, runner("a", "not reported any more"))

    run, shown = add(directory, first, nothing, second)

    assert (nothing.alert_file, nothing.alerts) == ("", [])
    assert bool(first.alerts) is not is_local
    assert payloads(run, "a") == ["ada", "bo\nb", "dan"]
    assert payloads(run, "b", "a") == ["ada", "bo\nb", "cem", "dan"]
    assert (run.count(["a"]), run.count(["b"]), run.count(["c"])) == (3, 1, 0)
    assert [(each.stage, len(each.payloads)) for each in shown] == [("a", 3), ("b", 1)]


def test_alerts_are_taken_from_their_stage(tmp_path: Path):
    given = runner("a", "ada")
    report(AlertWriter(str(tmp_path)), given)
    assert given.alerts == []


def test_all_are_published_and_the_first_thousand_shown(tmp_path: Path):
    run, shown = add(
        tmp_path, report(AlertWriter(str(tmp_path)), runner("a", *map(str, range(2500))))
    )
    assert len(payloads(run, "a")) == run.count(["a"]) == 2500
    assert len(shown[0].payloads) == 1000


def test_a_task_on_a_cluster_reports_its_first_alerts_and_says_so(caplog: pytest.LogCaptureFixture):
    writer = AlertWriter(None)
    reports = [report(writer, runner("a", *map(str, range(700)))) for _ in range(3)]
    assert [len(each.alerts) for each in reports] == [700, 300, 0]
    assert len(caplog.records) == 1
    assert caplog.records[0].levelno == logging.WARNING


def test_a_directory_that_is_gone_fails_the_task(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        report(AlertWriter(str(tmp_path / "gone")), runner("a", "ada"))
