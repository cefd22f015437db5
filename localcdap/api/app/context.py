"""The context of a service: what it can do beyond its own code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from localcdap.api.app.connections import Connections
from localcdap.api.app.events import RunStatusChanged
from localcdap.api.app.jobs import JobDetail, JobLogLine, JobRequest
from localcdap.api.app.namespaces import NamespaceSummary
from localcdap.api.app.table import ExportedRows, ExportRequest
from localcdap.api.app.transactions import TransactionRunner
from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.api.metadata import Metadata, MetadataEntity, MetadataScope
from localcdap.api.schema import Schema
from localcdap.api.security import Permission, Principal


class ArtifactSummary(msgspec.Struct, rename="camel"):
    """An artifact that is available in a namespace."""

    artifact: ArtifactId
    namespace: str
    """The namespace of the artifact; ``system`` for artifacts that are available in all."""
    plugins: list[tuple[str, str]]
    """The types and names of its plugins."""


class ConfiguredPlugin(msgspec.Struct, rename="camel"):
    """The result of configuring a plugin, which is valid when there are no failures."""

    failures: list[ValidationFailure]
    output_schema: Schema | None = None
    error_schema: Schema | None = None


class EmittedError(msgspec.Struct, rename="camel"):
    """A record that a plugin gave to ``emit.error``."""

    record: dict[str, Any]
    code: int
    message: str


class TransformedRecords(msgspec.Struct, rename="camel"):
    """The result of transforming records."""

    output_schema: Schema
    records: list[dict[str, Any]]
    errors: list[EmittedError]


class Message(msgspec.Struct):
    """A message on a topic."""

    id: int
    """Larger than the ids of all earlier messages."""
    topic: str
    payload: Any


class KnownRun(msgspec.Struct, rename="camel"):
    """A run of any namespace."""

    run: str
    position: str
    """Its place in the list, from which :meth:`SystemContext.list_runs` goes on."""
    events: list[RunStatusChanged]
    """The statuses that it has had, as far as they are known, as their events tell them, with the times at
    which they began; the last one is its present status."""


class UserPlugin(Protocol):
    """A plugin with properties, whose code runs in another process with limits of time and memory.

    Code that raises, hangs or crashes is a PluginError here.
    """

    @property
    def artifact(self) -> ArtifactId:
        """The artifact of the plugin."""
        ...

    def configure(self, input_schemas: Mapping[str, Schema | None]) -> ConfiguredPlugin:
        """Validate the properties and propagate the schema.

        :param input_schemas: schemas by input stage.
        """
        ...

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of a new instance of the plugin class.

        :param arguments: plain values: None, texts, numbers, bytes, dates, lists, dicts.
        :returns: the result as a plain value.
        :raises InvalidStageError: when the properties are invalid.
        :raises PluginError: when the method raises, hangs or crashes, or there is no such public method.
        """
        ...

    def call_method(self, method: str, request: Any = None) -> Any:
        """Call a method that the plugin declares for front ends (:func:`localcdap.api.plugin_method`).

        :param request: decoded JSON; None for a method without a request.
        :returns: decoded JSON.
        :raises NotFoundError: when there is no such method; the message lists the methods.
        :raises BadRequestError: when the request or a property is invalid.
        :raises PluginError: when the method raises, hangs or crashes.
        """
        ...

    def transform(self, records: Sequence[Mapping[str, Any]], schema: Schema) -> TransformedRecords:
        """Transform records with a transform of record grain, or one that implements ``transform_sample``.

        :param schema: the schema of the records.
        :raises BadRequestError: when the records do not fit the schema.
        :raises InvalidStageError: when the stage has failures.
        :raises PluginError: when the plugin raises, hangs or crashes, or is neither.
        """
        ...


