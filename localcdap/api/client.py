"""The services of an instance from Python: what the command line calls, for a program of one's own."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any


def connect(home: str | Path | None = None) -> AbstractContextManager[Any]:
    """Connect to an instance for the time of a block.

    >>> with connect("my-instance") as cdap:  # doctest: +SKIP
    ...     cdap.artifacts.list_plugins("default")

    :param home: its folder; found as the command line does when left out.
    :returns: a context manager that gives ``localcdap.host.Cdap``, with the services ``artifacts``,
        ``studio``, ``runs`` and ``tables``.
    :raises SettingsError: when the settings of the instance are wrong.
    :raises StoreError: when its database cannot be used.
    :raises HostError: when the process that owns it does not answer.
    """
    # By name: this room, which plugins import, must not pull in the others.
    found = importlib.import_module("localcdap.home").find_home(str(home) if home else None)
    connection: AbstractContextManager[Any] = importlib.import_module("localcdap.host").connect(
        found
    )
    return connection
