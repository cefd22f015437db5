"""The work order of a run process: everything that it needs to know, in one file of the run's directory.

One form serves runs, previews, stage debugging, pipeline tests and jobs of applications, since one kind of
process carries all of them out (:mod:`localcdap.engine.run_process`). Its exit codes tell about a process
that ended before its run did.
"""

from __future__ import annotations

import os
import select
import signal
import uuid
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.app.namespaces import NamespaceSummary
from localcdap.api.errors import EngineError
from localcdap.api.locations import Locations
from localcdap.api.serialization.value_types import decode_schema, encode_schema
from localcdap.artifacts.model import ApplicationRef, PluginRef
from localcdap.decoders import decode_json
from localcdap.engine.messages.flow import Stage, Stream
from localcdap.engine.messages.samples import is_strict
from localcdap.files.atomic import write_internal_file

ORDER: Final = "order.json"
UNREADABLE_ORDER: Final = "order.unreadable.json"
"""An order that could not be read; it stays when the other files of the run are removed."""
SPOOL: Final = "spool"
TABLES: Final = "tables"
"""Sub-directory of a run's directory: rows for tables that wait for the commit."""
SETTLED: Final = "settled"
"""File of a run on a cluster whose process has ended: its files there were committed or removed."""
AT_WORK: Final = "at-work"
"""File of a run whose process has ended and for which the local Spark server still works."""
_POLL_S: Final = 0.01


class GivenStream(msgspec.Struct):
    """Records that replace one output stream of a stage, which is not run; its other streams are empty."""

    stream: Stream
    records: list[Any]
    """As JSON, see :mod:`localcdap.api.record_json`. Error records are objects with ``record``, ``code`` and
    ``message``."""
    are_text: bool = False
    """Every value is text, as in a CSV file; an empty text is null."""


class StageDebugOrder(msgspec.Struct):
    """A single stage and the records to run it on."""

    stage: Stage
    inputs: dict[str, list[Any]]
    """By input stage, as JSON, see :mod:`localcdap.api.record_json`. For an error transform each is an object
    with ``record``, ``code`` and ``message``."""
    shown: int
    """The maximum number of records in the answer."""
    namespace: str
    run_id: str
    arguments: dict[str, str]
    logical_start_ms: int
    host_directory: str | None = None
    """The instance's folder, by which the host is found; None when there is no host."""
    drops_errors: bool = False
    """Whether no stage of its pipeline reads its error records; False without a pipeline."""


class PreviewOrder(msgspec.Struct):
    """The part of a work order for a preview: sinks write nothing, and the records of every stage are
    reported.
    """

    records: int
    """The maximum number of records that are read from each source."""
    shown: int
    """The maximum number of records of each stream that are reported."""
    debug: StageDebugOrder | None = msgspec.field(default=None, name="trial")
    """A single stage to run instead of the document."""
    given: list[GivenStream] = []
    """Records that replace the output of stages."""
    left_out: list[str] = []
    """Stages that are not run: those that lead only to replaced stages, and skipped actions."""
    decisions: dict[str, bool] = {}
    """Conditions that are not evaluated, and the branch to take instead."""
    explains: bool = False
    """Run nothing; report how each stage would be run."""
    unevaluated: list[str] = []
    """Stages that are not run or write nothing: their macros may lack a value, and external systems are not
    contacted for them."""


class PipelineTestCase(msgspec.Struct):
    """One pipeline of several that one process runs in turn; the fields are those of :class:`WorkOrder`."""

    pipeline: str
    document: str
    plugins: dict[str, PluginRef]
    arguments: dict[str, str]
    logical_start_ms: int
    preview: PreviewOrder


class JobOrder(msgspec.Struct):
    """A job of a system application; the document of the order is the pipeline of its input, or empty."""

    application: ApplicationRef
    job: str
    """The name of the job."""
    arguments: dict[str, Any]
    memory_mb: int
    """The memory limit of the process."""
    folder: str
    """The application's folder of the namespace."""
    namespace: NamespaceSummary
    user: str = ""
    """As whom the input is read; empty for localcdap itself."""


