"""Jobs of system applications: work on Spark, each in a process of its own.

>>> class CountRows(SystemJob):
...     name = "count-rows"
...
...     def run(self, context: JobContext) -> int:
...         return context.read_input().count()

A job is listed in :attr:`SystemApplication.jobs` and submitted with :meth:`SystemContext.submit`. Jobs wait
in a queue, which outlives the host; a job that has begun outlives it, too.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

import msgspec

from localcdap.api.app.namespaces import NamespaceSummary
from localcdap.api.app.transactions import TransactionRunner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ENDS: Final = ("COMPLETED", "FAILED", "KILLED")


class JobRequest(msgspec.Struct, rename="camel"):
    """A job to be submitted."""

    namespace: str
    """The namespace that the job works for: it ends with it."""
    job: str
    """The ``name`` of the job's class."""
    arguments: dict[str, Any] = {}
    """What the job is to do: values that JSON can represent."""
    title: str = ""
    """What the job does, for people; by default the name of the job."""
    pipeline: dict[str, Any] | None = None
    """A pipeline document without actions and conditions, whose only sink is replaced by
    :meth:`JobContext.read_input`."""
    profile: str | None = None
    """The compute profile; None for the default of the namespace."""
    memory_mb: int | None = None
    """The memory limit of the job's process, in MiB, without Spark's own memory; None for that of the
    settings."""


class JobProgress(msgspec.Struct, rename="camel"):
    """How far a job is."""

    message: str = ""
    """What it does at the moment, in its own words."""
    fraction: float | None = None
    """The part that is done, from 0 to 1, if the job says so."""
    tasks_done: int = 0
    tasks: int = 0
    """The tasks of Spark that are known so far; the number may grow."""


class JobDetail(msgspec.Struct, rename="camel"):
    """A job that was submitted."""

    id: str
    application: str
    job: str
    namespace: str
    title: str
    status: str
    """As of a run: ``PENDING`` (it waits in the queue), ``STARTING``, ``RUNNING``, ``STOPPING``,
    ``COMPLETED``, ``FAILED`` or ``KILLED``."""
    submitted: int
    """Milliseconds since 1970, as the other times."""
    profile: str
    arguments: dict[str, Any] = {}
    position: int = 0
    """The place in the queue, from 1; 0 for a job that does not wait."""
    started: int | None = None
    ended: int | None = None
    progress: JobProgress = msgspec.field(default_factory=JobProgress)
    result: Any = None
    """What :meth:`SystemJob.run` returned, once the job is COMPLETED."""
    error: str | None = None
    """Why the job FAILED."""
    corrective_action: str | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the status cannot change any more."""
        return self.status in _ENDS


class JobLogLine(msgspec.Struct):
    """A line of the log of a job."""

    number: int
    """From 1."""
    time: int
    """Milliseconds since 1970."""
    level: str
    text: str


class JobContext(Protocol):
    """What a job works with, in its process."""

    id: str
    namespace: NamespaceSummary
    arguments: dict[str, Any]
    spark: SparkSession
    """A session of this job only: what it keeps on the server, such as models, is released with the job."""
    is_remote: bool
    """Whether Spark is a cluster, which does not see the files of this machine."""
    transactions: TransactionRunner
    """Runs functions as transactions on structured tables and datasets, in the host of the moment."""
    logger: logging.Logger

    def open_folder(self) -> Path:
        """Return the application's folder of the namespace, see :meth:`SystemContext.open_folder`.

        :raises NotFoundError: when it was removed, with the namespace.
        """
        ...

    def read_input(self) -> DataFrame:
        """Return the records of the job's pipeline as a lazy DataFrame with the propagated schema.

        :raises BadRequestError: when the job has no pipeline.
        """
        ...

    def count_input(self) -> dict[str, dict[str, int]]:
        """Return, by stage of the pipeline, the numbers of records ``in``, ``out`` and ``error``.

        To be called after the first action on the input, which counts them.
        """
        ...

    def report(self, message: str, fraction: float | None = None) -> None:
        """Say what the job does at the moment, and which part is done, from 0 to 1."""
        ...


class SystemJob:
    """Base class of jobs. An object of it carries out one job.

    It imports pyspark inside methods, because the services of the application load the same module.
    """

    name: ClassVar[str]
    """The name of the job, unique in the application."""

    def run(self, context: JobContext) -> Any:
        """Carry out the job and return its result, a value that JSON can represent.

        When the job is stopped, a call that waits for Spark fails here, and nothing runs afterwards. An
        exception fails the job.
        """
        raise NotImplementedError
