"""The runs area on runs written into a real instance."""

from __future__ import annotations

import json

import pytest
from textual.widgets import Input, Static, TabbedContent

from localcdap.engine.messages.samples import AlteredValues
from localcdap.engine.messages.spool import RunStatus
from localcdap.expectations.results import RuleResult
from localcdap.expectations.rules import RuleAction
from localcdap.host.cdap import Cdap
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.runs.history import RunFilter
from localcdap.runs.model import RunError, RunProgress, StageCounts, StoredLogLine, get_now
from localcdap.tui.log.run_log import RunLog
from localcdap.tui.records.table import RecordTable
from localcdap.tui.routes import RunHistoryTarget, RunTarget
from localcdap.tui.screens.runs.arguments import ArgumentRow, ArgumentsDialog
from localcdap.tui.screens.runs.comparison import RunComparison
from localcdap.tui.screens.runs.run_list import RunList
from localcdap.tui.screens.runs.run_view import RunView
from localcdap.tui.screens.runs.tables import (
    AlertTable,
    ExpectationTable,
    PlainDataTable,
    StageTable,
)
from localcdap.tui.screens.runs.timeline import PipelineList
from tests.runs.stored_runs import change, write_alerts, write_log, write_run
from tests.tui.studio_driver import LARGE, SMALL, Driver

SIZES = pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
ERROR = RunError("no file 'x'", "Write another path.", "In", ["  File plugin.py, line 3"])


@pytest.fixture
def namespace(cdap: Cdap, request: pytest.FixtureRequest) -> str:
    name = "n" + "".join(c for c in request.node.name if c.isalnum())[:40]
    cdap.namespaces.create(name)
    return name


def get_list(driver: Driver) -> RunList:
    return driver.app.screen.query_one(RunList)


def view(driver: Driver) -> RunView:
    return driver.app.screen.query_one(RunView)


async def shown(driver: Driver, run: str) -> None:
    """Wait until a run is the one that keys are about."""
    await driver.until(lambda: view(driver).run is not None and view(driver).run.run == run)
    await driver.settled()


@SIZES
async def test_a_failed_run_says_why_and_leads_to_its_stage(cdap, namespace, open_studio, size):
    run = write_run(cdap, "orders", RunStatus.FAILED, error=ERROR, namespace=namespace)
    write_log(
        cdap,
        run.run,
        [StoredLogLine(1, 1, "INFO", "a", "Out"), StoredLogLine(2, 2, "ERROR", "b", "In")],
    )
    async with open_studio(size=size, namespace=namespace) as driver:
        await driver.press("3")
        await shown(driver, run.run)
        await driver.press("enter")
        reported = view(driver).query_one("#run-error", Static).content.plain
        assert "Stage 'In': no file 'x'" in reported
        assert "Write another path." in reported
        table = driver.app.screen.query_one(StageTable)
        assert table.has_focus
        assert table.get_row_at(0)[0].plain == "✗ In"
        assert [cell.plain for cell in table.get_row_at(1)[1:4]] == ["10", "10", "0"]
        await driver.press("enter")
        log = driver.app.screen.query_one(RunLog)
        await driver.until(lambda: log.view.count == 1)
        assert log.stage == "In"
        await driver.press("escape")
        assert get_list(driver).has_focus


async def test_an_active_run_is_followed(cdap, namespace, open_studio):
    run = write_run(
        cdap, status=RunStatus.RUNNING, stages={"In": StageCounts()}, namespace=namespace
    )
    async with open_studio(namespace=namespace) as driver:
        await driver.press("3")
        await shown(driver, run.run)
        run.progress = RunProgress(3, 12, 4_200_000, {"In": StageCounts(0, 77, 0)})
        change(cdap, run)
        table = driver.app.screen.query_one(StageTable)
        await driver.until(lambda: table.get_row_at(0)[2].plain == "77")
        assert (
            "3 of 12 tasks, 4.2 MB read" in driver.app.screen.query_one("#run-head").content.plain
        )
        run = cdap.runs.wait(run.run, -1, 0)
        run.status, run.end, run.progress = RunStatus.COMPLETED, run.starting + 2000, None
        run.stages = {"In": StageCounts(0, 100, 0)}
        change(cdap, run)
        await driver.until(lambda: table.get_row_at(0)[2].plain == "100")
        await driver.until(lambda: get_list(driver).lines[0].status is RunStatus.COMPLETED)


