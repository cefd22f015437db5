"""The settings of an instance as one typed model.

Each setting is declared here and in :data:`OPTIONS`. Its environment variable, which overrides the file, is
its key in upper case with ``_`` for ``.`` after ``LOCALCDAP_``: ``LOCALCDAP_ENGINE_CORES`` for
``engine.cores``.
"""

from __future__ import annotations

from typing import Final

import msgspec

from localcdap.api.capability import Capabilities
from localcdap.security.privileges import UserPrivileges

NATIVE: Final = "native"
"""The built-in compute profile: the local Spark server."""


class Profile(msgspec.Struct):
    """A compute profile: an existing Spark cluster with Spark Connect."""

    remote: str
    """``sc://host:port[/;key=value…]``; the part after the semicolon is never shown."""
    required_capabilities: list[str] = msgspec.field(
        default_factory=lambda: [Capabilities.Mode.CLOUD]
    )
    """The capabilities or expressions that the profile requires of a plugin; empty allows every plugin."""
    locations: dict[str, str] = {}
    """The locations of foreign paths on that cluster, as ``[locations]`` for this machine."""
    packages: list[str] = []
    """Python packages of this machine that are sent with every run, for plugins that import them."""


class NamespaceSettings(msgspec.Struct):
    """The settings of the runs of one namespace."""

    profile: str | None = None
    """The compute profile; None: the one of the instance."""


class Settings(msgspec.Struct, kw_only=True):
    """The effective settings."""

    plugin_directories: list[str] = msgspec.field(default_factory=lambda: ["plugins"])
    """The plugin folders, relative to the instance's folder. Artifacts directly in one belong to the
    namespace ``default``, those in a sub-folder to the namespace of its name, those in ``system`` to all
    namespaces."""
    plugin_required_capabilities: list[str] = []
    """The capabilities or expressions that a visible plugin must have; empty: every plugin is
    visible. The environment can add to what the file requires, and cannot lift it (design "CDAP
    Capabilities", scenario 2.3)."""
    plugin_capabilities_known: list[str] = []
    """The capabilities that plugins may declare besides those of the system; empty: any. Others give
    warnings."""
    plugin_time_limit_s: float = 10.0
    """The time limit of one inspect, configure, debug or method call, in seconds."""
    plugin_memory_mb: int = 1024
    """The memory limit of a plugin worker with the processes that a plugin starts, in MiB."""
    plugin_session_memory_mb: int = 512
    """The memory in MiB that a method keeps in a session from one call to the next, such as the rows after
    each step of a Data Prep workspace. It counts in the limit of the worker. The default is less if it would
    be more than half of that."""
    app_time_limit_s: float = 60.0
    """The time limit of an answer of a system application, in seconds."""
    app_memory_mb: int = 1024
    """The memory limit of the process of a system application, in MiB."""
    app_idle_minutes: float = 10.0
    """The minutes without a call after which the process of a system application is stopped."""
    app_jobs_at_once: int = 1
    """The most jobs of system applications that run on Spark at the same time; the others wait in a queue."""
    app_job_memory_mb: int = 2048
    """The memory limit of the process of such a job, in MiB; Spark's memory is ``engine.memory``."""
    host_idle_seconds: float = 60.0
    """The seconds after which the host of the instance ends when no command, studio or program is connected,
    and no run, preview or test is active. A command that finds a host takes a second less than one that
    starts it; an idle host takes 100 MB."""
    backups_daily: bool = True
    """Whether the host makes a backup when it has nothing to do and the last one is older than a day."""
    engine_cores: str = "*"
    """The threads of the local Spark server; ``*``: as many as the machine has."""
    engine_memory: str = "2g"
    """The heap of the local Spark server, in the form of the JVM."""
    engine_idle_minutes: float = 30.0
    """The minutes without a run after which the local Spark server stops; 0: never."""
    engine_counts: bool = True
    """Whether the records of each stage are counted."""
    engine_profiles: bool = True
    """Whether runs keep profiles of what they write, from a sample."""
    engine_warm_up: bool = True
    """Whether the studio starts the local Spark server when a pipeline is valid, before it is run, and has it
    compute small queries for some seconds."""
    engine_directory: str = "engine"
    """The directory of the local Spark server, relative to the instance's folder. Instances with the same
    directory share one server."""
    engine_profile: str = NATIVE
    """The compute profile of runs that do not name another."""
    runs_keep_days: float = 0.0
    """The days for which a run is kept; 0: no limit. With ``runs_keep_newest`` a run is kept when either of
    them keeps it."""
    runs_keep_newest: int = 0
    """The number of runs of each pipeline that are kept; 0: no limit."""
    runs_parallel: int = 0
    """The most runs that have a process at the same time; the others wait in a queue. 0: as many as the
    machine has cores, and fewer when its memory would not do for them."""
    runs_update_datasets: bool = False
    """Whether a run of a file may change existing datasets, as with ``--update-datasets``."""
    runs_recorded_on_clusters: bool = False
    """Whether a run with recordings or placeholders may take place on a cluster, which must see the
    instance's folder under the same path."""
    schedules_catch_up: bool = False
    """Whether a schedule whose times were missed starts one run for the last of them; otherwise they are only
    reported."""
    data_tx_timeout: float = 30.0
    """The seconds that a transaction of a program may take, when the program asks for no others."""
    data_tx_max_timeout: float = 600.0
    """The most seconds that a program may ask for, for a transaction that is not long."""
    datasets_shipped_annotations: bool = False
    """Whether a method of a dataset may call any other, as in CDAP 6; otherwise none that does more."""
    lineage_retention_days: float = 0.0
    """The days for which the lineage of a run is kept, from the time in its id; 0: for ever."""
    preview_records: int = 100
    """The number of records that a preview reads from each source, at most 10,000."""
    openlineage_file: str = ""
    """The file for events of OpenLineage, relative to the instance's folder; empty: none."""
    openlineage_file_mb: int = 100
    """The size in MiB from which on a new file of events is begun."""
    openlineage_file_keep: int = 5
    """The number of older files of events that are kept."""
    openlineage_url: str = ""
    """The server to which events of OpenLineage are sent over HTTP; empty: none."""
    openlineage_endpoint: str = "api/v1/lineage"
    """The path on that server."""
    openlineage_api_key: str = ""
    """The key that is sent as a bearer token; it is never shown."""
    openlineage_timeout_s: float = 5.0
    """The time limit of a request to that server, in seconds."""
    openlineage_keep_events: int = 10_000
    """The events that wait when a destination cannot be reached; the oldest ones over it are dropped."""
    openlineage_instance: str = ""
    """The name of the instance in the namespaces of jobs; empty: the name of its folder."""
    security_enabled: bool = False
    """Whether the privileges of users are checked."""
    security_privileges: dict[str, UserPrivileges] = {}
    """The permissions of each user by the path of an entity."""
    locations: dict[str, str] = {}
    """The local folders of foreign paths, by prefix of a path in a pipeline."""
    recordings: dict[str, str] = {}
    """What stands in for stages: a file, table, dataset or generated records, by stage or another key."""
    profiles: dict[str, Profile] = {}
    """Compute profiles by name, without ``native``."""
    namespaces: dict[str, NamespaceSettings] = {}
    """Settings by namespace."""
    origins: dict[str, str] = {}
    """The origins of settings that are not defaults, by key: ``localcdap.toml:3``, ``$LOCALCDAP_…``."""


