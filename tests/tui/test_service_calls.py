"""Calls of services from widgets."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from textual.widgets import Static

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.tui.studio import StudioNode


class Asking(StudioNode, Static):
    """A widget that calls services."""


@pytest.fixture
def asking(open_studio):
    """A widget in an open studio, and the studio."""

    class Opened:
        async def __aenter__(self):
            self.studio = open_studio()
            driver = await self.studio.__aenter__()
            widget = Asking()
            await driver.app.screen.mount(widget)
            return driver, widget

        async def __aexit__(self, *error):
            await self.studio.__aexit__(*error)

    return Opened


async def test_a_call_is_made_in_a_thread_and_answered_on_the_screens(asking):
    async with asking() as (driver, widget):
        seen = []
        widget.call(
            lambda cdap: (cdap.namespaces.exists("default"), threading.get_ident()),
            lambda answer: seen.append((answer, threading.get_ident())),
        )
        assert seen == []
        await driver.settled()

        (exists, made_in), answered_in = seen[0]
        assert exists is True
        assert answered_in == threading.get_ident() != made_in


async def test_the_screen_goes_on_while_a_call_takes_its_time(asking):
    async with asking() as (driver, widget):
        going_on = threading.Event()
        widget.call(lambda cdap: going_on.wait(60), group="slow")
        await driver.pilot.press("7")
        await driver.pilot.pause()
        assert driver.app.current_mode == "namespaces"
        assert driver.app.calls.pending_count
        await driver.until(lambda: driver.app.busy)
        going_on.set()
        await driver.settled()


async def test_of_a_group_the_newest_answer_counts(asking):
    async with asking() as (driver, widget):
        made, answered = [], []
        first = threading.Event()

        def ask(number):
            def work(cdap):
                made.append(number)
                if number == 0:
                    first.wait(60)
                return number

            widget.call(work, answered.append, group="list")

        for number in range(5):
            ask(number)
        await driver.until(lambda: made)
        first.set()
        await driver.settled()

        assert made == [0, 4]  # those between were replaced while they waited
        assert answered == [4]


async def test_ordered_calls_are_all_made_and_answered_in_their_order(asking):
    async with asking() as (driver, widget):
        answered = []
        for number in range(30):
            widget.call(lambda cdap, n=number: n, answered.append, group="edits", ordered=True)
        await driver.settled()

        assert answered == list(range(30))


async def test_what_is_forgotten_is_not_answered(asking):
    async with asking() as (driver, widget):
        going_on, answered = threading.Event(), []
        widget.call(lambda cdap: going_on.wait(60), answered.append, group="list")
        widget.discard_results("list")
        going_on.set()
        await driver.settled()

        assert answered == []


async def test_a_widget_that_has_gone_gets_no_answer(asking):
    async with asking() as (driver, widget):
        going_on, answered = threading.Event(), []
        widget.call(lambda cdap: going_on.wait(60), answered.append)
        await widget.remove()
        going_on.set()
        await driver.settled()

        assert answered == []


async def test_an_error_is_reported_with_what_to_do(asking):
    async with asking() as (driver, widget):

        def work(cdap):
            raise BadRequestError("This is [wrong].", "Do that.")

        widget.call(work)
        await driver.settled()

        notice = driver.app.notices.newest_first[0]
        assert (notice.title, notice.detail, notice.severity) == (
            "This is [wrong].",
            "Do that.",
            "error",
        )


async def test_an_error_goes_to_who_takes_it(asking):
    async with asking() as (driver, widget):
        taken = []
        widget.call(lambda cdap: cdap.namespaces.describe("nothing"), on_error=taken.append)
        await driver.settled()

        assert isinstance(taken[0], NotFoundError)
        assert len(driver.app.notices) == 0


async def test_an_error_of_a_call_that_a_worker_awaits_is_a_notice_and_the_studio_goes_on(asking):
    async with asking() as (driver, widget):

        async def ask():
            await widget.call_and_wait(lambda cdap: cdap.namespaces.describe("missing"))

        widget.run_worker(ask())
        await driver.settled()

        (notice,) = driver.app.notices.newest_first
        assert (notice.severity, "missing" in notice.title) == ("error", True)
        assert driver.app.is_running


async def test_a_fault_leaves_a_report_and_the_studio_goes_on(asking, home):
    async with asking() as (driver, widget):
        widget.call(lambda cdap: 1 / 0, on_error=lambda error: None)
        await driver.settled()

        notice = driver.app.notices.newest_first[0]
        reports = list(home.reports.iterdir())
        assert any(str(report) in notice.detail for report in reports)
        assert "ZeroDivisionError" in max(reports).read_text()
        await driver.press("7")
        assert driver.app.current_mode == "namespaces"


async def test_items_of_a_source_come_in_order_and_signs_of_life_do_not(asking):
    async with asking() as (driver, widget):
        seen = []

        def source(cdap):
            for number in range(50):
                yield number
                yield None

        widget.follow(source, seen.append)
        await driver.until(lambda: len(seen) == 50)

        assert seen == list(range(50))


async def test_a_source_waits_behind_the_screen(asking):
    async with asking() as (driver, widget):
        made = []

        def source(cdap):
            for number in range(10_000):
                made.append(number)
                yield number

        def slow(number):
            time.sleep(0.02)

        following = widget.follow(source, slow)
        while len(made) <= 8:  # the studio never comes to rest
            await asyncio.sleep(0.01)
        assert len(made) < 100
        following.stop()


async def test_a_source_ends_with_its_widget(asking):
    async with asking() as (driver, widget):
        ended = threading.Event()

        def source(cdap):
            try:
                while True:
                    time.sleep(0.01)
                    yield None
            finally:
                ended.set()

        widget.follow(source, lambda _: None)
        await widget.remove()

        await driver.until(ended.is_set)


async def test_a_source_that_fails_is_opened_again_and_reported_the_second_time(
    asking, monkeypatch
):
    monkeypatch.setattr("localcdap.tui.service_calls._RETRY_S", 0.01)
    async with asking() as (driver, widget):
        opened, seen = [], []

        def source(cdap):
            opened.append(1)
            if len(opened) < 4:
                raise NotFoundError("gone")
            yield len(opened)

        widget.follow(source, seen.append)
        await driver.until(lambda: seen)

        assert seen == [4]
        assert [notice.title for notice in driver.app.notices.newest_first] == ["gone"]
