"""The fork server of plugin workers: a process with loaded libraries that never runs user code.

Each worker is a fork of it, so that no artifact finds anything that another one has changed, and a new
worker costs milliseconds. It ends when the host closes the connection or ends, and takes all workers and
their descendants with it.
"""

from __future__ import annotations

import os
import socket
import traceback
from multiprocessing.connection import Connection

from localcdap.processes.fork_server import ForkServer, InheritedEntrance, OwnedForks
from localcdap.processes.limits import adopt_orphans
from localcdap.rpc.frames import Answer, Call, receive, send
from localcdap.rpc.methods import get_remote_method, list_method_names
from localcdap.rpc.peer import answer_calls
from localcdap.sandbox.jobs import prepare_job
from localcdap.sandbox.plugin_methods import call_method
from localcdap.sandbox.process_guard import ProcessGuard
from localcdap.sandbox.sample_artifact import rehearse
from localcdap.sandbox.worker import WORKER_SERVICE, WorkerService, serve


def main(arguments: list[str]) -> None:
    """Fork workers until the host closes the connection; in a forked process be a worker.

    The argument of a fork is its memory limit in MiB; it gets the descriptor of its connection.

    :param arguments: descriptor of the server's connection.
    """
    adopt_orphans()
    rehearse()
    prepare_job(call_method)
    for method in list_method_names(WorkerService):
        get_remote_method(WorkerService, method)
    guard = ProcessGuard()
    _rehearse_call(guard)
    fork = ForkServer(InheritedEntrance(int(arguments[0])), OwnedForks()).serve()
    if fork is None:
        os._exit(0)
    try:
        guard.enter()
        serve(fork.descriptors[0], int(fork.argument), guard)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _rehearse_call(guard: ProcessGuard) -> None:
    """Answer a call as a worker does. Decoding the first one takes 1 ms, which no worker needs to spend."""
    ours, theirs = socket.socketpair()
    with ours, Connection(os.dup(ours.fileno())) as caller:
        send(caller, Call(WORKER_SERVICE, "ready", {}))
        ours.shutdown(socket.SHUT_WR)
        answer_calls(Connection(theirs.detach()), {WORKER_SERVICE: WorkerService(guard)})
        receive(caller, Answer)
