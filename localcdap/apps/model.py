"""The types of system applications: details, requests and answers."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api.app.application import ListenerDetail, ServiceDetail
from localcdap.api.failures import ArtifactId


def listener_key(app: str, listener: str) -> str:
    """Return the unique name of an application's listener."""
    return f"{app}/{listener}"


def is_listener_key(name: str) -> bool:
    """Return whether a name belongs to a listener of an application."""
    return "/" in name


class AppRequest(msgspec.Struct):
    """A request to a service of an application."""

    method: str
    """``GET``, ``POST``, ``PUT`` or ``DELETE``."""
    path: str
    """The path, which begins with ``/``; special characters are percent-encoded."""
    query: dict[str, str | list[str]] = {}
    body: Any = None
    """The bytes of the body, or a plain value in their place; see :func:`localcdap.api.app.decode_body`."""
    service: str | None = None
    """The name of the service; None for the only one."""
    headers: dict[str, str] = {}
    program_type: str | None = None
    """``Service`` or ``Spark``: the service must be of this type; None: of any."""


class AppAnswer(msgspec.Struct):
    """The answer of a service."""

    status: int
    """The HTTP status code."""
    body: Any = None
    """A plain value, or bytes; for an error an object with ``message`` and ``correctiveAction``, and with
    ``stacktrace`` when the error was unexpected."""


class InstanceCount(msgspec.Struct):
    """The number of processes that answer the calls of a service."""

    requested: int
    running: int
    """They are started when calls come."""


class AppSummary(msgspec.Struct, rename="camel"):
    """An application in a list."""

    name: str
    description: str
    artifact: ArtifactId
    running: bool
    """Whether its process is running; a call starts it."""
    instances: dict[str, InstanceCount]
    """The processes that answer the calls of each service."""


class ListenerState(ListenerDetail, rename="camel"):
    """A listener and its failures."""

    tries: int = 0
    """Failures in a row; 0 when the last attempt succeeded."""
    error: str | None = None


class AppDetail(AppSummary, rename="camel"):
    """An application with its services, routes, tables and listeners."""

    services: list[ServiceDetail]
    listeners: list[ListenerState]
