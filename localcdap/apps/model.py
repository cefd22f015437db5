"""What is known of system applications, and what passes between them and who calls them."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api.app.application import ListenerDetail, ServiceDetail
from localcdap.api.failures import ArtifactId


def listener_key(app: str, listener: str) -> str:
    """Return the name of an application's listener among all listeners."""
    return f"{app}/{listener}"


def is_listener_key(name: str) -> bool:
    """Return whether a listener's name is that of an application's."""
    return "/" in name


class AppRequest(msgspec.Struct):
    """A request to a service of an application."""

    method: str
    """``GET``, ``POST``, ``PUT`` or ``DELETE``."""
    path: str
    """Begins with ``/``; what is not plain in it is escaped as in addresses."""
    query: dict[str, str | list[str]] = {}
    body: Any = None
    """A plain value; bytes and texts are handed on as they are to methods that want them."""
    service: str | None = None
    """None: the only one."""


class AppAnswer(msgspec.Struct):
    """The answer of a service."""

    status: int
    """As in HTTP."""
    body: Any = None
    """A plain value, or bytes; of an error an object with ``message`` and ``correctiveAction``, and
    with ``stacktrace`` where nobody expected it."""


class AppSummary(msgspec.Struct, rename="camel"):
    """An application in a list."""

    name: str
    description: str
    artifact: ArtifactId
    running: bool
    """Whether it has a process now; it gets one when it is called."""


class ListenerState(ListenerDetail, rename="camel"):
    """A listener, and how it fares."""

    tries: int = 0
    """How often in a row it has failed; 0 when all is well."""
    error: str | None = None


class AppDetail(AppSummary, rename="camel"):
    """An application with all of its details."""

    services: list[ServiceDetail]
    listeners: list[ListenerState]