OPTIONS: Final[dict[str, str]] = {
    "plugin.directories": "plugin_directories",
    "plugin.required.capabilities": "plugin_required_capabilities",
    "plugin.capabilities.known": "plugin_capabilities_known",
    "plugin.time_limit_s": "plugin_time_limit_s",
    "plugin.memory_mb": "plugin_memory_mb",
    "plugin.session_memory_mb": "plugin_session_memory_mb",
    "app.time_limit_s": "app_time_limit_s",
    "app.memory_mb": "app_memory_mb",
    "app.idle_minutes": "app_idle_minutes",
    "app.jobs_at_once": "app_jobs_at_once",
    "app.job_memory_mb": "app_job_memory_mb",
    "host.idle_seconds": "host_idle_seconds",
    "backups.daily": "backups_daily",
    "engine.cores": "engine_cores",
    "engine.memory": "engine_memory",
    "engine.idle_minutes": "engine_idle_minutes",
    "engine.counts": "engine_counts",
    "engine.profiles": "engine_profiles",
    "engine.warm_up": "engine_warm_up",
    "engine.directory": "engine_directory",
    "engine.profile": "engine_profile",
    "runs.keep_days": "runs_keep_days",
    "runs.keep_newest": "runs_keep_newest",
    "runs.parallel": "runs_parallel",
    "runs.update_datasets": "runs_update_datasets",
    "runs.recorded_on_clusters": "runs_recorded_on_clusters",
    "schedules.catch_up": "schedules_catch_up",
    "data.tx.timeout": "data_tx_timeout",
    "data.tx.max.timeout": "data_tx_max_timeout",
    "datasets.shipped_annotations": "datasets_shipped_annotations",
    "lineage.retention.days": "lineage_retention_days",
    "preview.records": "preview_records",
    "openlineage.file": "openlineage_file",
    "openlineage.file_mb": "openlineage_file_mb",
    "openlineage.file_keep": "openlineage_file_keep",
    "openlineage.url": "openlineage_url",
    "openlineage.endpoint": "openlineage_endpoint",
    "openlineage.api_key": "openlineage_api_key",
    "openlineage.timeout_s": "openlineage_timeout_s",
    "openlineage.keep_events": "openlineage_keep_events",
    "openlineage.instance": "openlineage_instance",
    "security.enabled": "security_enabled",
}
"""Attributes of :class:`Settings` by key."""
SECRET_OPTIONS: Final = ("openlineage.api_key",)
"""The options whose values are never shown."""
