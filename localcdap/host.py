"""The composition root: the services of an instance, built from its settings, and the way to them.

The first process that connects to an instance becomes its host: it opens the database, builds the
services and answers the calls of others. Later ones are its clients. When a host leaves, the next call
of a client finds the new one, or makes that client the host.

``python -m localcdap.host DIR`` is a host without a front end: it stays while runs are active or
clients are connected.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Final, TypeVar

from localcdap.api.errors import ConflictError, HostLostError
from localcdap.artifacts.service import ArtifactService
from localcdap.datasets.service import TableService
from localcdap.engine.host_tables import SERVICE as TABLE_EXPORTS
from localcdap.engine.server import EngineServer
from localcdap.home import Home, shipped_plugins
from localcdap.rpc.client import Client
from localcdap.rpc.election import HostSeat, elect
from localcdap.rpc.frames import Call
from localcdap.rpc.methods import remote_method
from localcdap.rpc.proxy import proxy
from localcdap.runs.processes import RunProcess
from localcdap.runs.service import RunService
from localcdap.sandbox.supervisor import PluginWorker
from localcdap.settings import Settings, load_settings
from localcdap.store.store import Store
from localcdap.studio.service import StudioService

_Service = TypeVar("_Service")
_LINGER_S: Final = 2.0
"""Seconds that a host without a front end stays when nobody needs it."""


class Cdap:
    """The services of an instance, wherever they run. Threads may share it."""

    def __init__(self, home: Home, *, expects_run: bool = False) -> None:
        self._link = _Link(home, expects_run=expects_run)

    @property
    def artifacts(self) -> ArtifactService:
        return self._link.service("artifacts", ArtifactService)

    @property
    def studio(self) -> StudioService:
        return self._link.service("studio", StudioService)

    @property
    def runs(self) -> RunService:
        return self._link.service("runs", RunService)

    @property
    def tables(self) -> TableService:
        return self._link.service("tables", TableService)

    @property
    def is_host(self) -> bool:
        """Whether the services run in this process."""
        return self._link.is_host

    def close(self) -> None:
        """Leave the instance. Runs go on."""
        self._link.close()


@contextlib.contextmanager
def connect(home: Home, *, expects_run: bool = False) -> Iterator[Cdap]:
    """Connect to an instance for the time of a block.

    :param expects_run: a run will be started soon; its process may load its libraries already.
    :raises SettingsError: when this process becomes the host and the settings are wrong.
    :raises StoreError: when the database cannot be used.
    :raises HostError: when the host does not answer.
    """
    cdap = Cdap(home, expects_run=expects_run)
    try:
        yield cdap
    finally:
        cdap.close()


def engine_server(home: Home, settings: Settings) -> EngineServer:
    """The local Spark server of an instance; needs no host."""
    return EngineServer(
        home.resolve(settings.engine_directory),
        cores=settings.engine_cores,
        memory=settings.engine_memory,
        idle_minutes=settings.engine_idle_minutes,
    )


class _Host:
    """The services themselves, in the process that has the seat."""

    def __init__(self, home: Home, seat: HostSeat, *, expects_run: bool = False) -> None:
        self._home = home
        self._seat = seat
        with contextlib.ExitStack() as undo:
            undo.callback(seat.close)
            settings = load_settings(home.settings_file)
            spare = RunProcess(home.runs) if expects_run else None
            if spare is not None:
                undo.callback(spare.cancel)
            self._worker = PluginWorker(settings.plugin_time_limit_s, settings.plugin_memory_mb)
            undo.callback(self._worker.close)
            self._worker.start()
            self._store = Store(home.database)
            undo.callback(self._store.close)
            artifacts = ArtifactService(
                self._store,
                self._worker,
                system_directory=shipped_plugins(),
                plugin_directories=[home.resolve(each) for each in settings.plugin_directories],
                cache=home.artifact_cache,
                required_capabilities=settings.plugin_required_capabilities,
            )
            studio = StudioService(artifacts, self._worker.configure)
            self._runs = RunService(
                self._store,
                studio,
                engine_server(home, settings),
                home=home.path,
                directory=home.runs,
                locations=settings.locations,
                counts=settings.engine_counts,
                spare=spare,
            )
            undo.callback(self._runs.close)
            tables = TableService(self._store)
            self.services: dict[str, object] = {
                "artifacts": artifacts,
                "studio": studio,
                "runs": self._runs,
                "tables": tables,
                TABLE_EXPORTS: tables,
            }
            artifacts.sync()
            self._runs.resume()
            seat.listen(self.services)
            undo.pop_all()

    @property
    def is_needed(self) -> bool:
        """Whether runs are active or clients connected."""
        return self._runs.are_active() or self._seat.connections > 0

    def answer(self, call: Call, service: type) -> Any:
        """Answer a call that was meant for another process."""
        method = remote_method(service, call.method)
        bound = getattr(self.services[call.service], call.method)
        return bound(**method.unpacked(call.arguments))

    def close(self) -> None:
        """Leave the seat; a host without a front end takes it while runs are active."""
        self._seat.stop_listening()
        active = self._runs.are_active()
        self._runs.close()
        self._worker.close()
        self._store.close()
        self._seat.close()
        if active:
            _start_background_host(self._home)


class _Link:
    """The way to the services of an instance: in this process, or in its present host."""

    def __init__(self, home: Home, *, expects_run: bool = False) -> None:
        self._home = home
        self._changing = threading.Lock()
        self._end: _Host | Client = self._elected(expects_run=expects_run)
        self._services: dict[str, type] = {}

    @property
    def is_host(self) -> bool:
        return isinstance(self._end, _Host)

    def service(self, name: str, service: type[_Service]) -> _Service:
        """The service itself in the host, else what calls it."""
        end = self._end
        if isinstance(end, _Host):
            found = end.services[name]
            assert isinstance(found, service)
            return found
        self._services[name] = service
        return proxy(self, name, service)

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any:
        """Make a call; one that a lost host left open is made again, unless it starts something."""
        end = self._end
        if isinstance(end, _Host):
            return end.answer(call, self._services[call.service])
        try:
            return end.call(call, result, timeout_s)
        except HostLostError:
            self._replace(end)
            if (call.service, call.method) == ("runs", "start"):
                raise
            return self.call(call, result, timeout_s)

    def close(self) -> None:
        with self._changing:
            self._end.close()

    def _replace(self, lost: Client) -> None:
        with self._changing:
            if self._end is lost:
                lost.close()
                self._end = self._elected()

    def _elected(self, *, expects_run: bool = False) -> _Host | Client:
        version = metadata.version("localcdap")
        end = elect(self._home.path, version)
        if isinstance(end, HostSeat):
            return _Host(self._home, end, expects_run=expects_run)
        if end.host.version != version:
            found, pid = end.host.version, end.host.pid
            end.close()
            raise ConflictError(
                f"Process {pid} has the instance at {self._home.path} open with localcdap {found}; "
                f"this is {version}.",
                "Close that one first.",
            )
        return end


def _host_command(home: Home) -> list[str]:
    return [sys.executable, "-m", "localcdap.host", str(home.path)]


def _start_background_host(home: Home) -> None:
    subprocess.Popen(
        _host_command(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _serve(home: Home) -> None:
    """Be the host until nobody needs one; do nothing when there is one."""
    end = elect(home.path, metadata.version("localcdap"))
    if isinstance(end, Client):
        end.close()
        return
    host = _Host(home, end)
    try:
        needed = time.monotonic()
        while time.monotonic() - needed < _LINGER_S:
            time.sleep(0.1)
            if host.is_needed:
                needed = time.monotonic()
    finally:
        host.close()


if __name__ == "__main__":
    _serve(Home(Path(sys.argv[1])))
