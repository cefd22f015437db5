"""The service for system applications: listing, describing, calling and stopping them.

The literal paths of the services of applications (design "System Applications", section Endpoints).

CDAP serves the methods of a service below ``services/NAME/methods``, and those of the handlers of a Spark
program below ``spark/NAME/methods``::

    /v3/namespaces/system/apps/ReportGenerationApp/spark/ReportGenerationSpark/methods/reports/info

How many processes answer the calls of each service: what was asked for, kept in the database.
"""

from __future__ import annotations

import re
import threading
from typing import Final
from urllib.parse import unquote

import msgspec

from localcdap.api.app.application import SERVICE, SPARK
from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission
from localcdap.apps.listeners import AppListeners
from localcdap.apps.model import (
    AppAnswer,
    AppDetail,
    AppRequest,
    AppSummary,
    InstanceCount,
    ListenerState,
)
from localcdap.apps.processes import AppProcesses
from localcdap.artifacts.model import ApplicationRef
from localcdap.artifacts.service import ArtifactService
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import OF_INSTANCE, Target, open_to_all, requires
from localcdap.store.store import Store

MOST: Final = 32
"""The most processes of one service."""
_UPSERT: Final = (
    "INSERT INTO service_instances VALUES (?, ?, ?) "
    "ON CONFLICT (application, service) DO UPDATE SET instances = excluded.instances"
)