async def test_a_run_that_waits_has_a_position(cdap, namespace, open_studio):
    queue, held = cdap.runs._starter.queue, [f"held{n}" for n in range(64)]
    runs = [write_run(cdap, status=RunStatus.PENDING, namespace=namespace) for _ in range(2)]
    for name in held:
        queue.note_process(name)
    for place, each in enumerate(runs):
        queue.wait_turn(each.run, place)
    async with open_studio(namespace=namespace) as driver:
        await driver.press("3")
        await shown(driver, runs[1].run)
        head = driver.app.screen.query_one("#run-head", Static)
        assert head.content.plain.startswith("◌ queued, position 2  sales")
        assert [each.position for each in get_list(driver).lines] == [2, 1]
        assert "◌ queued 2" in get_list(driver).render_line(0).text
        queue.remove(runs[0].run)
        await driver.until(lambda: head.content.plain.startswith("◌ queued, position 1  sales"))
        queue.remove(runs[1].run)
    for name in held:
        queue.leave(name)


@pytest.mark.slow
async def test_a_run_that_starts_does_not_move_the_cursor(cdap, namespace, open_studio):
    runs = [write_run(cdap, starting=n, namespace=namespace) for n in range(5)]
    async with open_studio(namespace=namespace) as driver:
        await driver.press("3", "j", "j")
        assert get_list(driver).run_id == runs[2].run
        pipelines = driver.app.screen.query_one(PipelineList)
        pipelines.highlighted = 1
        write_run(cdap, "newer", starting=100, namespace=namespace)
        await driver.until(lambda: get_list(driver).total == 6)
        assert get_list(driver).run_id == runs[2].run
        await driver.until(lambda: [p.pipeline for p in pipelines.pipelines] == ["newer", "sales"])
        assert pipelines.highlighted == 2  # on its pipeline still


@pytest.mark.slow
async def test_thousands_of_runs_are_loaded_as_needed(cdap, namespace, open_studio):
    first = write_run(cdap, namespace=namespace).run
    with cdap.runs._store.transaction() as tx:
        tx.execute(
            "INSERT INTO runs SELECT runs.* REPLACE ('r' || i AS run, i AS starting, "
            "replace(replace(record, run, 'r' || i), '\"starting\":' || starting, '\"starting\":' || i) "
            "AS record) FROM runs, range(1, 5001) t(i) WHERE run = ?",
            (first,),
        )
    async with open_studio(namespace=namespace) as driver:
        await driver.press("3")
        assert get_list(driver).total == 5001
        assert len(get_list(driver).lines) < 300
        await driver.press("pagedown", "pagedown", "pagedown")
        assert 100 < len(get_list(driver).lines) < 400
        await driver.press("G")
        await driver.until(lambda: len(get_list(driver).lines) == 5001)
        await driver.until(lambda: get_list(driver).run_id == "r1")
        for _ in range(3):
            write_run(cdap, namespace=namespace)
        await driver.until(lambda: get_list(driver).total == 5004)
        assert len({line.run for line in get_list(driver).lines}) == 5004
        assert get_list(driver).run_id == "r1"
        get_list(driver).show(namespace, RunFilter(text="r123"))
        await driver.until(lambda: get_list(driver).total == 11)
        assert {line.run[:4] for line in get_list(driver).lines} == {"r123"}


async def test_filters_of_the_history(cdap, namespace, open_studio):
    for n in range(3):
        write_run(cdap, "orders", starting=n, namespace=namespace)
    failed = write_run(cdap, "sales", RunStatus.FAILED, error=ERROR, namespace=namespace)
    async with open_studio(size=SMALL, namespace=namespace) as driver:
        await driver.press("3", "slash")
        driver.app.screen.query_one("#runs-filter").value = "no fil"
        await driver.press("e", "enter")
        assert [line.run for line in get_list(driver).lines] == [failed.run]
        await driver.press("escape")
        assert get_list(driver).total == 4
        await driver.press("p", "o", "r", "d", "enter")
        assert get_list(driver).total == 3
        await driver.press("s", "f", "a", "enter")
        assert get_list(driver).total == 0
        assert driver.app.screen.query_one("#runs-empty").display
        await driver.press("escape")
        assert get_list(driver).total == 4
        driver.app.navigate(RunHistoryTarget("sales"))
        await driver.until(lambda: get_list(driver).total == 1)


async def test_an_empty_history_says_what_to_do(namespace, open_studio):
    async with open_studio(namespace=namespace, size=SMALL) as driver:
        await driver.press("3")
        assert "No runs yet" in str(driver.app.screen.query_one("#runs-empty").content)
        await driver.press("r", "R", "x", "o", "c", "y", "L", "enter", "j", "k", "G", "escape")
        assert driver.app.screen.explain_disabled("again") == "no run is highlighted"


