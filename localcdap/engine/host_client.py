"""Requests of a run process to the host: tables, statements, metadata, secure keys, connections, topics.

A run process outlives its host, so every call connects to the host that serves the instance at that moment,
and starts one when there is none. Without an instance (in tests of single stages) there is no host to ask.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from localcdap.api.dataset.definition import DatasetDeclaration, DatasetFiles
from localcdap.api.errors import ConflictError, HostError, LocalcdapError, NotFoundError
from localcdap.api.metadata import KEY_SEQUENCES, MetadataEntity, ScopedMetadata
from localcdap.api.security import Permission
from localcdap.api.stage import FindTable
from localcdap.api.tables import TableResult, TableShape, keep_table
from localcdap.engine.messages.host import (
    CONNECTIONS,
    MESSAGING,
    METADATA,
    OAUTH,
    RUN_DATASETS,
    RUNS,
    SECURE_KEYS,
    SECURITY,
    TABLE_EXPORTS,
    TABLE_STATEMENTS,
    ConnectionProperties,
    DatasetDeclarations,
    MetadataReads,
    OAuthTokens,
    PrivilegeChecks,
    RunMessages,
    SecureKeys,
    StatementBatch,
    TableExports,
    TableFiles,
    TableStatements,
    TopicMessages,
)
from localcdap.engine.messages.orders import WorkOrder
from localcdap.engine.messages.spool import (
    Accessed,
    Alerted,
    Failed,
    LineageTraced,
    LogLine,
    LogLines,
)
from localcdap.messaging.consumer import SpoolWriter
from localcdap.pipeline.macros.evaluation import Secrets
from localcdap.rpc import host_lock
from localcdap.rpc.client import Client
from localcdap.rpc.frames import Call
from localcdap.rpc.methods import get_remote_method, make_proxy, repeat_at_next_host

_S = TypeVar("_S")
_LOG: Final = logging.getLogger("localcdap.engine")


def connect_to_host(home: Path) -> Client:
    """Connect to the host of an instance; start one when the last one has ended.

    :param home: the instance's folder.
    :raises HostError: when no host can be started or reached.
    """
    try:
        client, _ = host_lock.connect_to_host(home)
        return client
    except HostError:
        raise
    except LocalcdapError as error:
        raise HostError(
            f"No host serves the instance {home}: {error.message}", error.corrective_action
        ) from error


class _HostCalls:
    """Makes each call to the host that serves the instance at that moment: a run outlives its host.

    :param service: the class whose methods say which calls may be repeated.
    """

    def __init__(self, home: str | Path, service: type) -> None:
        self._home = Path(home)
        self._service = service

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any:
        """Make a call; see :func:`localcdap.rpc.methods.repeat_at_next_host`."""

        def make_call() -> Any:
            with connect_to_host(self._home) as client:
                return client.call(call, result, timeout_s)

        return repeat_at_next_host(get_remote_method(self._service, call.method), make_call)


def _get_service(home: str | Path, name: str, service: type[_S]) -> _S:
    """Return a proxy of a service of the host."""
    return make_proxy(_HostCalls(home, service), name, service)


def flush_to_host(order: WorkOrder) -> None:
    """Have the host apply what the run has reported so far; do nothing when there is no host.

    The host would apply it soon anyway. Stages that run after a commit need the rows in their tables.

    :raises StoreError: when rows cannot be written into their tables.
    """
    if order.host_directory is None:
        return
    try:
        _get_service(order.host_directory, RUNS, RunMessages).drain_spool(order.run_id)
    except HostError as error:
        _LOG.warning("What the sinks wrote may reach its tables later: %s", error.message)


# -- tables ---------------------------------------------------------------------------------


class HostTables:
    """Asks the host for snapshots of tables.

    :param home: the instance's folder.
    :param directory: each snapshot gets a sub-directory in it.
    """

    def __init__(self, home: Path, directory: Path) -> None:
        self._tables: Final = _get_service(home, TABLE_EXPORTS, TableExports)
        self._directory: Final = directory
        self._numbers: Final = itertools.count()

    def export(self, namespace: str, name: str) -> TableFiles:
        """Write the rows of a table into files that stay until the run has ended.

        :raises NotFoundError: when the table does not exist.
        """
        directory = self._directory / str(next(self._numbers))
        return self._tables.export(namespace, name, str(directory))

    def find(self, namespace: str, name: str) -> TableShape | None:
        """Return the columns of a table; None when it does not exist."""
        return keep_table(self._tables.read_shapes(namespace).get(name))


class NoHostTables:
    """The tables of a run that has no host: there are none."""

    def export(self, namespace: str, name: str) -> TableFiles:
        """Refuse.

        :raises HostError: always.
        """
        raise HostError(
            f"Table '{name}' of namespace '{namespace}' cannot be read: this run has no host.",
            "Run the pipeline through localcdap.",
        )

    def find(self, namespace: str, name: str) -> TableShape | None:
        """Find no table."""
        return None


def create_table_source(order: WorkOrder, run_directory: Path) -> HostTables | NoHostTables:
    """Return where a run reads tables."""
    if order.host_directory is None:
        return NoHostTables()
    return HostTables(Path(order.host_directory), run_directory / "snapshots")


def create_table_finder(order: WorkOrder) -> FindTable:
    """Return a function that finds the columns of a table; it asks the host once, at its first call."""

    @lru_cache(maxsize=1)
    def fetch_shapes() -> dict[str, TableShape]:
        if order.host_directory is None:
            return {}
        tables = _get_service(order.host_directory, TABLE_EXPORTS, TableExports)
        return tables.read_shapes(order.namespace)

    return lambda name: fetch_shapes().get(name)


def execute_statements(
    home: str | None, statements: StatementBatch
) -> tuple[TableResult, Sequence[str]]:
    """Have the host execute SQL statements; return their result, and the tables that they have read.

    :param home: the instance's folder.
    :raises QueryError: when a statement is wrong or exceeds its limits; then nothing is changed.
    :raises HostError: when there is no host.
    """
    if home is None:
        raise HostError(
            "Statements cannot be executed: this run has no host.",
            "Run the pipeline through localcdap.",
        )
    result = _get_service(home, TABLE_STATEMENTS, TableStatements).carry_out(statements)
    return TableResult(result.rows, _read_first_row(result.first)), result.reads


def _read_first_row(stream: bytes) -> dict[str, Any] | None:
    import pyarrow as pa

    if not stream:
        return None
    with pa.ipc.open_stream(stream) as reader:
        rows: list[dict[str, Any]] = reader.read_all().to_pylist()
    return rows[0] if rows else None


def create_declarer(
    order: WorkOrder,
) -> Callable[[str, DatasetDeclaration], DatasetFiles | None] | None:
    """Return a function that has the host create a dataset for a stage.

    None for a preview or a test of a pipeline, and without a host: then nothing is created.
    """
    if order.host_directory is None or order.preview is not None or order.cases:
        return None
    service = _get_service(order.host_directory, RUN_DATASETS, DatasetDeclarations)
    return partial(service.declare, order.namespace)


# -- topics ---------------------------------------------------------------------------------


class HostTopics:
    """The topics of an instance.

    :param home: the instance's folder; None when there is no host.
    """

    def __init__(self, home: str | None) -> None:
        self._home: Final = home

    def has(self, namespace: str, name: str) -> bool:
        """Return whether there is a topic."""
        try:
            self._get_topics().describe_topic(namespace, name)
        except NotFoundError:
            return False
        return True

    def create(self, namespace: str, name: str) -> None:
        """Create a topic, unless it exists."""
        with contextlib.suppress(ConflictError):
            self._get_topics().create_topic(namespace, name)

    def publish(self, namespace: str, name: str, payloads: Sequence[Any]) -> None:
        """Publish messages, all or none.

        :raises NotFoundError: when there is no such topic.
        """
        self._get_topics().publish(namespace, name, list(payloads))

    def _get_topics(self) -> TopicMessages:
        if self._home is None:
            raise HostError(
                "Topics cannot be used: this run has no host.",
                "Run the pipeline through localcdap.",
            )
        return _get_service(self._home, MESSAGING, TopicMessages)


# -- metadata -------------------------------------------------------------------------------


def create_metadata_reader(home: str | None) -> Callable[[MetadataEntity], ScopedMetadata]:
    """Return a function that asks the host for the metadata of an entity.

    :param home: the instance's folder; None when there is no host.

    It raises NotFoundError when there is no such entity, and HostError when there is no host.
    """

    def read(entity: MetadataEntity) -> ScopedMetadata:
        if home is None:
            raise HostError("this run has no host.", "Run the pipeline through localcdap.")
        return _get_service(home, METADATA, MetadataReads).get(entity)

    return read


def create_metadata_check(home: str | None) -> Callable[[MetadataEntity], None]:
    """Return a function that asks the host whether the run may change the metadata of an entity.

    :param home: the instance's folder; None when there is no host, and nothing is checked.

    It raises UnauthorizedError when the run may not. Custom entities are not checked (CDAP 6
    ``MetadataHttpHandler``), therefore the host is not asked about them.
    """

    def check(entity: MetadataEntity) -> None:
        if home is None or entity.type not in KEY_SEQUENCES:
            return
        _get_service(home, SECURITY, PrivilegeChecks).enforce(entity, [Permission.WRITE])

    return check


# -- secrets --------------------------------------------------------------------------------


def get_secrets(order: WorkOrder) -> Secrets:
    """Return the secure keys, connections and OAuth tokens of a run: one object for each run in a process.

    It remembers the values that it has fetched, so that they can be removed from what the run reports.
    """
    return _create_secrets(order.run_id, order.namespace, order.host_directory)


@lru_cache(maxsize=8)
def _create_secrets(_run_id: str, namespace: str, home: str | None) -> Secrets:
    if home is None:
        return Secrets(None)
    return Secrets(
        partial(_get_service(home, SECURE_KEYS, SecureKeys).get, namespace),
        partial(_get_service(home, CONNECTIONS, ConnectionProperties).get_properties, namespace),
        _get_service(home, OAUTH, OAuthTokens).get_recent_token,
    )


class RedactingSpoolWriter(SpoolWriter):
    """A spool writer that removes the values of secure keys from log lines, failures and lineage."""

    def __init__(self, path: Path, secrets: Secrets) -> None:
        super().__init__(path)
        self._secrets: Final = secrets

    def append(self, *messages: msgspec.Struct, durable: bool = False) -> None:
        """Append messages, see :meth:`SpoolWriter.append`."""
        redacted = [self._redact(message) for message in messages]
        super().append(*redacted, durable=durable)

    def _redact(self, message: msgspec.Struct) -> msgspec.Struct:
        secrets = self._secrets
        match message:
            case LogLine() | LogLines() | Failed() | Alerted():
                return secrets.clean([message])[0]
            case Accessed():
                return Accessed(
                    [
                        replace(
                            each,
                            dataset=secrets.hide(each.dataset),
                            names=tuple(secrets.clean(each.names)),
                        )
                        for each in message.accesses
                    ]
                )
            case LineageTraced():
                stages = [
                    replace(
                        each,
                        operations=secrets.clean(each.operations),
                        datasets=[secrets.hide(name) for name in each.datasets],
                        places=[secrets.hide(place) for place in each.places],
                    )
                    for each in message.stages
                ]
                return replace(message, stages=stages)
        return message


class TopicAccess:
    """A :class:`localcdap.api.topics.TopicContext`, as a part of the context of a stage."""

    namespace: str
    _topics: HostTopics

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        """Return the error of the stage with a message."""
        raise NotImplementedError

    def has_topic(self, name: str, namespace: str | None = None) -> bool:
        """Return whether there is a topic."""
        with self._topic_scope():
            return self._topics.has(namespace or self.namespace, name)

    def create_topic(self, name: str) -> None:
        """Create a topic in the namespace of the run, unless it exists."""
        with self._topic_scope():
            self._topics.create(self.namespace, name)

    def publish_messages(
        self, topic: str, payloads: Sequence[Any], namespace: str | None = None
    ) -> None:
        """Publish messages on a topic, all or none."""
        with self._topic_scope():
            self._topics.publish(namespace or self.namespace, topic, payloads)

    @contextlib.contextmanager
    def _topic_scope(self) -> Iterator[None]:
        try:
            yield
        except LocalcdapError as error:
            raise self.fail(error.message, error.corrective_action) from None
