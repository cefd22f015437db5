"""One instance and one server for all tests of a module; requests reach the application without a socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.home import Home
from localcdap.host import Cdap, open_in_process
from localcdap.server.access import SiteCheck
from localcdap.server.rest.app import RequestAccess, RestApp
from localcdap.server.rest.table import build_router
from tests.server.rest.client import PORT, RestClient


@pytest.fixture(scope="module")
def home(
    tmp_path_factory: pytest.TempPathFactory,
    fresh_home: Callable[[Path], Path],
) -> Path:
    return fresh_home(tmp_path_factory.mktemp("rest") / "home")


@pytest.fixture(scope="module")
def cdap(home: Path, engine_directory: Path) -> Iterator[Cdap]:
    (home / "localcdap.toml").write_text(f'engine.directory = "{engine_directory}"\n')
    with open_in_process(Home(home)) as cdap:
        yield cdap


@pytest.fixture(scope="module")
def faults() -> list[str]:
    """What the server reports as its own faults."""
    return []


@pytest.fixture(scope="module")
def client(cdap: Cdap, faults: list[str]) -> Iterator[RestClient]:
    """A client of a server that takes requests without a token."""

    def report(error: BaseException, what: str) -> str:
        faults.append(f"{what}: {error!r}")
        return "the report"

    app = RestApp(cdap, SiteCheck(PORT), RequestAccess(None), build_router(), report)
    with RestClient(app) as client:
        yield client


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV file for the pipeline."""
    file = tmp_path_factory.mktemp("data") / "in.csv"
    file.write_text("id,price\n1,2.5\n1,1.0\n2,3.0\n")
    return file


@pytest.fixture
def pipeline() -> dict[str, Any]:
    """A pipeline as Data Fusion exports it: sums of a file into a table, the path a macro."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / "pipeline.json").read_text())
    return found
