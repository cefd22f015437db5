"""Access to the services of an instance for front ends, in this process or in the host's process."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from localcdap.api.errors import ConflictError, HostLostError, NotFoundError
from localcdap.home import Home
from localcdap.host.control import CONTROL, HostControl
from localcdap.host.service_table import SERVICES, ServiceEntry, ServiceTable
from localcdap.rpc.client import Client
from localcdap.rpc.frames import Call
from localcdap.rpc.host_lock import HostLock, connect_or_become_host, connect_to_host
from localcdap.rpc.host_record import compute_fingerprint
from localcdap.rpc.host_start import EXPECTS_RUN
from localcdap.rpc.methods import get_remote_method, make_proxy, repeat_at_next_host
from localcdap.version import VERSION

if TYPE_CHECKING:
    from localcdap.host.host import Host
    from localcdap.transactions.client import HostTransactionRunner

_S = TypeVar("_S")


class Cdap(ServiceTable):
    """The services of an instance, wherever they run. Threads may share it."""

    def __init__(self, home: Home, *, expects_run: bool = False, in_process: bool = False) -> None:
        self._link = _HostLink(home, expects_run=expects_run, in_process=in_process)
        self._runner: HostTransactionRunner | None = None
        self._runner_lock = threading.Lock()

    @property
    def transactions(self) -> HostTransactionRunner:
        """Runs functions as transactions on structured tables."""
        from localcdap.transactions.client import HostTransactionRunner

        with self._runner_lock:
            if self._runner is None:
                self._runner = HostTransactionRunner(lambda: self.transaction_service)
            return self._runner

    def get_service(self, entry: ServiceEntry[_S]) -> _S:
        """Return the service in the host process, elsewhere a proxy that calls the host."""
        return self._link.get_service(entry.name, entry.service)

    @property
    def is_host(self) -> bool:
        """Whether the services run in this process."""
        return self._link.is_host

    @property
    def host_pid(self) -> int:
        """The id of the process in which the services run; it changes when the host is lost."""
        return self._link.host_pid

    @contextlib.contextmanager
    def require_same_host(self, what: str) -> Iterator[None]:
        """Raise a clear error when the host is lost in a block that follows something kept in its memory.

        The calls of the block are repeated at the next host, which does not know it.

        :param what: what the host keeps, such as ``the preview``.
        :raises HostLostError: in place of a NotFoundError, when the host has changed.
        """
        pid = self.host_pid
        try:
            yield
        except NotFoundError as error:
            if self.host_pid == pid:
                raise
            raise HostLostError(
                f"The host of the instance (process {pid}) ended unexpectedly, and {what} with it.",
                f"Start {what} again.",
            ) from error

    def leave_host(self) -> list[str]:
        """Have the host end, so that the next connection starts one with the current settings.

        Runs go on. Close this connection afterwards.

        :returns: who else uses the host, which then stays.
        """
        return self._link.leave_host()

    def close(self) -> None:
        """Disconnect from the instance. Active runs continue."""
        if self._runner is not None:
            self._runner.close()
        self._link.close()


@contextlib.contextmanager
def connect(home: Home, *, expects_run: bool = False) -> Iterator[Cdap]:
    """Connect to an instance for the time of a block. A background host is started if there is none.

    :param expects_run: whether a run will start soon, so that its process can load its libraries already.
    :raises SettingsError: when the settings are wrong.
    :raises StoreError: when the database cannot be used.
    :raises HostError: when the host does not answer.
    """
    cdap = Cdap(home, expects_run=expects_run)
    try:
        yield cdap
    finally:
        cdap.close()


@contextlib.contextmanager
def open_in_process(home: Home) -> Iterator[Cdap]:
    """Open an instance in this process, for the time of a block: it is the host then.

    This is for tests and programs that embed localcdap, which share objects with the services. What other
    processes have in progress in the host is interrupted at the end of the block; front ends use
    :func:`connect`. When the instance has a host already, this process becomes a client.
    """
    cdap = Cdap(home, in_process=True)
    try:
        yield cdap
    finally:
        cdap.close()


class _HostLink:
    """The connection to the current host of an instance, which may be this process."""

    def __init__(self, home: Home, *, expects_run: bool, in_process: bool) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._endpoint: Host | Client = (
            _open_in_process(home) if in_process else _connect(home, expects_run=expects_run)
        )

    @property
    def is_host(self) -> bool:
        return not isinstance(self._endpoint, Client)

    @property
    def host_pid(self) -> int:
        end = self._endpoint
        return end.host.pid if isinstance(end, Client) else os.getpid()

    def get_service(self, name: str, service: type[_S]) -> _S:
        """Return the service itself in the host process, elsewhere a proxy that calls it.

        While privileges are checked, the host process gets an object that checks each call too.
        """
        end = self._endpoint
        if isinstance(end, Client):
            return make_proxy(self, name, service)
        found = end.by_name[name]
        assert isinstance(found, service)
        return end.checks.guard(found) if end.checks.are_enabled else found

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any:
        """Make a call; see :func:`localcdap.rpc.methods.repeat_at_next_host`."""
        service: type = SERVICES[call.service].service
        method = get_remote_method(service, call.method)
        lost: Client | None = None

        def make_call() -> Any:
            nonlocal lost
            end = self._endpoint
            assert isinstance(end, Client)
            try:
                return end.call(call, result, timeout_s)
            except HostLostError:
                lost = end
                self._replace(end)
                raise

        try:
            return repeat_at_next_host(method, make_call)
        except HostLostError as error:
            if lost is not None and error.was_sent and method.is_non_idempotent:
                raise _make_lost_error(lost, call) from error
            raise

    def leave_host(self) -> list[str]:
        """Have a host end that only this process uses; return who else does."""
        end = self._endpoint
        return (
            ask_to_leave(end, os.getpid(), keep_for_runs=False) if isinstance(end, Client) else []
        )

    def close(self) -> None:
        with self._lock:
            self._endpoint.close()

    def _replace(self, lost: Client) -> None:
        with self._lock:
            if self._endpoint is lost:
                lost.close()
                self._endpoint = _connect(self._home)


def _connect(home: Home, *, expects_run: bool = False) -> Client:
    """Connect to the host, a background process that is started if there is none.

    A host of another version or with other settings is replaced if nobody else uses it. A host that was there
    before looks at the plugin folders, as a new one does: its watcher may not have heard of a file yet that
    the user has just dropped.
    """
    fingerprint = compute_fingerprint(home.settings_file)
    options = [EXPECTS_RUN] if expects_run else []
    while True:
        client, is_new = connect_to_host(home.path, options)
        if is_new:
            return client
        record = client.host
        is_same = record.version == VERSION and record.fingerprint in ("", fingerprint)
        users = [] if is_same else ask_to_leave(client)
        if is_same or (users and record.version == VERSION):
            client.make_proxy(CONTROL, HostControl).look_again()
            return client
        client.close()
        if users:
            raise ConflictError(
                f"Process {record.pid} has the instance at {home.path} open with localcdap "
                f"{record.version}; this is version {VERSION}. It stays because of {', '.join(users)}.",
                "Close them, or wait until they have ended.",
            )


def ask_to_leave(
    client: Client, without_pid: int | None = None, *, keep_for_runs: bool = True
) -> list[str]:
    """Have a host end that nobody else needs; return who needs it."""
    try:
        return client.make_proxy(CONTROL, HostControl).leave(without_pid, keep_for_runs)
    except HostLostError:
        return []
    except NotFoundError:  # a host before 0.11
        return ["an older localcdap"]


def _open_in_process(home: Home) -> Host | Client:
    from localcdap.host.host import Host

    end = connect_or_become_host(home.path, VERSION)
    return Host(home, end) if isinstance(end, HostLock) else end


def _make_lost_error(lost: Client, call: Call) -> HostLostError:
    return HostLostError(
        f"The host of the instance (process {lost.host.pid}) ended in the call of {call.service}."
        f"{call.method}.",
        "The call may have taken effect: look before you repeat it, for example with 'localcdap runs'.",
    )
