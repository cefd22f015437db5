"""The studio as a client of the host, and what it does when that goes."""

from __future__ import annotations

import os

import pytest

from localcdap.home import Home
from localcdap.tui.app import StudioApp
from localcdap.tui.dialogs.dialog_screen import OpenFailedDialog
from localcdap.tui.service_calls import HostConnection
from tests.tui.other_host import OtherHost
from tests.tui.studio_driver import LARGE, Driver


@pytest.fixture
def own_home(tmp_path):
    return Home(tmp_path / "instance")


@pytest.fixture
def host(own_home):
    other = OtherHost(own_home)
    yield other
    other.leave()


class Opened:
    """The studio as a person opens it, with a connection of its own."""

    def __init__(self, home):
        self.connection = HostConnection(home)
        self.app = StudioApp(self.connection)

    async def __aenter__(self):
        self._test = self.app.run_test(size=LARGE)
        return Driver(self.app, await self._test.__aenter__())

    async def __aexit__(self, *error):
        await self._test.__aexit__(*error)
        self.connection.close()
        self.app.calls.shut_down(5)


async def test_the_studio_is_a_client(own_home, host):
    async with Opened(own_home) as driver:
        await driver.until(lambda: driver.app.connected)
        await driver.settled()

        assert driver.app.host_pid == host.pid
        assert "plugins" in str(driver.app.screen.query_one("#home-title").render())


@pytest.mark.slow
async def test_when_the_host_is_killed_the_studio_starts_another_one_and_says_so(own_home, host):
    async with Opened(own_home) as driver:
        await driver.until(lambda: driver.app.connected)
        host.kill()
        await driver.until(lambda: driver.app.host_pid != host.pid)

        assert driver.app.host_pid != os.getpid()
        reported = [notice.title for notice in driver.app.notices.newest_first]
        assert f"Process {host.pid}, the host of the instance, has ended." in reported
        assert not [n for n in driver.app.notices.newest_first if n.severity == "error"]
        driver.app.screen.reload()
        await driver.settled()


@pytest.mark.slow
async def test_wrong_settings_are_reported_and_can_be_repaired(own_home):
    own_home.path.mkdir()
    own_home.settings_file.write_text("engine.coers = 2\n")
    async with Opened(own_home) as driver:
        await driver.until(lambda: isinstance(driver.app.screen, OpenFailedDialog))
        shown = " ".join(str(each.render()) for each in driver.app.screen.query("Static"))
        assert "localcdap.toml:1: unknown setting 'engine.coers'" in shown

        await driver.pilot.press("r")
        await driver.until(lambda: isinstance(driver.app.screen, OpenFailedDialog))
        own_home.settings_file.write_text("engine.cores = 2\n")
        await driver.pilot.press("r")
        await driver.until(lambda: driver.app.connected)

        assert not driver.app.notices.newest_first


async def test_a_studio_that_cannot_be_opened_can_be_left(own_home):
    own_home.path.write_text("a file where the folder should be")
    async with Opened(own_home) as driver:
        await driver.until(lambda: isinstance(driver.app.screen, OpenFailedDialog))
        await driver.pilot.press("e")  # nothing to edit
        await driver.pilot.press("q")
        await driver.until(lambda: driver.app.return_code is not None)

        assert driver.app.return_code == 1


@pytest.mark.slow
async def test_settings_are_put_in_force_by_opening_the_instance_again(own_home):
    async with Opened(own_home) as driver:
        await driver.until(lambda: driver.app.connected)
        await driver.settled()
        await driver.press("comma")
        await driver.until(lambda: driver.app.screen._rows)
        await driver.press("slash")
        await driver.type("required.cap")
        await driver.press("enter", "enter")
        driver.app.screen.query_one("#dialog-input").value = "pii"
        await driver.press("enter")
        assert 'capabilities = ["pii"]' in own_home.settings_file.read_text()
        assert len(driver.app.connection.cdap.artifacts.list_plugins("default")) > 10

        await driver.press("a")
        await driver.until(lambda: driver.app.connected)
        await driver.settled()

        assert driver.app.connection.cdap.artifacts.list_plugins("default") == []


@pytest.mark.slow
async def test_settings_wait_while_others_use_the_host(own_home, host):
    async with Opened(own_home) as driver:
        await driver.until(lambda: driver.app.connected)
        await driver.settled()
        await driver.press("comma")
        await driver.until(lambda: driver.app.screen._rows)
        driver.app.screen._is_changed = True

        await driver.press("a")
        await driver.until(lambda: driver.app.notices.newest_first)
        await driver.settled()

        (notice,) = driver.app.notices.newest_first
        assert "keeps its settings" in notice.title
        assert "the program that opened the instance" in notice.detail
        assert driver.app.connected
        assert driver.app.host_pid == host.pid
        assert driver.app.screen._is_changed
