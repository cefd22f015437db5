"""What the services of a host are given, made from the settings and paths of the instance."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from localcdap.api.errors import DiskFullError
from localcdap.apps.jobs.launcher import JobLauncher
from localcdap.apps.jobs.service import JobService
from localcdap.apps.processes import AppProcesses
from localcdap.artifacts.service import ArtifactService
from localcdap.datasets.transactions import TransactionService
from localcdap.home import Home
from localcdap.messaging.topics import Topics
from localcdap.namespaces.secure_keys import SecureKeyService
from localcdap.namespaces.service import NamespaceService
from localcdap.namespaces.vaults import FileVault, KeyringVault, has_keyring
from localcdap.openlineage.destinations import MIB, Destination, EventFile
from localcdap.runs.startup.profiles import Profiles, RemoteProfile
from localcdap.security.privileges import Privileges
from localcdap.settings import Settings
from localcdap.store.store import Store

_LOG: Final = logging.getLogger(__name__)


def open_secure_keys(store: Store, namespaces: NamespaceService, home: Home) -> SecureKeyService:
    """Return the service for secure keys; values are in the system's keyring if there is one."""
    keyring, file = KeyringVault(home.path), FileVault(home.secrets_file)

    def choose() -> str:
        return keyring.name if has_keyring() else file.name

    return SecureKeyService(store, namespaces, [keyring, file], choose)


def create_destinations(home: Home, settings: Settings) -> list[Destination]:
    """Return where events of OpenLineage go."""
    found: list[Destination] = []
    if settings.openlineage_file:
        path = home.resolve(settings.openlineage_file)
        size = settings.openlineage_file_mb * MIB
        found.append(EventFile(path, size, settings.openlineage_file_keep))
    if settings.openlineage_url:
        from localcdap.openlineage.http_endpoint import HttpEndpoint

        url, endpoint = settings.openlineage_url, settings.openlineage_endpoint
        key, limit_s = settings.openlineage_api_key, settings.openlineage_timeout_s
        found.append(HttpEndpoint(url, endpoint, key, limit_s))
    return found


def read_privileges(settings: Settings) -> Privileges:
    """Return the privileges of the settings."""
    return Privileges.of(settings.security_enabled, settings.security_privileges)


def read_profiles(settings: Settings) -> Profiles:
    """Return the compute profiles of the settings."""
    remotes = {
        name: RemoteProfile(
            profile.remote, profile.required_capabilities, profile.locations, profile.packages
        )
        for name, profile in settings.profiles.items()
    }

    def of_namespace(namespace: str) -> str | None:
        found = settings.namespaces.get(namespace)
        return found.profile if found is not None else None

    return Profiles(remotes, settings.engine_profile, of_namespace)


def create_app_processes(
    home: Home,
    settings: Settings,
    services: Mapping[str, object],
    transactions: Callable[[], TransactionService],
) -> AppProcesses:
    """Return the processes of system applications; none is running yet.

    :param services: those of the host that applications can call, by name.
    :param transactions: creates the transaction service of one process.
    """
    return AppProcesses(
        home.path,
        services,
        transactions,
        memory_mb=settings.app_memory_mb,
        idle_s=settings.app_idle_minutes * 60,
    )


def sync_artifacts(artifacts: ArtifactService) -> None:
    """Bring the index up to date; on a full disk, what is stored can be read with the index as it is."""
    try:
        artifacts.sync()
    except DiskFullError as error:
        _LOG.warning("Changes of plugins are not noticed now. %s", error.full_message)


def create_jobs(
    store: Store,
    topics: Topics,
    namespaces: NamespaceService,
    launcher: JobLauncher,
    settings: Settings,
) -> JobService:
    """Return the jobs of system applications."""
    return JobService(
        store,
        topics,
        namespaces,
        launcher,
        at_once=settings.app_jobs_at_once,
        memory_mb=settings.app_job_memory_mb,
    )