async def test_two_runs_are_compared(cdap, namespace, open_studio):
    write_run(cdap, starting=1, arguments={"day": "1"}, namespace=namespace)
    write_run(cdap, starting=2, stages={"In": StageCounts(0, 15, 0)}, namespace=namespace)
    async with open_studio(namespace=namespace) as driver:
        await driver.press("3")
        await driver.until(lambda: view(driver).run is not None)
        await driver.press("c")
        await driver.press("enter")
        dialog = driver.app.screen
        assert isinstance(dialog, RunComparison)
        table = dialog.query_one(PlainDataTable)
        assert [cell.plain for cell in table.get_row_at(0)][:7] == [
            "In",
            "0",
            "0",
            "=",
            "10",
            "15",
            "+5",
        ]
        assert table.get_row_at(1)[1].plain == "10"
        assert table.get_row_at(1)[2].plain == "-"
        assert "argument day: 1 → (none)" in str(
            dialog.query_one("#comparison-arguments", Static).content
        )
        await driver.press("y")
        assert "In\t0\t0\t10\t15" in driver.app.clipboard.replace("In\t\t\t", "In\t0\t0\t")


async def test_a_target_shows_a_run_and_the_log_of_a_stage(cdap, namespace, open_studio):
    run = write_run(cdap, namespace=namespace)
    write_log(
        cdap,
        run.run,
        [StoredLogLine(1, 1, "INFO", "a", "In"), StoredLogLine(2, 2, "INFO", "b", "Out")],
    )
    for _ in range(3):
        write_run(cdap, namespace=namespace)
    target = RunTarget(run.run, "Out")
    async with open_studio(namespace=namespace, target=target, size=SMALL) as driver:
        await shown(driver, run.run)
        assert get_list(driver).run_id == run.run
        log = driver.app.screen.query_one(RunLog)
        await driver.until(lambda: log.view.count == 1)
        assert log.view.line.text == "b"


MACROS = json.dumps(
    {
        "name": "sales",
        "config": {
            "stages": [
                {
                    "name": "In",
                    "plugin": {
                        "name": "File",
                        "type": "batchsource",
                        "properties": {"path": "${folder}/${day}", "x": "${secure(key)}"},
                    },
                }
            ],
            "connections": [],
        },
    }
)


async def test_arguments_are_edited_next_to_their_defaults(cdap, namespace, open_studio):
    cdap.preferences.replace(PreferenceLevel(namespace), {"folder": "data"})
    answers: list[dict[str, str] | None] = []
    async with open_studio(namespace=namespace, size=SMALL) as driver:
        editor = ArgumentsDialog(namespace, "sales", MACROS, {"extra": "1"})
        driver.app.push_screen(editor, answers.append)
        await driver.until(
            lambda: driver.app.focused and isinstance(driver.app.focused.parent, ArgumentRow)
        )
        assert len(editor.query(ArgumentRow)) == 3
        rows = {row.argument.name: row for row in editor.query(ArgumentRow)}
        assert rows["day"].has_class("-missing")
        assert not rows["folder"].has_class("-missing")
        assert rows["folder"].query_one(Input).placeholder == "data"
        assert rows["day"].query_one("Input").has_focus
        await driver.type("monday")
        assert not rows["day"].has_class("-missing")
        rows["extra"].query_one("Input").focus()
        await driver.press("backspace", "f4")
        editor.query_one("#arguments-new").focus()
        await driver.type("one=a=b")
        note = str(editor.query_one("#arguments-note", Static).content)
        await driver.press("ctrl+r")
        assert "secure(key)" in note
        assert answers == [{"day": "monday", "extra": "", "one": "a=b"}]


@pytest.mark.slow
async def test_a_run_of_an_older_version_cannot_be_repeated(cdap, namespace, open_studio):
    run = write_run(cdap, namespace=namespace)
    run.document = None
    change(cdap, run)
    async with open_studio(namespace=namespace) as driver:
        await driver.press("3")
        await shown(driver, run.run)
        screen = driver.app.screen
        assert screen.check_action("again", ()) is None
        assert "older localcdap" in screen.explain_disabled("again")
        await driver.press("r")
        assert get_list(driver).total == 1


async def test_a_rerun_of_an_invalid_pipeline_shows_its_failures(cdap, namespace, open_studio):
    run = write_run(cdap, namespace=namespace, document=MACROS)
    async with open_studio(namespace=namespace) as driver:
        await driver.press("3")
        await shown(driver, run.run)
        await driver.press("r")
        notice = driver.app.notices.newest_first[0]
        assert notice.severity == "error"
        assert "nothing was run" in notice.title
        assert "In: " in notice.detail
        assert "o opens the pipeline" in notice.detail
        assert get_list(driver).total == 1


