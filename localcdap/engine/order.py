"""The work order of a run: everything that its process needs to know, in one file."""

from __future__ import annotations

import os
import select
import time
import uuid
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import EngineError
from localcdap.api.locations import Locations
from localcdap.api.serialization.structs import decode_schema, encode_schema
from localcdap.artifacts.model import PluginRef
from localcdap.engine.preview.given import GivenStream
from localcdap.engine.preview.running import Trial

ORDER: Final = "order.json"
SPOOL: Final = "spool"
SETTLED: Final = "settled"
"""File of a run on a cluster whose process is gone: what it wrote there was finished or cleared away."""
_POLL_S: Final = 0.01


class PreviewOrder(msgspec.Struct):
    """What makes a preview of a run: nothing is written, and the records of every stage are told."""

    records: int
    """The most records that are read from each source."""
    shown: int
    """The most records of each stream that are told."""
    trial: Trial | None = None
    """A stage that is tried by itself; the document is not looked at then."""
    given: list[GivenStream] = []
    """Records that take the place of stages."""
    left_out: list[str] = []
    """Stages that are not run: those that only lead to given records, and actions."""
    decisions: dict[str, bool] = {}
    """Conditions that are not asked, and what they are taken to say."""
    explains: bool = False
    """Whether nothing is run, and told is how each stage would be."""
    unevaluated: list[str] = []
    """Stages that are not run, or write nothing: their macros may lack a value, and the world outside is not
    looked at."""


class Case(msgspec.Struct):
    """One pipeline of several that are tried in one process, each field as in :class:`WorkOrder`."""

    pipeline: str
    document: str
    plugins: dict[str, PluginRef]
    arguments: dict[str, str]
    logical_start_ms: int
    preview: PreviewOrder


class WorkOrder(msgspec.Struct):
    """What to run, on which engine."""

    run_id: str
    """A text that can be part of a file name."""
    namespace: str
    pipeline: str
    """The pipeline's name, for the log."""
    document: str
    """The pipeline document, JSON text."""
    plugins: dict[str, PluginRef]
    """By stage and post action, as chosen by the host."""
    arguments: dict[str, str]
    logical_start_ms: int
    """When the run was meant to start, in milliseconds since 1970."""
    engine_url: str
    """``sc://host:port``"""
    base_directory: str
    """What relative paths in the pipeline are relative to; absolute."""
    engine_token: str | None = None
    engine_leases: str | None = None
    """Folder of the leases of a local engine, which stops when nobody holds one."""
    locations: dict[str, str] = {}
    """The ``[locations]`` of the settings."""
    counts: bool = True
    """Whether records are counted per stage."""
    remote: bool = False
    """Whether the engine is a cluster of its own and not on this machine."""
    packages: list[str] = []
    """Python packages of this machine that a cluster is sent."""
    user: str = ""
    host_directory: str | None = None
    """The instance's folder, where the host can be found; None when there is no host to ask."""
    preview: PreviewOrder | None = None
    cases: list[Case] = []
    """Pipelines that are tried one after the other; that of the order itself is not looked at then."""

    @property
    def places(self) -> Locations:
        """Where the paths of the document lie."""
        return Locations(self.locations, self.base_directory, self.remote)

    @property
    def session_id(self) -> str:
        """The id of the run's session on the engine, by which others can find it."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, self.run_id))


def write_order(run_directory: Path, order: WorkOrder) -> None:
    """Put the order where a waiting run process finds it, whole, readable by its user only."""
    draft = run_directory / f".{ORDER}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(order, enc_hook=encode_schema))
    draft.rename(run_directory / ORDER)


def read_order(run_directory: Path) -> WorkOrder:
    """:raises EngineError: when the order cannot be read."""
    path = run_directory / ORDER
    try:
        return msgspec.json.decode(path.read_bytes(), type=WorkOrder, dec_hook=decode_schema)
    except (OSError, msgspec.DecodeError) as error:
        raise EngineError(f"The work order {path} cannot be read: {error}.") from error


def wait_for_order(run_directory: Path, input: int) -> WorkOrder | None:
    """The order, as soon as it is there.

    :param input: file descriptor whose end means that the order will never come.
    :returns: None when it ended first.
    """
    path = run_directory / ORDER
    while not path.exists():
        readable, _, _ = select.select([input], [], [], _POLL_S)
        if readable and not os.read(input, 4096):
            # The order may have come just before the end.
            return read_order(run_directory) if path.exists() else None
        if readable:
            time.sleep(_POLL_S)
    return read_order(run_directory)