class RequestedInstances:
    """The requested numbers of processes. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changing = threading.Lock()
        rows = store.read("SELECT application, service, instances FROM service_instances")
        self._numbers: dict[tuple[str, str], int] = {(app, name): n for app, name, n in rows}

    def get(self, application: str, service: str) -> int:
        """Return how many processes a service shall have; 1 unless somebody has said otherwise."""
        return self._numbers.get((application, service), 1)

    def set(self, application: str, service: str, instances: int) -> None:
        """Change how many processes a service shall have.

        :raises BadRequestError: when the number is below 1 or above 32.
        """
        if not 1 <= instances <= MOST:
            raise BadRequestError(
                f"A service has from 1 to {MOST} instances, not {instances}.",
                "Choose another number.",
            )
        with self._changing:
            with self._store.transaction() as tx:
                tx.execute(_UPSERT, (application, service, instances))
            self._numbers[application, service] = instances


PROGRAM_TYPES: Final = {"services": SERVICE, "spark": SPARK}
"""The type of a program by its word in paths."""
_PROGRAM: Final = re.compile(r"/?(services|spark)/([^/]+)/methods(/.*)?")
_WHOLE: Final = re.compile(r"/v3/namespaces/([^/]+)/apps/([^/]+)/(.*)", re.DOTALL)


class MethodAddress(msgspec.Struct, frozen=True):
    """The service of an application that a path names, and the rest of the path."""

    program_type: str
    service: str
    path: str
    """Begins with ``/``."""


def parse_method_path(path: str) -> MethodAddress | None:
    """Return what a path inside an application names; None for a path inside a service.

    >>> parse_method_path("spark/ReportGenerationSpark/methods/reports")
    MethodAddress(program_type='Spark', service='ReportGenerationSpark', path='/reports')
    """
    found = _PROGRAM.fullmatch(path)
    if found is None:
        return None
    word, service, rest = found.groups()
    return MethodAddress(PROGRAM_TYPES[word], unquote(service), rest or "/")


def split_address(address: str) -> tuple[str, str]:
    """Return the application that a whole path names, and the path inside it.

    :raises NotFoundError: when the path is none of a method of a service.
    """
    found = _WHOLE.fullmatch(address)
    if found is None or parse_method_path(found[3]) is None:
        raise NotFoundError(
            f"Nothing is at {address}.",
            "A method of a service is at /v3/namespaces/system/apps/APP/services/NAME/methods/…, and that of "
            "a Spark program at …/spark/NAME/methods/….",
        )
    if found[1] != SYSTEM_NAMESPACE:
        raise NotFoundError(
            f"There is no application '{unquote(found[2])}' in namespace '{unquote(found[1])}'.",
            f"System applications are in the namespace '{SYSTEM_NAMESPACE}'.",
        )
    return unquote(found[2]), found[3]


_OF_APP: Final = Target(
    "application system/{name}",
    lambda _, given: [MetadataEntity.of_application(given["name"], SYSTEM_NAMESPACE)],
)
_OF_ADDRESS: Final = Target(
    "application of {address}",
    lambda _, given: [
        MetadataEntity.of_application(split_address(given["address"])[0], SYSTEM_NAMESPACE)
    ],
)


class AppService:
    """Lists, describes and calls applications. Threads may share it.

    :param instances: how many processes services shall have.
    :param limit_s: seconds that a call may take.
    """

    def __init__(
        self,
        artifacts: ArtifactService,
        processes: AppProcesses,
        listeners: AppListeners,
        instances: RequestedInstances,
        limit_s: float,
    ) -> None:
        self._instances = instances
        self._artifacts = artifacts
        self._processes = processes
        self._listeners = listeners
        self._limit_s = limit_s

    @open_to_all("the system applications are those of the whole instance")
    def list_applications(self) -> list[AppSummary]:
        """Return the deployed applications, by name."""
        return [self._summarize(app) for app in self._artifacts.list_applications()]

    @open_to_all("the system applications are those of the whole instance")
    def describe(self, name: str) -> AppDetail:
        """Return an application with its services, routes, tables and listeners.

        :raises NotFoundError: when there is no such application; the message lists the applications.
        """
        app = self._find(name)
        listeners = [
            ListenerState(
                each.name,
                each.events,
                each.topics,
                each.entity_types,
                each.patience_s,
                *self._listeners.get_failure(name, each.name),
            )
            for each in app.application.listeners
        ]
        summary = self._summarize(app)
        return AppDetail(
            summary.name,
            summary.description,
            summary.artifact,
            summary.running,
            summary.instances,
            app.application.services,
            listeners,
        )

    @requires(_OF_APP, Permission.EXECUTE)
    @non_idempotent
    def call(self, name: str, request: AppRequest) -> AppAnswer:
        """Call a service of an application, and start the application's process if necessary.

        The path may name the service, as ``spark/NAME/methods/things`` does. An error of the service is an
        answer with its status.

        :raises NotFoundError: when there is no such application.
        :raises ApplicationLostError: when the process cannot be started, ends during the call, or takes too
            long.
        """
        app, wanted = self._find(name), _name_service(request)
        services = [each.name for each in app.application.services]
        service = wanted.service or (services[0] if len(services) == 1 else "")
        return self._processes.use(
            app,
            lambda process: process.answer(wanted, self._limit_s),
            service,
            self._instances.get(name, service),
        )

    @requires(_OF_ADDRESS, Permission.EXECUTE)
    @non_idempotent
    def call_at(self, address: str, request: AppRequest) -> AppAnswer:
        """Call a service at its whole path, as clients of CDAP do; see :mod:`localcdap.apps.service`.

        :param request: its path is replaced by that of the address.
        :raises NotFoundError: when there is no such application.
        """
        name, path = split_address(address)
        return self.call(name, msgspec.structs.replace(request, path=path))

    @requires(OF_INSTANCE, Permission.ADMIN)
    def scale(self, name: str, service: str | None, instances: int) -> AppSummary:
        """Change how many processes answer the calls of a service, also while calls are running.

        A process that is too many ends after its last call. The number is kept for later hosts.

        :param service: None for the only one.
        :param instances: from 1 to 32.
        :raises NotFoundError: when there is no such application or service; the message lists them.
        :raises BadRequestError: when the number is out of range, or the service must be named.
        :raises ApplicationLostError: when a process cannot be started.
        """
        app = self._find(name)
        chosen = _choose_service(app, service)
        self._instances.set(name, chosen, instances)
        self._processes.scale(app, chosen, instances)
        return self._summarize(app)

    @requires(OF_INSTANCE, Permission.ADMIN)
    @non_idempotent
    def stop(self, name: str) -> None:
        """End the process of an application; the next call starts it again.

        :raises NotFoundError: when there is no such application.
        """
        self._processes.end(self._find(name).application.name)

    def _find(self, name: str) -> ApplicationRef:
        apps = {app.application.name: app for app in self._artifacts.list_applications()}
        if name not in apps:
            known = ", ".join(apps) or "none"
            raise NotFoundError(f"There is no application '{name}'.", f"Available: {known}.")
        return apps[name]

    def _summarize(self, app: ApplicationRef) -> AppSummary:
        found = app.application
        running = self._processes.is_running(found.name)
        counts = {
            each.name: InstanceCount(
                self._instances.get(found.name, each.name),
                self._processes.count(found.name, each.name),
            )
            for each in found.services
        }
        return AppSummary(found.name, found.description, app.artifact, running, counts)


def _choose_service(app: ApplicationRef, service: str | None) -> str:
    names = [each.name for each in app.application.services]
    known = ", ".join(names) or "none"
    if service is None:
        if len(names) != 1:
            raise BadRequestError(
                f"Application '{app.application.name}' has several services.",
                f"Name one of: {known}.",
            )
        return names[0]
    if service not in names:
        raise NotFoundError(
            f"Application '{app.application.name}' has no service '{service}'.",
            f"Services: {known}.",
        )
    return service


def _name_service(request: AppRequest) -> AppRequest:
    """Return a request whose path names a service with that service as its own."""
    found = parse_method_path(request.path)
    if found is None:
        return request
    return msgspec.structs.replace(
        request, path=found.path, service=found.service, program_type=found.program_type
    )
