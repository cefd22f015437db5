from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcdap.api.failures import ArtifactId
from localcdap.artifacts.directories.contents import compute_digest
from localcdap.artifacts.model import PluginRef
from localcdap.processes.fork_server import OwnedForkServer
from localcdap.sandbox import process
from localcdap.sandbox.pool import PluginWorker
from localcdap.sandbox.stage_configuration import ConfigureRequest
from tests.artifacts.authoring import write

MEMORY_MB = 256
TIME_LIMIT_S = 1.5
"""For plugins that hang; others have the time that a busy machine takes."""

HEAD = """
import os, sys, time, threading, ctypes, re
from localcdap.api import *
from localcdap.api.errors import *
"""
TAIL = """
@plugin(type="transform", name="P", description="A plugin.")
class P(Transform):
    class Config(PluginConfig):
        column: str = field(description="A field.", default="x")
        count: int = field(description="A number.", default=1)
        secret: str | None = field(description="Macros.", default=None, macro=True)
        schema: Schema | None = field(description="Output.", default=None)

    def configure(self, stage):
{body}

    def configure_connected(self, stage):
        stage.failures.add("connected")
"""

Request = Callable[..., ConfigureRequest]


@pytest.fixture
def request_of(tmp_path: Path) -> Request:
    """Writes a plugin with a body of ``configure`` (and code at import), and asks to configure it."""

    def request_of(body: str = "pass", at_import: str = "", name: str = "thing", **more):
        lines = "\n".join(f"        {line}" for line in body.splitlines())
        path = write(tmp_path / f"{name}-1.0.0.py", HEAD + at_import + TAIL.format(body=lines))
        artifact = ArtifactId(name, "1.0.0", "USER")
        ref = PluginRef(artifact, str(path), compute_digest(path), "transform", "P", f"{name}.P")
        return ConfigureRequest(ref, "stage 1", **{"properties": {}, **more})

    return request_of


@pytest.fixture(scope="module", autouse=True)
def own_fork_servers() -> Iterator[None]:
    """Each launcher has a fork server of its own, as in a host: these are the tests of both."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "OwnedForkServer", OwnedForkServer)
        yield


@pytest.fixture(scope="module")
def shared_worker() -> Iterator[PluginWorker]:
    """A worker for the tests of a module: what one does must not hurt the next."""
    worker = PluginWorker(60, MEMORY_MB)
    yield worker
    worker.close()


@pytest.fixture
def hurried(
    shared_worker: PluginWorker, monkeypatch
) -> Callable[[], contextlib.AbstractContextManager[None]]:
    """The worker has little time as long as this is used as a context."""

    @contextlib.contextmanager
    def hurried() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(shared_worker, "_time_limit_s", TIME_LIMIT_S)
            yield

    return hurried