class SystemContext(Protocol):
    """The access of a service to the platform. Threads may share it."""

    transactions: TransactionRunner
    """Runs functions as transactions on structured tables."""

    connections: Connections
    """The connections of namespaces; each call acts for the caller."""

    @property
    def caller(self) -> Principal:
        """Who called the service; localcdap itself outside of calls."""
        ...

    def require_permission(self, namespace: str, permission: Permission) -> None:
        """Check that the caller has a permission on a namespace.

        A route with a namespace in its path has done so: for what it declares, by default READ for GET and
        WRITE for others.

        :raises UnauthorizedError: when the caller has not.
        """
        ...

    def namespace_exists(self, namespace: str) -> bool:
        """Return whether there is a namespace of this name."""
        ...

    def get_namespace_summary(self, namespace: str) -> NamespaceSummary | None:
        """Return a namespace; None when there is none of this name."""
        ...

    def list_namespaces(self) -> list[NamespaceSummary]:
        """Return all namespaces, sorted by name."""
        ...

    def list_artifacts(self, namespace: str) -> list[ArtifactSummary]:
        """Return the artifacts that are available in a namespace: its own and those of the system.

        :raises NotFoundError: when there is no such namespace.
        """
        ...

    def plugin(
        self,
        namespace: str,
        type: str,
        name: str,
        properties: Mapping[str, str] | None = None,
        *,
        artifact: str | None = None,
        version: str | None = None,
    ) -> UserPlugin:
        """Return a plugin that is available in a namespace.

        :param artifact: the name of its artifact; None for any.
        :param version: the version of the artifact, or a range such as ``[1.0.0,2.0.0)``; None for the
            highest.
        :raises NotFoundError: when there is no such plugin or namespace; the message lists similar names.
        """
        ...

    def get_preferences(self, namespace: str, *, resolved: bool = True) -> dict[str, str]:
        """Return the preferences of a namespace.

        :param resolved: whether to include preferences of the instance that the namespace does not override.
        :raises NotFoundError: when there is no such namespace.
        """
        ...

    def evaluate_macros(
        self,
        namespace: str,
        properties: Mapping[str, str],
        arguments: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """Return the properties with macros replaced by arguments, preferences and secure keys.

        :param arguments: values of ``${key}``, which override the preferences.
        :raises MacroError: when a macro is malformed or has no value.
        :raises NotFoundError: when there is no such namespace.
        """
        ...

    def dataset_exists(self, namespace: str, name: str) -> bool:
        """Return whether there is a dataset of this name in a namespace.

        :raises NotFoundError: when there is no such namespace.
        """
        ...

    def create_dataset(
        self,
        namespace: str,
        name: str,
        type: str,
        properties: Mapping[str, str] | None = None,
        description: str | None = None,
    ) -> bool:
        """Create a dataset in a namespace; it belongs to the user of the namespace.

        Transactions open it: ``tx.dataset(name, namespace=namespace)``.

        :returns: False when there was one of this name and type, which is not changed.
        :raises NotFoundError: when there is no such namespace or type.
        :raises DatasetPropertiesError: when the properties are invalid.
        :raises ConflictError: when there is one of another type, or its folder exists.
        """
        ...

    def open_folder(self, namespace: str) -> Path:
        """Return the folder for files of this application in a namespace, created when it does not exist.

        It is removed with the namespace; a new namespace of that name has another one.

        :raises NotFoundError: when there is no such namespace.
        """
        ...

    def export_rows(self, request: ExportRequest, file: str) -> ExportedRows:
        """Write rows of a structured table into a Parquet file of :meth:`open_folder` of ``system``.

        The database selects, sorts, groups and writes them, a million rows in seconds.

        :param file: its name; an existing file is replaced.
        :raises NotFoundError: when there is no such table.
        :raises InvalidTableFieldError: when there is no such field, or a value does not fit.
        """
        ...

    def deliver_events(self) -> None:
        """Deliver the events that wait for the listeners of this application, which otherwise happens some
        moments after each event. What they changed is committed then.

        :raises Exception: what a listener raised.
        """
        ...

    def list_runs(self, after: str | None = None, limit: int = 1000) -> list[KnownRun]:
        """Return the runs of all namespaces as they are now, in the order in which they were asked for.

        Events tell what happens to runs from now on; this method tells what happened before, as far as it is
        still known.

        :param after: the position of the last run that was seen; None to begin with the oldest run.
        """
        ...

    def submit(self, request: JobRequest) -> str:
        """Put a job of this application into the queue, and return its id.

        Its input is read as :attr:`caller` may.

        :raises NotFoundError: when the application has no such job, or there is no such namespace or profile.
        :raises InvalidPipelineError: when the pipeline of the job has failures.
        """
        ...

    def get_job(self, namespace: str, id: str) -> JobDetail:
        """Return a job of this application.

        :raises NotFoundError: when there is no such job.
        """
        ...

    def list_jobs(self, namespace: str) -> list[JobDetail]:
        """Return the jobs of this application for a namespace, newest first."""
        ...

    def read_job_log(self, namespace: str, id: str, after: int = 0) -> list[JobLogLine]:
        """Return the lines of the log of a job after the line ``after``.

        :raises NotFoundError: when there is no such job.
        """
        ...

    def stop_job(self, namespace: str, id: str) -> None:
        """Stop a job, in the queue too; do nothing when it has ended. It ends some moments later.

        :raises NotFoundError: when there is no such job.
        """
        ...

    def get_metadata(self, scope: MetadataScope, entity: MetadataEntity) -> Metadata:
        """Return the metadata of an entity in one scope; empty when it has none.

        Applications act as localcdap itself: no privilege is checked. An entity that names no namespace is in
        the namespace ``system``, here and in the methods that emit metadata.

        :raises NotFoundError: when there is no such entity.
        """
        ...

    def add_properties(self, entity: MetadataEntity, properties: Mapping[str, str]) -> None:
        """Set properties of an entity in the scope USER. As the following methods, it takes effect some
        moments later, exactly once and in the order of the calls.

        :raises BadRequestError: when a key or a value is illegal; nothing is emitted.
        """
        ...

    def add_tags(self, entity: MetadataEntity, *tags: str) -> None:
        """Add tags to an entity.

        :raises BadRequestError: when a tag is illegal; nothing is emitted.
        """
        ...

    def remove_metadata(self, entity: MetadataEntity) -> None:
        """Remove all properties and tags of an entity."""
        ...

    def remove_properties(self, entity: MetadataEntity, *names: str) -> None:
        """Remove properties of an entity; without names, all of them."""
        ...

    def remove_tags(self, entity: MetadataEntity, *tags: str) -> None:
        """Remove tags of an entity; without tags, all of them."""
        ...

    def create_topic(self, namespace: str, topic: str) -> None:
        """Create a topic, unless it exists."""
        ...

    def publish(self, namespace: str, topic: str, *payloads: Any) -> list[int]:
        """Publish messages, all or none, and return their ids.

        :raises NotFoundError: when there is no such topic or namespace.
        """
        ...

    def fetch(
        self, namespace: str, topic: str, after: int = 0, limit: int = 100, wait_s: float = 0.0
    ) -> list[Message]:
        """Return the oldest messages after the id ``after``, in order; wait up to ``wait_s`` seconds for one.

        :raises NotFoundError: when there is no such topic or namespace.
        """
        ...
