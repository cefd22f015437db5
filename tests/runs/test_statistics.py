"""Dashboards, statistics, overviews and classifications, on runs written into an instance."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import msgspec
import pytest

from localcdap.api.errors import BadRequestError, ConflictError, ErrorDetails, NotFoundError
from localcdap.api.failures import ValidationFailure
from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import Run, RunError, StageCounts
from localcdap.runs.statistics import overview
from localcdap.runs.statistics.classification import classify, find_reason
from localcdap.runs.statistics.model import OverviewRequest
from localcdap.runs.statistics.overview import list_days
from localcdap.testing import TemporaryInstance
from tests.runs.stored_runs import change, write_run

HOUR = 3_600_000
DAY = 24 * HOUR
BEGIN = 1_700_000_000_000 // DAY * DAY
_numbers = itertools.count()


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporaryInstance]:
    with TemporaryInstance(tmp_path_factory.mktemp("statistics")) as made:
        yield made


@pytest.fixture
def namespace(instance) -> str:
    name = f"s{next(_numbers)}"
    instance.cdap.namespaces.create(name)
    return name


@pytest.fixture
def service(instance):
    return instance.cdap.statistics


def fail(message: str = "File 'a.csv' does not exist.", stage: str | None = "In") -> RunError:
    return RunError(message, "Check the path.", stage)


# -- the dashboard ---------------------------------------------------------------------------


def test_the_dashboard(instance, namespace, service):
    cdap = instance.cdap
    first = write_run(cdap, namespace=namespace, starting=BEGIN, took_ms=2500, user="ada")
    active = write_run(
        cdap, "long", RunStatus.RUNNING, namespace=namespace, starting=BEGIN + 10_000
    )
    write_run(cdap, namespace=namespace, starting=BEGIN + 20_001)  # later
    write_run(cdap, namespace=namespace, starting=BEGIN - 5000, took_ms=1000)  # has ended before
    start = BEGIN // 1000

    found = service.read_dashboard(start, 19, [namespace])

    assert [each.run for each in found] == [first.run, active.run]
    shown = found[0]
    assert (shown.start, shown.running, shown.end) == (start, start, start + 2)
    assert (shown.status, shown.user, shown.start_method) == ("COMPLETED", "ada", "MANUAL")
    assert (shown.program, shown.type) == ("DataPipelineWorkflow", "Workflow")
    assert (shown.application.name, shown.application.version) == ("sales", None)
    assert shown.artifact.name == "cdap-data-pipeline"
    assert (found[1].end, found[1].status) == (None, "RUNNING")
    assert service.read_dashboard(start, 19, ["default"]) == []


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((-1, 1, ["default"]), "'start' time cannot be smaller than 0."),
        ((1, -1, ["default"]), "'duration' cannot be smaller than 0."),
        ((1, 1, []), "'namespace' cannot be empty, please provide at least one namespace."),
    ],
)
def test_wrong_windows_of_the_dashboard(service, given, text):
    with pytest.raises(BadRequestError) as raised:
        service.read_dashboard(*given)

    assert raised.value.message == text


def test_planned_runs_are_added_to_a_window_that_ends_later(instance, namespace):
    asked = []

    class Planned:
        def list_planned(self, namespaces, start, end):
            asked.append((start, end))
            named = overview.DashboardApplication("sales", "-SNAPSHOT")
            return [
                overview.DashboardRun(
                    namespaces[0], None, named, "Workflow", "w", None, None, "SCHEDULED", start
                )
            ]

    made = overview.Dashboard(instance.cdap.runs._store, Planned())
    now = int(time.time())

    assert made.read(now - 100, 50, [namespace]) == []
    assert asked == []
    (found,) = made.read(now - 100, 1000, [namespace])
    assert (found.run, found.status, found.start_method) == (None, None, "SCHEDULED")
    assert asked[0][0] >= now  # not in the past
    assert asked[0][1] == now + 901


# -- statistics of a pipeline -----------------------------------------------------------------


def test_statistics_and_percentiles(instance, namespace, service):
    runs = [
        write_run(
            instance.cdap,
            namespace=namespace,
            starting=BEGIN + place * 60_000,
            took_ms=1000 * place,
        )
        for place in range(1, 11)
    ]
    for run in runs:
        run.stage_times = {"In": 100 * (run.end - run.starting) // 1000}
        change(instance.cdap, run)
    write_run(instance.cdap, status=RunStatus.FAILED, namespace=namespace, starting=BEGIN)
    start = BEGIN // 1000

    found = service.read_statistics(namespace, "sales", start, start + 3600, [50.0, 90.0, 100.0])

    assert (found.runs, found.avg_run_time) == (10, 5.5)
    half, most, last = found.percentile_information_list
    assert (half.percentile_time_in_seconds, len(half.run_ids_over_percentile)) == (6, 5)
    assert (most.percentile_time_in_seconds, most.run_ids_over_percentile) == (10, [runs[9].run])
    assert last.percentile_time_in_seconds == 10
    assert found.nodes["In"] == {
        "runs": 10,
        "avgRunTime": 0.55,
        "50.0": 0.6,
        "90.0": 1.0,
        "100.0": 1.0,
    }
    assert service.read_statistics(namespace, "sales", 1, 2) is None
    with pytest.raises(BadRequestError, match=r"Wrong start or end time\."):
        service.read_statistics(namespace, "sales", 2, 1)
    with pytest.raises(BadRequestError, match="Percentile values have to be greater than 0 and"):
        service.read_statistics(namespace, "sales", 1, 2, [101.0])

    around = service.list_around(namespace, runs[4].run, limit=2, interval=60)
    assert [each.run_id for each in around] == [each.run for each in runs[2:7]]
    assert around[0].time_taken == 3
    with pytest.raises(BadRequestError):
        service.list_around(namespace, runs[4].run, limit=0, interval=60)


def test_two_runs_beside_each_other(instance, namespace, service):
    first = write_run(instance.cdap, namespace=namespace, arguments={"day": "1", "same": "x"})
    second = write_run(
        instance.cdap,
        status=RunStatus.FAILED,
        namespace=namespace,
        arguments={"day": "2", "same": "x"},
        stages={"In": StageCounts(0, 30, 0), "New": StageCounts(30, 2, 1)},
        took_ms=4000,
    )
    other = write_run(instance.cdap, "other", namespace=namespace)

    found = service.compare(namespace, first.run, second.run)

    assert [each.time_taken for each in found.runs] == [1, 4]
    assert found.statuses == ["COMPLETED", "FAILED"]
    assert [each.stage for each in found.stages] == ["In", "New", "Out"]
    assert found.stages[0].counts == [StageCounts(0, 10, 0), StageCounts(0, 30, 0)]
    assert found.stages[1].counts[0] is found.stages[2].counts[1] is None
    assert found.arguments == {"day": ["1", "2"]}
    with pytest.raises(BadRequestError, match="is not one of 'sales'"):
        service.compare(namespace, first.run, other.run)


# -- why runs fail ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "stage", "category", "reason", "type"),
    [
        ("File 'x.csv' does not exist.", "In", "Plugin", "something it reads is missing", "USER"),
        (
            "Connection refused by db:5432",
            "Db",
            "Networking",
            "another system was not reached",
            "SYSTEM",
        ),
        ("The access was denied: HTTP 403", "Web", "Access", "access was denied", "USER"),
        ("No space left on device", None, "Provisioning", "the disk is full", "SYSTEM"),
        ("[CAST_OVERFLOW] Value 300 overflows", "T", "Plugin", "a value does not fit", "USER"),
        (
            "The engine did not start.",
            None,
            "Provisioning",
            "Spark could not do its part",
            "SYSTEM",
        ),
        (
            "Field 'a' must be of type long, but it is 'x'.",
            "T",
            "Plugin",
            "a value does not fit",
            "USER",
        ),
        ("field 'n': Division by zero.", "T", "Plugin", "a value does not fit", "USER"),
        (
            "Encountered error while reading file file:/a.gz: not gzip.",
            "In",
            "Plugin",
            "a file is not readable",
            "USER",
        ),
        ("ValueError: odd", "Mine", "Plugin", "a plugin failed", "USER"),
        ("Something odd", None, "Others", "another reason", "UNKNOWN"),
    ],
)
def test_reasons(message, stage, category, reason, type):
    (found,) = classify(RunError(message, "Do something.", stage))

    assert found.error_category == (f"{category}-'{stage}'" if stage else category)
    assert (found.error_reason, found.error_type) == (reason, type)
    assert (found.stage_name, found.error_message) == (stage, message)
    assert found.corrective_action == "Do something."
    assert found.dependency == ("true" if category == "Networking" else "false")


def test_codes_of_errors():
    (web,) = classify(RunError("The server answered with status 503.", None, "Web"))
    (spark,) = classify(RunError("[DIVIDE_BY_ZERO] Division by zero.", None, "T"))

    assert (web.error_code_type, web.error_code) == ("HTTP", "503")
    assert (spark.error_code_type, spark.error_code) == ("SPARK", "DIVIDE_BY_ZERO")


def test_the_details_of_an_error_win_over_its_text():
    details = ErrorDetails(
        category="Plugin-Quota",
        reason="a quota is used up",
        type="SYSTEM",
        dependency=True,
        code_type="HTTP",
        code="429",
        documentation="https://example.com/quota",
    )
    error = RunError("No space left on device, status 503", "Ask.", "Web", details=details)
    (found,) = classify(error)

    assert msgspec.to_builtins(found) == {
        "stageName": "Web",
        "errorCategory": "Plugin-Quota-'Web'",
        "errorReason": "a quota is used up",
        "errorMessage": "No space left on device, status 503",
        "errorType": "SYSTEM",
        "dependency": "true",
        "errorCodeType": "HTTP",
        "errorCode": "429",
        "supportedDocumentationUrl": "https://example.com/quota",
        "correctiveAction": "Ask.",
    }


def test_a_code_without_a_reason_leaves_the_reason_to_the_text():
    details = ErrorDetails(code_type="SPARK", code="DIVIDE_BY_ZERO")
    (found,) = classify(RunError("Division by zero.", None, "T", details=details))

    assert (found.error_category, found.error_reason) == ("Plugin-'T'", "a value does not fit")
    assert (found.error_code_type, found.error_code) == ("SPARK", "DIVIDE_BY_ZERO")


def test_an_invalid_pipeline_has_a_classification_for_each_failure(instance, namespace, service):
    failures = [
        ValidationFailure("Invalid Stage", f"{each} is wrong.", "Correct it.", [], stage=each)
        for each in ("A", "B")
    ]
    error = RunError("The pipeline has 2 failures", failures=failures)
    run = write_run(instance.cdap, status=RunStatus.FAILED, namespace=namespace, error=error)
    good = write_run(instance.cdap, namespace=namespace)

    found = service.classify(namespace, run.run)

    assert [each.stage_name for each in found] == ["A", "B"]
    assert {each.error_reason for each in found} == {"the pipeline is invalid"}
    assert find_reason(error).type == "USER"
    with pytest.raises(ConflictError, match="has not failed: it is COMPLETED"):
        service.classify(namespace, good.run)
    with pytest.raises(NotFoundError):
        service.classify(namespace, "nothing")


# -- overviews --------------------------------------------------------------------------------


def test_an_overview(instance, namespace, service):
    cdap = instance.cdap

    def write(pipeline: str, hour: int, **more: object) -> Run:
        return write_run(cdap, pipeline, namespace=namespace, starting=BEGIN + hour * HOUR, **more)

    for hour in (1, 2, 50):
        write("sales", hour, took_ms=hour * 1000)
    failed = [write("orders", hour, status=RunStatus.FAILED, error=fail()) for hour in (3, 5)]
    write("sales", 6, status=RunStatus.FAILED, error=fail("Connection refused", None))
    write("orders", 7, status=RunStatus.KILLED)
    running = write("slow", 70, status=RunStatus.RUNNING)
    slow = write("slow", 8)
    slow.stage_times = {"Score": 900, "Clean": 100}
    slow.stages["Score"] = StageCounts(5, 5, 0, alerts=4)
    change(cdap, slow)
    failed[0].stages["In"] = StageCounts(0, 5, 0, alerts=7)
    change(cdap, failed[0])
    write("sales", 73)  # after the window

    found = service.read_overview(OverviewRequest([namespace], BEGIN, BEGIN + 3 * DAY, points=3))

    totals = found.totals
    assert (totals.runs, totals.completed, totals.failed, totals.killed) == (9, 4, 3, 1)
    assert (totals.active, totals.success_rate) == (1, 4 / 7)
    assert [each.pipeline for each in found.pipelines] == ["slow", "sales", "orders"]
    assert found.pipeline_count == 3
    sales, orders = found.pipelines[1:]
    assert (sales.runs, sales.failed, sales.median_ms, sales.records) == (4, 1, 2000, 40)
    assert [point and (point.runs, point.failed) for point in sales.points] == [
        (3, 1),
        None,
        (1, 0),
    ]
    assert orders.points[1:] == [None, None]
    assert orders.status == "KILLED"
    assert sum(each.runs for each in found.days) == 9
    assert [each.day for each in found.days] == list(list_days(found.start, found.end))
    reasons = [(each.reason, each.category, each.runs, each.pipelines) for each in found.failures]
    assert reasons == [
        ("something it reads is missing", "Plugin", 2, 1),
        ("another system was not reached", "Networking", 1, 1),
    ]
    assert (found.failures[0].newest, found.failures[0].stage) == (failed[1].run, "In")
    assert [(each.stage, each.average_ms) for each in found.slow_stages] == [
        ("Score", 900),
        ("Clean", 100),
    ]
    assert [(each.pipeline, each.stage, each.alerts) for each in found.alerting_stages] == [
        ("orders", "In", 7),
        ("slow", "Score", 4),
    ]
    assert found.newest[0].run == running.run
    one = service.read_overview(OverviewRequest([namespace], BEGIN, BEGIN + DAY, pipeline="orders"))
    assert (one.totals.runs, len(one.pipelines)) == (3, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"namespaces": []},
        {"end": BEGIN},
        {"start": 0, "end": 10**15},
        {"points": 0},
    ],
)
def test_wrong_overviews(service, wrong):
    given = {"namespaces": ["default"], "start": BEGIN, "end": BEGIN + DAY, **wrong}

    with pytest.raises(BadRequestError):
        service.read_overview(OverviewRequest(**given))


def test_days_of_a_window_are_local_days(monkeypatch):
    """Also over the night in which clocks change, and where the offset has a fraction of an hour."""
    for zone in ("Europe/Rome", "Asia/Kathmandu", "America/New_York"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        days = list_days(1_711_700_000_000, 1_712_000_000_000)
        assert days == sorted(set(days))
        assert len(days) in (4, 5)
    monkeypatch.undo()
    time.tzset()
