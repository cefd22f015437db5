"""The connection of a front end to the host of an instance, a background process that it starts if needed.

A front end never serves the instance itself. It may end at any moment, with Ctrl-C or with its terminal,
and everything that other processes have in progress in the host would end with it: their calls, previews
and tests, and runs that wait for Spark. A background host has no terminal and stays until nobody needs it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from localcdap.api.errors import HostError
from localcdap.rpc.client import Client
from localcdap.rpc.host_lock import make_silent_error
from localcdap.rpc.host_record import read_host_record
from localcdap.rpc.host_start import HostStart, take_start

_GREETING_S: Final = 3.0
"""Seconds in which a host must accept a connection. When it does not, another host process is started, which
finds out whether the first one is slow, suspended or gone.
"""
_WAIT_S: Final = 60.0
_PAUSE_S: Final = 0.05


def connect_to_host(home: Path, options: Sequence[str] = ()) -> tuple[Client, bool]:
    """Connect to the host of an instance; start a background host when there is none.

    :param options: options of ``python -m localcdap.host`` for a host that is started.
    :returns: the client, and whether its host was started for it just now.
    :raises LocalcdapError: why the instance cannot be opened, as the host process raised it.
    :raises HostSilentError: when the host does not answer.
    """
    deadline = time.monotonic() + _WAIT_S
    start = take_start(home)
    while True:
        if start is not None:
            start.wait()
        record = read_host_record(home)
        problem = "it does not listen for calls"
        if record is not None:
            try:
                return Client(record, _GREETING_S), start is not None and start.pid == record.pid
            except (HostError, ValueError) as error:
                problem = str(error)
        if time.monotonic() > deadline:
            raise make_silent_error(home, problem)
        if start is not None:  # the host that was found has ended meanwhile
            time.sleep(_PAUSE_S)
        start = HostStart(home, options)
