"""The way of a front end to the services of an instance, wherever they run."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from importlib import metadata
from typing import Any, TypeVar

from localcdap.api.errors import ConflictError, HostLostError
from localcdap.apps.service import AppService
from localcdap.artifacts.service import ArtifactService
from localcdap.datasets.service import TableService
from localcdap.datasets.sql import SqlService
from localcdap.datasets.transactions import (
    ADMIN,
    TRANSACTIONS,
    HostTransactionRunner,
    TransactionService,
)
from localcdap.engine.driver.secrets import CONNECTIONS
from localcdap.home import Home
from localcdap.host.host import Host
from localcdap.messaging.service import MessagingService
from localcdap.namespaces.connections import ConnectionService
from localcdap.namespaces.preferences import PreferenceService
from localcdap.namespaces.secure_keys import SecureKeyService
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.editing.service import EditingService
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.library.drafts import DraftService
from localcdap.pipeline.library.templates import TemplateService
from localcdap.pipeline.methods import MethodService
from localcdap.pipeline.service import StudioService
from localcdap.pipeline_tests.cases import CaseService
from localcdap.rpc.client import Client
from localcdap.rpc.frames import Call
from localcdap.rpc.host_lock import HostLock, connect_or_become_host
from localcdap.rpc.methods import get_remote_method, make_proxy
from localcdap.runs.debug.service import DebugService
from localcdap.runs.preview.service import PreviewService
from localcdap.runs.service import RunService
from localcdap.store.service import DatabaseService
from localcdap.store.structured.admin import TableAdmin

_Service = TypeVar("_Service")


class Cdap:
    """The services of an instance, wherever they run. Threads may share it."""

    def __init__(self, home: Home, *, expects_run: bool = False) -> None:
        self._link = _Link(home, expects_run=expects_run)
        self.transactions = HostTransactionRunner(
            lambda: self._link.service(TRANSACTIONS, TransactionService)
        )
        """Runs bodies of code as transactions on structured tables."""

    @property
    def artifacts(self) -> ArtifactService:
        return self._link.service("artifacts", ArtifactService)

    @property
    def studio(self) -> StudioService:
        return self._link.service("studio", StudioService)

    @property
    def editing(self) -> EditingService:
        return self._link.service("editing", EditingService)

    @property
    def applications(self) -> ApplicationService:
        return self._link.service("applications", ApplicationService)

    @property
    def templates(self) -> TemplateService:
        return self._link.service("templates", TemplateService)

    @property
    def drafts(self) -> DraftService:
        return self._link.service("drafts", DraftService)

    @property
    def runs(self) -> RunService:
        return self._link.service("runs", RunService)

    @property
    def previews(self) -> PreviewService:
        return self._link.service("previews", PreviewService)

    @property
    def cases(self) -> CaseService:
        return self._link.service("cases", CaseService)

    @property
    def debugging(self) -> DebugService:
        return self._link.service("debugging", DebugService)

    @property
    def apps(self) -> AppService:
        return self._link.service("apps", AppService)

    @property
    def methods(self) -> MethodService:
        return self._link.service("methods", MethodService)

    @property
    def tables(self) -> TableService:
        return self._link.service("tables", TableService)

    @property
    def sql(self) -> SqlService:
        return self._link.service("sql", SqlService)

    @property
    def structured_tables(self) -> TableAdmin:
        return self._link.service(ADMIN, TableAdmin)

    @property
    def messaging(self) -> MessagingService:
        return self._link.service("messaging", MessagingService)

    @property
    def database(self) -> DatabaseService:
        return self._link.service("database", DatabaseService)

    @property
    def namespaces(self) -> NamespaceService:
        return self._link.service("namespaces", NamespaceService)

    @property
    def preferences(self) -> PreferenceService:
        return self._link.service("preferences", PreferenceService)

    @property
    def connections(self) -> ConnectionService:
        return self._link.service(CONNECTIONS, ConnectionService)

    @property
    def secure_keys(self) -> SecureKeyService:
        return self._link.service("secure-keys", SecureKeyService)

    @property
    def is_host(self) -> bool:
        """Whether the services run in this process."""
        return self._link.is_host

    @property
    def host_pid(self) -> int:
        """The process in which the services run; another one after the host was lost."""
        return self._link.host_pid

    def close(self) -> None:
        """Leave the instance. Runs go on."""
        self.transactions.close()
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


class _Link:
    """The way to the services of an instance: in this process, or in its present host."""

    def __init__(self, home: Home, *, expects_run: bool = False) -> None:
        self._home = home
        self._changing = threading.Lock()
        self._end: Host | Client = self._elected(expects_run=expects_run)
        self._services: dict[str, type] = {}

    @property
    def is_host(self) -> bool:
        return isinstance(self._end, Host)

    @property
    def host_pid(self) -> int:
        end = self._end
        return os.getpid() if isinstance(end, Host) else end.host.pid

    def service(self, name: str, service: type[_Service]) -> _Service:
        """The service itself in the host, else what calls it."""
        end = self._end
        if isinstance(end, Host):
            found = end.by_name[name]
            assert isinstance(found, service)
            return found
        self._services[name] = service
        return make_proxy(self, name, service)

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any:
        """Make a call; one that a lost host left open is made again, unless it is to be made once."""
        end = self._end
        if isinstance(end, Host):
            return end.answer(call, self._services[call.service])
        try:
            return end.call(call, result, timeout_s)
        except HostLostError:
            self._replace(end)
            if get_remote_method(self._services[call.service], call.method).is_non_idempotent:
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

    def _elected(self, *, expects_run: bool = False) -> Host | Client:
        version = metadata.version("localcdap")
        end = connect_or_become_host(self._home.path, version)
        if isinstance(end, HostLock):
            return Host(self._home, end, expects_run=expects_run)
        if end.host.version != version:
            found, pid = end.host.version, end.host.pid
            end.close()
            raise ConflictError(
                f"Process {pid} has the instance at {self._home.path} open with localcdap {found}; "
                f"this is {version}.",
                "Close that one first.",
            )
        return end
