"""A real instance for the tests of the studio, one for each module."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from localcdap.home import Home
from localcdap.host.cdap import Cdap, open_in_process
from tests.tui.studio_driver import Driver, at_rest, leave_unpainted, studio


@pytest.fixture(autouse=True)
def own_places(tmp_path_factory, monkeypatch):
    """Nothing of the user's own configuration is read or written, nor of another test's."""
    places = tmp_path_factory.mktemp("places")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(places / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(places / "state"))
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(autouse=True)
def no_naps(monkeypatch):
    """A pilot waits for what is done and drawn, instead of a while; nothing glides, and no cursor blinks."""
    monkeypatch.setattr("textual.app.wait_for_idle", at_rest)
    monkeypatch.setattr("textual.pilot.wait_for_idle", at_rest)
    monkeypatch.setattr("textual.pilot.Pilot._wait_for_screen", at_rest)
    monkeypatch.setattr("textual.screen.UPDATE_PERIOD", 1.0)
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr("textual.widgets.Input._toggle_cursor", lambda _: None)


@pytest.fixture(autouse=True)
def no_frames(monkeypatch):
    """No frame is painted for a terminal that nobody sees, which takes a third of the processor: a test that
    looks at the screen paints it (``_compositor.render_strips``, ``export_screenshot``), and
    :func:`tests.tui.studio_driver.studio` paints the last screen of each test.
    """
    monkeypatch.setattr("textual.screen.Screen._compositor_refresh", leave_unpainted)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, fresh_home: Callable[[Path], Path]) -> Home:
    return Home(fresh_home(tmp_path_factory.mktemp("studio-home")))


@pytest.fixture(scope="module")
def cdap(home: Home) -> Iterator[Cdap]:
    """The services of the module's instance, with the shipped plugins."""
    with open_in_process(home) as services:
        yield services


@pytest.fixture
def open_studio(cdap: Cdap, home: Home) -> Callable[..., AbstractAsyncContextManager[Driver]]:
    """``async with open_studio(size=…, namespace=…, target=…) as driver``"""
    return functools.partial(studio, cdap, home)
