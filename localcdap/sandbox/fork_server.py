"""The fork server of plugin workers: a process with loaded libraries that never runs user code.

Each worker is a fork of it, so that no artifact finds anything that another one has changed, and a new
worker costs milliseconds. It ends when the host closes the connection or ends, and takes all workers and
their descendants with it.

An artifact of localcdap itself, which the fork server of plugin workers inspects and configures once.

What Python and msgspec prepare when code runs for the first time is then there in each fork, which saves
about 5 ms of the first call in each worker.
"""

from __future__ import annotations

import os
import socket
import traceback
from multiprocessing.connection import Connection
from typing import Final

import msgspec

from localcdap.api import PluginConfig, Schema, StageConfigurer, Transform, field, plugin
from localcdap.api.failures import ArtifactId
from localcdap.api.serialization.value_types import pack
from localcdap.artifacts.loading import unmount
from localcdap.artifacts.model import PluginRef
from localcdap.processes.fork_server import ForkServer, InheritedEntrance, OwnedForks
from localcdap.processes.limits import adopt_orphans
from localcdap.rpc.frames import Answer, Call, receive, send
from localcdap.rpc.methods import answer_calls, get_remote_method, list_method_names
from localcdap.sandbox.jobs import InspectRequest, get_job_name, inspect, prepare_job, run_job
from localcdap.sandbox.plugin_calls import call_method
from localcdap.sandbox.stage_configuration import ConfigureRequest, configure_stage
from localcdap.sandbox.worker import WORKER_SERVICE, ProcessGuard, WorkerService, serve

_DIGEST: Final = "0" * 64
_SCHEMA_TEXT: Final = (
    '{"type": "record", "name": "r", "fields": [{"name": "a", "type": ["string", "null"]}]}'
)


@plugin(name="Sample", description="Passes records on.")
class Sample(Transform):
    """A plugin with the usual kinds of properties."""

    class Config(PluginConfig):
        column: str = field("A text.", macro=True)
        count: int = field("A number.", default=1)
        schema: Schema | None = field("The output schema.", default=None)

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema
        stage.failures.add("An example.").with_config_property("column")


def rehearse() -> None:
    """Run the usual jobs on this artifact, and forget it."""
    ref = PluginRef(
        ArtifactId("sample", "1.0.0", "SYSTEM"),
        __file__,
        _DIGEST,
        "transform",
        "Sample",
        "sample_artifact.Sample",
    )
    properties = {"column": "a", "schema": _SCHEMA_TEXT}
    inputs: dict[str, Schema | None] = {"input": Schema.parse_record(_SCHEMA_TEXT)}
    configured = ConfigureRequest(ref, "sample", properties, [], inputs)
    run_job(get_job_name(inspect), msgspec.Raw(pack(InspectRequest(__file__, _DIGEST))))
    run_job(get_job_name(configure_stage), msgspec.Raw(pack(configured)))
    unmount(_DIGEST)


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
