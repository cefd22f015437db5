"""Real data that scikit-learn ships, and what the tests of the analytics area have in common."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Static

from localcdap.apps.model import AppRequest
from localcdap.host.cdap import Cdap
from localcdap.tui.screens.analytics.screen import AnalyticsScreen
from tests.tui.screens.analytics.datasets import write_diabetes, write_tumours
from tests.tui.studio_driver import Driver

_numbers = itertools.count()


@pytest.fixture(scope="session")
def tumours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tumours(tmp_path_factory.mktemp("tumours") / "tumours.csv")


@pytest.fixture(scope="session")
def diabetes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_diabetes(tmp_path_factory.mktemp("diabetes") / "diabetes.csv")


@pytest.fixture
def namespace(cdap: Cdap) -> Iterator[str]:
    """One of its own for each test, which share an instance."""
    name = f"a{next(_numbers)}"
    cdap.namespaces.create(name)
    yield name
    for job in cdap.jobs.list_jobs(name):
        cdap.jobs.stop(job.id)


@pytest.fixture
def ask(cdap: Cdap, namespace: str) -> Callable[..., Any]:
    """Calls the application as other clients do."""

    def ask(method: str, path: str, body: Any = None) -> Any:
        request = AppRequest(method, f"/v2/contexts/{namespace}/{path}", {}, body)
        answer = cdap.apps.call("ModelManagementApp", request)
        assert answer.status == 200, answer.body
        return answer.body

    return ask


def shown(driver: Driver) -> str:
    """The details that the area shows."""
    screen = driver.app.screen_stack[0]
    assert isinstance(screen, AnalyticsScreen)
    return str(screen.query_one("#analytics-text", Static).render())
