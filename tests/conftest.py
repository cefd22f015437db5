"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from localcdap.engine.leases import are_held, lease
from localcdap.engine.server import Endpoint, EngineServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real pipelines, which lies beside the checkout; skips where it is absent."""
    folder = REPOSITORY.parent / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip("the corpus of real pipelines is not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def engine_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory of the one warm Spark server that all tests share, also those that start
    localcdap as a program: they find it in the environment."""
    shared = os.environ.get("LOCALCDAP_ENGINE_DIRECTORY")
    if shared:
        yield Path(shared)
        return
    base = tmp_path_factory.getbasetemp()
    # The workers of pytest-xdist have folders of their own in a common one.
    directory = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "engine"
    os.environ["LOCALCDAP_ENGINE_DIRECTORY"] = str(directory)
    yield directory
    del os.environ["LOCALCDAP_ENGINE_DIRECTORY"]
    server = EngineServer(directory)
    if not are_held(server.leases):
        server.stop()


@pytest.fixture(scope="session")
def engine(engine_directory: Path) -> Iterator[Endpoint]:
    """The running Spark server, which stays while the tests run, also those of another session."""
    server = EngineServer(engine_directory)
    with lease(server.leases):
        yield server.ensure()


@pytest.fixture(scope="session")
def spark(engine: Endpoint) -> Iterator[SparkSession]:
    """A session on the shared server."""
    from localcdap.engine.session import session

    with session(engine) as spark:
        yield spark