async def test_runs_are_a_table_that_is_ordered_filtered_and_counted(cdap, namespace, open_studio):
    runs = [
        write_run(cdap, name, status, namespace=namespace, error=error)
        for name, status, error in [
            ("orders", RunStatus.COMPLETED, None),
            ("orders", RunStatus.FAILED, ERROR),
            ("sales", RunStatus.COMPLETED, None),
        ]
    ]
    async with open_studio(size=SMALL, namespace=namespace) as driver:
        await driver.press("3", "t")
        table = driver.app.screen.query_one(RecordTable)
        await driver.until(lambda: table.table is not None and table.table.num_rows == 3)
        await driver.press("o")
        assert table.table.column("pipeline").to_pylist() == ["orders", "orders", "sales"]
        await driver.press("right", "F")
        await driver.type("failed")
        await driver.press("enter")
        assert table.table.column("error").to_pylist() == ["no file 'x'"]
        await driver.press("enter")
        await shown(driver, runs[1].run)


@pytest.mark.slow
@SIZES
async def test_expectations_show_their_trend(cdap, namespace, open_studio, size):
    for minute, nulls in enumerate((20, 310)):
        results = [
            RuleResult(
                "clean", "email is not null", RuleAction.COUNT, 1000, nulls, noun="nulls of email"
            ),
            RuleResult("clean", "id is unique", RuleAction.FAIL, 1000, 0),
        ]
        run = write_run(cdap, "people", namespace=namespace, starting=get_now() + minute * 1000)
        run.expectations = results
        change(cdap, run)
    plain = write_run(cdap, "plain", namespace=namespace)
    async with open_studio(size=size, namespace=namespace) as driver:
        driver.app.navigate(RunTarget(run.run))
        await shown(driver, run.run)
        await driver.press("enter")
        await driver.press("right_square_bracket")
        await driver.settled()
        table = driver.app.screen.query_one(ExpectationTable)
        assert table.has_focus
        assert [cell.plain for cell in table.get_row_at(0)] == [
            "clean",
            "email is not null",
            "✗ 31 % (310 of 1,000)",
            "▁▃",
            "↑ from 2 %",
        ]
        assert table.get_row_at(1)[2].plain == "✓ held"
        driver.app.navigate(RunTarget(plain.run))
        await shown(driver, plain.run)
        assert driver.app.screen.query_one(TabbedContent).active == "stages"


@pytest.mark.slow
@SIZES
async def test_alerts_are_listed_and_lead_to_the_log_of_their_stage(
    cdap, namespace, open_studio, size
):
    counts = {"In": StageCounts(0, 9, 0), "young": StageCounts(9, 9, 0, alerts=3)}
    run = write_run(cdap, "people", namespace=namespace, stages=counts)
    write_alerts(cdap, run.run, "young", {"name": "ada"}, {"name": "b\x1bob", "age": "7"})
    write_log(cdap, run.run, [StoredLogLine(1, 0, "INFO", "saw ada", "young")])
    plain = write_run(cdap, "plain", namespace=namespace)
    plain.altered.append(AlteredValues("In", "numbers were rounded", 2, "1.5"))
    change(cdap, plain)
    async with open_studio(size=size, namespace=namespace) as driver:
        driver.app.navigate(RunTarget(run.run))
        await shown(driver, run.run)
        await driver.press("enter")
        assert driver.app.screen.query_one(StageTable).get_row_at(1)[4].plain == "3 alerts"
        await driver.press("right_square_bracket")
        await driver.settled()
        table = driver.app.screen.query_one(AlertTable)
        await driver.until(lambda: table.row_count == 3)
        assert table.has_focus
        tabs = driver.app.screen.query_one(TabbedContent)
        assert tabs.get_tab("alerts").label_text == "Alerts 3"
        rows = [[cell.plain for cell in table.get_row_at(n)] for n in range(3)]
        assert rows[0] == ["young", "name=ada"]
        assert "\x1b" not in rows[1][1]
        assert rows[1][1].endswith("age=7")
        assert rows[2] == ["…", "1 alert more, which are not kept"]
        await driver.press("enter")
        await driver.settled()
        assert tabs.active == "log"
        assert driver.app.screen.query_one(RunLog).stage == "young"
        driver.app.navigate(RunTarget(plain.run))
        await shown(driver, plain.run)
        assert not tabs.get_tab("alerts").display
        cells = driver.app.screen.query_one(StageTable).get_row_at(0)
        assert cells[4].plain == "2 altered values"
