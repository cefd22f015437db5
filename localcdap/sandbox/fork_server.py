"""The fork server of plugin workers: a process with loaded libraries that never runs user code.

Each worker is a fork of it, so that no artifact finds anything that another one has changed, and a new
worker costs milliseconds. It has one thread, because a fork copies only the thread that forks. It adopts
what the workers leave behind, and ends it with them. It ends when the host closes the connection or ends,
and takes all workers and their descendants with it.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Final, NoReturn

from localcdap.processes.limits import adopt_orphans, end_with_parent
from localcdap.processes.tree import end_adopted, end_group
from localcdap.rpc.methods import get_remote_method, list_method_names
from localcdap.rpc.peer import answer_calls
from localcdap.sandbox.jobs import prepare_job
from localcdap.sandbox.plugin_methods import call_method
from localcdap.sandbox.process_guard import ProcessGuard
from localcdap.sandbox.sample_artifact import rehearse
from localcdap.sandbox.worker import WorkerService, serve

FORK_SERVICE: Final = "workers"
"""The name under which the host calls :class:`WorkerForkService`."""
_END_LIMIT_S: Final = 5.0
"""Seconds within which the descendants of a worker are ended; only one that forks all the time takes long."""


class WorkerForkService:
    """The service that the fork server offers to the host.

    :param connection: descriptor of the host's connection, which workers must not keep.
    :param channel: the socket on which descriptors arrive.
    """

    def __init__(self, connection: int, channel: socket.socket) -> None:
        self._connection = connection
        self._channel = channel
        self._guard = ProcessGuard()
        self._workers: set[int] = set()

    def fork(self, memory_mb: int) -> int:
        """Fork a worker, and return its process id.

        Its connection and its output must have been sent on the channel.
        """
        _, descriptors, _, _ = socket.recv_fds(self._channel, 1, 2)
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            self._become_worker(parent, descriptors[0], descriptors[1], memory_mb)
        for descriptor in descriptors:
            os.close(descriptor)
        self._workers.add(pid)
        return pid

    def end(self, pid: int) -> int:
        """End a worker and all that it started, and return its exit code; a signal's number is negative."""
        if pid not in self._workers:
            return 0
        # One that has ended by itself is a zombie until it is waited for here, and keeps its code.
        end_group(pid)
        _, status = os.waitpid(pid, 0)
        self._workers.discard(pid)
        end_adopted(self._workers, _END_LIMIT_S)
        return os.waitstatus_to_exitcode(status)

    def end_all(self) -> None:
        """End all workers and all that they started."""
        end_adopted((), _END_LIMIT_S)

    def _become_worker(self, parent: int, connection: int, output: int, memory_mb: int) -> NoReturn:
        try:
            os.setsid()
            end_with_parent(parent)
            os.close(self._connection)
            self._channel.close()
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            self._guard.enter()
            serve(connection, memory_mb, self._guard)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)


def main(arguments: list[str]) -> None:
    """Fork workers until the host closes the connection.

    :param arguments: descriptor of the connection, descriptor of the channel.
    """
    connection, channel = (int(argument) for argument in arguments)
    for descriptor in (connection, channel):
        os.set_inheritable(descriptor, False)
    adopt_orphans()
    rehearse()
    prepare_job(call_method)
    for method in list_method_names(WorkerService):
        get_remote_method(WorkerService, method)
    service = WorkerForkService(connection, socket.socket(fileno=channel))
    # The forks share its memory; the collector would write to every object.
    gc.collect()
    gc.freeze()
    answer_calls(Connection(connection), {FORK_SERVICE: service})
    service.end_all()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
