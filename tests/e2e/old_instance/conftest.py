"""The instance of ``tests/data``, unpacked at another place than it was made at, for each module of tests."""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.client import connect
from localcdap.cli.main import run
from localcdap.host.cdap import Cdap
from tests.conftest import REPOSITORY

ARCHIVE = REPOSITORY / "tests" / "data" / "instance_2c7034be.tar.xz"
MADE_AT = "/tmp/orders/home"  # noqa: S108 — where it was made, not where it is
TIMES = ["1969-12-31T23:59:59", "2026-03-29T02:30:00", "1582-10-04T00:00:00", "2262-04-11T23:47:16"]
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, engine_directory: Path) -> Iterator[Path]:
    """The folder of the unpacked instance, and the environment of its user."""
    place = tmp_path_factory.mktemp("old")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(place, filter="data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCALCDAP_ENGINE_DIRECTORY", str(engine_directory))
        patch.setenv("XDG_STATE_HOME", str(place / "state"))
        patch.setenv("XDG_CONFIG_HOME", str(place / "config"))
        patch.setenv("TZ", "UTC")
        yield place / "home"


@pytest.fixture(scope="module")
def cdap(home: Path) -> Iterator[Cdap]:
    """The services of its host, a process of its own."""
    with connect(home) as services:
        yield services


@pytest.fixture(scope="module")
def ask(home: Path, cdap: Cdap) -> Ask:
    """Runs a command with ``--json`` and returns its document; ``code`` is the exit code to expect."""
    del cdap  # its host answers the commands

    def ask(*arguments: str, code: int = 0) -> Any:
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            found = run([*arguments, "--home", str(home), "--json"])
        assert found == code, output.getvalue() + errors.getvalue()
        return json.loads(output.getvalue())

    return ask


@pytest.fixture(scope="module")
def runs(ask: Ask) -> dict[str, Any]:
    """The newest run of each pipeline that the instance was packed with."""
    return {each["pipeline"]: each for each in reversed(ask("runs")) if each["user"] == "ada"}


def read_rows(ask: Ask, table: str, *options: str) -> list[list[Any]]:
    return sorted(ask("tables", table, *options)["rows"], key=lambda row: str(row[0]))


def check_tables(ask: Ask) -> None:
    """Check the rows of the tables that the pipelines write."""
    assert read_rows(ask, "readings") == [
        [1, "north", 3.5, True, 2],
        [3, "east", 40.0, True, 4],
        [4, "west", None, False, 5],
    ]
    assert read_rows(ask, "stamps") == [
        [1 + i, time, f"{1.25 * (i + 1):.2f}", (i + 1) / 4] for i, time in enumerate(TIMES)
    ]
    assert [row[1] for row in read_rows(ask, "times")] == [f"{time}Z" for time in TIMES]
    assert read_rows(ask, "items", "-n", "team") == [["BREAD", 4], ["CHEESE", 2]]
    assert read_rows(ask, "shop.units") == [["kg", 1]]
