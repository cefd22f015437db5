"""The log widget on real logs, in an app of its own around it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from localcdap.engine.messages.spool import RunStatus
from localcdap.host.cdap import Cdap
from localcdap.runs.logs import LogFilter
from localcdap.runs.model import StoredLogLine
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.dialogs.dialog_screen import TextDialog
from localcdap.tui.log.layout import save_log
from localcdap.tui.log.run_log import RunLog
from tests.runs.stored_runs import change, write_log, write_long_log, write_run
from tests.tui.studio_driver import Driver


class LogScreen(AreaScreen):
    AREA = "runs"

    def __init__(self, run: str) -> None:
        super().__init__()
        self._run = run

    def compose_body(self):
        yield RunLog(self._run)


@pytest.fixture
def open_log(open_studio):
    @contextlib.asynccontextmanager
    async def open_log(run: str, **options) -> AsyncIterator[tuple[Driver, RunLog]]:
        async with open_studio(**options) as driver:
            await driver.app.push_screen(LogScreen(run))
            log = driver.app.screen.query_one(RunLog)
            await driver.until(lambda: log.summary.levels or log.is_ended)
            await driver.settled()
            log.view.focus()
            await driver.settled()
            yield driver, log

    return open_log


def lines(count: int, level: str = "INFO", stage: str | None = None, start: int = 1):
    return [StoredLogLine(n, n, level, f"line {n}", stage) for n in range(start, start + count)]


def texts(log: RunLog) -> list[str]:
    return [line.text for line in log.view.visible_lines]


async def test_the_view_follows_until_the_user_scrolls_up(cdap: Cdap, open_log) -> None:
    run = write_run(cdap, status=RunStatus.RUNNING)
    write_log(cdap, run.run, lines(100))
    async with open_log(run.run) as (driver, log):
        assert texts(log)[-1] == "line 100"
        write_log(cdap, run.run, lines(20, start=101))
        await driver.until(lambda: texts(log)[-1] == "line 120")
        await driver.press("up")
        assert not log.view.follows
        seen = texts(log)
        write_log(cdap, run.run, lines(20, start=121))
        await driver.until(lambda: log.view.count == 140)
        assert texts(log) == seen
        assert log.view.line.text == "line 119"
        await driver.press("G")
        assert log.view.follows
        write_log(cdap, run.run, lines(1, start=141))
        await driver.until(lambda: texts(log)[-1] == "line 141")
        run.status = RunStatus.COMPLETED
        change(cdap, run)
        await driver.until(lambda: log.is_ended)


async def test_the_view_follows_in_a_terminal_that_changes_its_size(cdap: Cdap, open_log) -> None:
    run = write_run(cdap, status=RunStatus.RUNNING)
    write_log(cdap, run.run, [*lines(60), StoredLogLine(61, 61, "ERROR", "trace\n" * 10, "S")])
    async with open_log(run.run, size=(80, 24)) as (driver, log):
        for size in ((80, 40), (80, 20), (120, 30)):
            await driver.resize(*size)
            assert log.view.follows
            assert log.view._screen[-1][0] == 60


async def test_every_line_can_be_reached(cdap: Cdap, open_log) -> None:
    run = write_run(cdap).run
    write_log(cdap, run, [*lines(60), StoredLogLine(61, 61, "ERROR", "trace\n" * 10, "S")])
    async with open_log(run, size=(80, 24)) as (driver, log):
        assert log.view._screen[-1][0] == 60
        await driver.press("g")
        assert texts(log)[0] == "line 1"
        seen: set[str] = set()
        for _ in range(60):
            seen.update(texts(log))
            log.view.action_cursor(1)
        await driver.press("j")
        assert log.view.cursor == 60
        assert len(seen | set(texts(log))) == 61
        await driver.press("pageup", "pageup")
        assert log.view.cursor <= 40


@pytest.mark.slow
async def test_only_pages_of_a_million_lines_are_loaded(cdap: Cdap, open_log) -> None:
    run = write_run(cdap).run
    write_long_log(cdap, run, 1_000_000)
    async with open_log(run) as (driver, log):
        assert texts(log)[-1] == "text of line 1000000"
        view = log.view
        for row in range(0, 1_000_000, 70_000):
            view.go_to(row)
            await driver.settled()
            assert view.line.text == f"text of line {row + 1}"
        assert len(view._rows._pages) <= 12
        assert len(view._laid_out) <= 501
        log.level = "WARNING"
        await driver.until(lambda: view.count == 100_000)
        await driver.settled()
        assert view.line.number % 10 == 0
        await driver.press("slash")
        driver.app.screen.query_one("#log-input").value = "line 456"
        await driver.type("7")
        await driver.press("enter")
        assert view.line.text == "text of line 45670"
        await driver.press("n")
        assert view.line.text == "text of line 456700"
        await driver.press("N", "N")
        assert view.line.text == "text of line 456790"
        await driver.press("escape")
        assert view.search == ""


async def test_filters_keep_the_cursor_on_its_line(cdap: Cdap, open_log) -> None:
    run = write_run(cdap).run
    write_log(cdap, run, [*lines(50, stage="A"), *lines(50, "ERROR", "B", 51)])
    async with open_log(run) as (driver, log):
        log.view.go_to(70)
        log.show_stage("B")
        await driver.until(lambda: log.view.count == 50)
        await driver.settled()
        assert log.view.line.text == "line 71"
        await driver.press("s")
        await driver.type("all")
        await driver.press("enter")
        await driver.until(lambda: log.view.count == 100)
        await driver.settled()
        assert log.view.line.text == "line 71"


async def test_control_characters_are_escaped_on_the_screen_and_in_copies(
    cdap: Cdap, open_log
) -> None:
    run = write_run(cdap).run
    garbage = "\x1b]0;owned\x07\x1b[2Jsafe\x00 \u202e[bold]markup[/] " + "x" * 300
    write_log(cdap, run, [StoredLogLine(1, 1, "\x1b[31mODD", garbage, "st\x1b[31mage\n2")])
    for size in ((20, 10), (160, 48)):
        async with open_log(run, size=size) as (driver, log):
            drawn = "\n".join(strip.text for _, strip in log.view._screen)
            assert "\x1b" not in drawn
            assert "safe\\x00 \\u202e[bold]markup[/]" in drawn.replace("\n", "") or size[0] == 20
            await driver.press("y")
            assert "\x1b" not in driver.app.clipboard
            assert "safe\\x00" in driver.app.clipboard
            await driver.press("w")
            assert not log.view.wraps
            await driver.press("right")
            assert log.view.scroll_offset.x == 8
            await driver.press("enter")
            assert isinstance(driver.app.screen, TextDialog)
            await driver.press("escape")


async def test_an_empty_log(cdap: Cdap, open_log) -> None:
    async with open_log(write_run(cdap).run) as (driver, log):
        await driver.press("g", "G", "j", "k", "n", "y", "Y", "enter", "slash", "s", "w", "f")
        assert texts(log) == []
        assert log.explain_disabled("search") == "the log has no lines"


def test_saving(cdap: Cdap, tmp_path: Path) -> None:
    run = write_run(cdap).run
    write_log(cdap, run, [*lines(1200), StoredLogLine(1201, 1, "ERROR", "y" * 20_000 + "\x1b[0m")])
    assert save_log(cdap, run, LogFilter(), tmp_path / "all.log") == 1201
    written = (tmp_path / "all.log").read_text().splitlines()
    assert len(written) == 1201
    assert written[-1].endswith("ERROR   " + "y" * 20_000)
    assert save_log(cdap, run, LogFilter("ERROR"), tmp_path / "errors.log") == 1
