"""The pytest plugin: fixtures for tests of plugins and applications.

Each fixture imports what it needs when it is used.

``cdap_pipeline``
    a :class:`~localcdap.testing.pipeline.PipelineTester` in a temporary folder, on local Spark.
``cdap_spark``
    a Spark session, for :func:`localcdap.testing.run_stage`.
``cdap_instance``
    a :class:`~localcdap.testing.instance.TemporaryInstance`, on the same Spark.
``cdap_app``
    makes an :class:`~localcdap.testing.apps.AppTester` of a system application, without any process.
``cdap_structured_tables``
    :class:`~localcdap.store.structured.admin.StructuredTables` in a temporary file: ``admin`` makes tables,
    ``transactions`` runs bodies on them, as the service of a system application finds both.
``cdap_engine``, ``cdap_engine_directory``
    the Spark server of these fixtures, and its directory.

All tests of a session share one Spark server, which is started when the first test needs it and stopped at
the end of the session. When ``$LOCALCDAP_ENGINE_DIRECTORY`` is set, the server of that directory is used and
continues until it is idle, so that the next session finds it warm.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from localcdap.api.app import SystemApplication
    from localcdap.engine.endpoint import Endpoint
    from localcdap.store.structured.admin import StructuredTables
    from localcdap.testing.apps import AppTester
    from localcdap.testing.instance import TemporaryInstance
    from localcdap.testing.pipeline import PipelineTester

_DIRECTORY: Final = "LOCALCDAP_ENGINE_DIRECTORY"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "spark: needs local Spark, whose first start takes seconds")


@pytest.fixture(scope="session")
def cdap_engine_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory of the Spark server, also for tests that start localcdap as a program.

    Programs find it in the environment.
    """
    shared = os.environ.get(_DIRECTORY)
    if shared:
        yield Path(shared)
        return
    from localcdap.engine.local.server import EngineServer
    from localcdap.processes.single_instance import are_leases_held, hold_lease

    base = tmp_path_factory.getbasetemp()
    # Each worker of pytest-xdist has a folder; the server is shared in their common parent.
    directory = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "engine"
    os.environ[_DIRECTORY] = str(directory)
    server = EngineServer(directory)
    # Keeps the server running between two programs of this session, when another session ends.
    with hold_lease(server.leases):
        yield directory
    del os.environ[_DIRECTORY]
    if not are_leases_held(server.leases):
        server.stop()


@pytest.fixture(scope="session")
def cdap_engine(cdap_engine_directory: Path) -> Iterator[Endpoint]:
    """The running Spark server, leased until the end of the session."""
    from localcdap.engine.local.server import EngineServer
    from localcdap.processes.single_instance import hold_lease

    server = EngineServer(cdap_engine_directory)
    with hold_lease(server.leases):
        yield server.ensure()


@pytest.fixture(scope="session")
def cdap_spark(cdap_engine: Endpoint) -> Iterator[SparkSession]:
    """A session on the Spark server."""
    from localcdap.engine.session import open_session

    with open_session(cdap_engine) as spark:
        yield spark


@pytest.fixture
def cdap_pipeline(cdap_spark: SparkSession, tmp_path: Path) -> PipelineTester:
    """A pipeline tester; relative paths are relative to ``tmp_path``."""
    from localcdap.testing.pipeline import PipelineTester

    return PipelineTester(cdap_spark, tmp_path)


@pytest.fixture
def cdap_instance(
    cdap_engine_directory: Path,  # noqa: ARG001 - the instance finds it in the environment
    tmp_path: Path,
) -> Iterator[TemporaryInstance]:
    """An instance of localcdap in a temporary folder, empty except for the shipped plugins."""
    from localcdap.testing.instance import TemporaryInstance

    with TemporaryInstance(tmp_path / "home") as instance:
        yield instance


@pytest.fixture
def cdap_app(tmp_path: Path) -> Iterator[Callable[[type[SystemApplication]], AppTester]]:
    """A function that deploys the class of a system application in a new database."""
    from localcdap.testing.apps import AppTester

    with contextlib.ExitStack() as testers:

        def deploy(app: type[SystemApplication]) -> AppTester:
            folder = tmp_path / "apps" / app.__qualname__
            return testers.enter_context(AppTester(app, folder))

        yield deploy


@pytest.fixture
def cdap_structured_tables(tmp_path: Path) -> Iterator[StructuredTables]:
    """Structured tables in a new database."""
    from localcdap.store.structured.admin import StructuredTables
    from localcdap.testing.instance import open_new_store

    with open_new_store(tmp_path / "structured-tables" / "localcdap.duckdb") as store:
        tables = StructuredTables(store)
        yield tables
        tables.close()