class WorkOrder(msgspec.Struct):
    """A work order: what to run, and on which engine."""

    run_id: str
    """A text that can be part of a file name."""
    namespace: str
    pipeline: str
    """The pipeline's name, for the log."""
    document: str
    """The pipeline document, JSON text."""
    plugins: dict[str, PluginRef]
    """The plugins by stage and post action, as the host resolved them."""
    arguments: dict[str, str]
    logical_start_ms: int
    """The logical start time, in milliseconds since 1970."""
    engine_url: str
    """``sc://host:port``"""
    base_directory: str
    """The absolute folder for relative paths in the pipeline."""
    engine_token: str | None = None
    engine_leases: str | None = None
    """Folder of the leases of a local engine, which stops when nobody holds one; None for a cluster."""
    locations: dict[str, str] = {}
    """The ``[locations]`` of the settings."""
    counts: bool = True
    """Whether records are counted per stage."""
    profiles: bool = False
    """Whether the profiles of what reaches the sinks are reported."""
    remote: bool = False
    """Whether the engine is a cluster instead of the local server."""
    packages: list[str] = []
    """Installed Python packages to send to a cluster."""
    user: str = ""
    host_directory: str | None = None
    """The instance's folder, by which the host is found; None when there is no host."""
    preview: PreviewOrder | None = None
    cases: list[PipelineTestCase] = []
    """Pipelines to run in turn, as previews, instead of the order's own document."""
    job: JobOrder | None = None
    """A job of an application to carry out."""

    @property
    def path_locations(self) -> Locations:
        """The resolver of the paths in the document."""
        return Locations(self.locations, self.base_directory, self.remote)

    @property
    def is_strict(self) -> bool:
        """Whether the run fails for what it notices, see :func:`.samples.is_strict`."""
        return is_strict(self.arguments)

    @property
    def session_id(self) -> str:
        """The id of the run's Spark session: derived from the run's, so that others can find the session."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, self.run_id))


def encode_order(order: WorkOrder) -> bytes:
    """Return an order as JSON."""
    return msgspec.json.encode(order, enc_hook=encode_schema)


def decode_order(data: bytes | str) -> WorkOrder:
    """Return an order from JSON.

    :raises msgspec.DecodeError: when it is none.
    """
    return decode_json(data, type=WorkOrder, hook=decode_schema)


def write_order(run_directory: Path, order: WorkOrder) -> None:
    """Write the order for a waiting run process: atomically, readable by its user only."""
    write_internal_file(run_directory / ORDER, encode_order(order), mode=0o600, is_synced=False)


def read_order(run_directory: Path) -> WorkOrder:
    """Read the order of a run.

    :raises EngineError: when the order cannot be read.
    """
    path = run_directory / ORDER
    try:
        return decode_order(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise EngineError(f"The work order {path} cannot be read: {error}.") from error


def set_unreadable_order_aside(run_directory: Path) -> EngineError | None:
    """Rename an order that cannot be read, for its user to look at; return why it cannot.

    :returns: None when there is no order, or it can be read.
    """
    path = run_directory / ORDER
    if not path.exists():
        return None
    try:
        read_order(run_directory)
    except EngineError as error:
        path.rename(run_directory / UNREADABLE_ORDER)
        return error
    return None


def wait_for_order(run_directory: Path, input: int) -> WorkOrder | None:
    """Wait for the order and read it.

    :param input: a file descriptor to which its writer writes something when the order is there, and that it
        closes to cancel the wait.
    :returns: None when the wait was cancelled.
    """
    path = run_directory / ORDER
    while not path.exists():
        readable, _, _ = select.select([input], [], [], _POLL_S)
        if readable and not os.read(input, 4096):
            # The order may have been written just before the descriptor was closed.
            return read_order(run_directory) if path.exists() else None
    return read_order(run_directory)


REPORTED: Final = (0, 1, 143)
"""The exit codes of run processes that have reported how they ended."""
EXIT_FILE: Final = "exit-code"
"""The file in the directory of a run to which the fork server writes any other exit code of its process."""


def describe_exit(code: int | None) -> str:
    """Return a sentence that says how a process ended; empty when that is not known.

    :param code: as of :attr:`subprocess.Popen.returncode`: negative for a signal.
    """
    if code is None:
        return ""
    if code >= 0:
        return f"It exited with code {code}."
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    cause = ", as a user or a system without free memory does" if -code == signal.SIGKILL else ""
    return f"It was killed by {name}{cause}."
