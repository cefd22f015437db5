"""Fixtures shared by all tests; those of Spark are what authors of plugins use, under short names."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from localcdap.engine.endpoint import Endpoint

# Rounds over all that was imported, and over each studio that is opened, would be a fifth of the time.
gc.freeze()
gc.set_threshold(50_000, 20, 100)

# Images of containers often forbid compiled modules. Each of the hundreds of processes that tests start would
# then compile all that it imports, which is more than half of the time that a command takes.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# `nohup` ignores SIGHUP and a shell's `&` SIGINT, and a process inherits what is ignored: without handlers
# here, no program that a test starts would end with its terminal, or when it is interrupted.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The Spark server runs for minutes and most queries once: HotSpot's second compiler would take
# a third of its processor time and not earn it. The first compiler alone gets a cache of 48 MB, which fills.
# One thread that collects garbage, in few rounds, takes a tenth less of the processor than several beside it.
# Another tenth is saved by a metaspace that holds Spark's classes from the start, since its growth causes
# collections, and by not verifying the bytecode, which javac and scalac have written.
os.environ.setdefault(
    "JAVA_TOOL_OPTIONS",
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -Xmn256m "
    "-XX:MetaspaceSize=300m -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)

# Tests start processes with a function of Python between fork and exec (a terminal of their own). Beside the
# connection to Spark, gRPC's handlers of forks would run in them, and print to the terminal or wait.
# gRPC reads the variable when it is imported; the processes themselves must not see it.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "false"
import grpc  # noqa: E402, F401

del os.environ["GRPC_ENABLE_FORK_SUPPORT"]

# What a test says must not hang on the speed of the machine, or on a seed: each run tries the same examples.
# `pytest --hypothesis-profile=search` tries others each time, and `full` as many as a test asks for.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("full", settings.get_profile("search"), derandomize=True, max_examples=50)
settings.register_profile("same", settings.get_profile("full"), max_examples=25)
settings.load_profile("same")

# The background hosts of hundreds of instances must not stay for a minute each.
os.environ["LOCALCDAP_HOST_IDLE_SECONDS"] = "5"

REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_collection(session: pytest.Session) -> None:
    """Let each worker of a whole run import another part of the tests first.

    Each needs all modules in the end. In a new clone it takes 17 s of the processor to compile them, and
    workers that go through them in the same order at the same time would all do that.
    """
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    is_whole = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if count == 1 or not is_whole:
        return
    paths = sorted(Path(__file__).parent.rglob("test_*.py"))
    start = len(paths) * int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw")) // count
    for path in paths[start:] + paths[:start]:
        name = ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
        # What cannot be imported, or skips itself, is reported when it is collected.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Halve the examples of each test that asks for a number of them, unless there is another profile.

    Nor does Hypothesis then read the constants of all modules of this repository, from which it takes values
    now and then: that takes 9 s of the processor in each worker, and the examples of a test would depend on
    the modules that other tests have imported.
    """
    if settings.get_current_profile_name() != "same":
        return
    providers.is_local_module_file = lambda _: False  # type: ignore[assignment, attr-defined]
    most = settings().max_examples
    for function in {getattr(item, "obj", None) for item in items}:
        asked = getattr(function, "_hypothesis_internal_use_settings", None)
        if asked is not None and asked.max_examples > most:
            half = max(most, asked.max_examples // 2)
            function._hypothesis_internal_use_settings = settings(asked, max_examples=half)


def pytest_sessionfinish() -> None:
    """Have the process end in order: DuckDB's module lists on the terminal what of it is still in use then.

    The threads of the last tests end within a second or so; those of an executor in a cycle, such as the one
    that PySpark makes for each query, when it is collected. What was frozen above would never be collected,
    nor anything in a cycle with it, such as the fixtures of a session. What is left is named before the list,
    which does not say where its objects come from.
    """
    gc.unfreeze()
    gc.collect()
    deadline = time.monotonic() + 60
    left = []
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and "_DummyThread" not in type(thread).__name__:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                left.append(f"the thread {thread.name} runs")
    if "localcdap.store.store" in sys.modules:
        from localcdap.store.store import Store

        stores = [each for each in gc.get_objects() if type(each) is Store]
        left += [f"the database {store.path} is open" for store in stores if not store._closed]
    if left:
        atexit.register(print, "After the last test:", *left, sep="\n", file=sys.stderr)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real pipelines, which lies beside the checkout; skips where it is absent."""
    folder = REPOSITORY.parent / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip("the corpus of real pipelines is not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def fresh_home() -> Callable[[Path], Path]:
    """Makes a folder one of an instance whose index knows the shipped plugins; returns the folder."""
    from localcdap.testing.instance import copy_known_instance

    def fresh_home(folder: Path) -> Path:
        copy_known_instance(folder)
        return folder

    return fresh_home


@pytest.fixture(scope="session", autouse=True)
def engine_directory(cdap_engine_directory: Path) -> Path:
    """The directory of the one warm Spark server that all tests share, whatever starts it first."""
    return cdap_engine_directory


@pytest.fixture(scope="session", autouse=True)
def shared_fork_servers(engine_directory: Path) -> Iterator[None]:
    """The instances of this process share a fork server of plugin workers."""
    from localcdap.sandbox import process
    from tests.shared_fork_servers import build_factory, close_shared_servers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "OwnedForkServer", build_factory())
        yield
    close_shared_servers()


@pytest.fixture(scope="session")
def engine(cdap_engine: Endpoint) -> Endpoint:
    """The running Spark server."""
    return cdap_engine


@pytest.fixture(scope="session")
def spark(cdap_spark: SparkSession) -> SparkSession:
    """A session on the shared server."""
    return cdap_spark
