"""The way of a run's process to the host of its instance."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from localcdap.api.errors import HostError
from localcdap.rpc.client import Client
from localcdap.rpc.host_record import read_host_record

_HOST_MODULE: Final = "localcdap.host"
"""Started by name: this room does not know the host's code. It leaves when it is not needed."""
_START_S: Final = 15.0
_PAUSE_S: Final = 1.0


def reach_host(home: Path) -> Client:
    """The host; one without a front end is started when the last one has left.

    :param home: the instance's folder.
    :raises HostError: when none can be reached.
    """
    deadline = time.monotonic() + _START_S
    while True:
        record = read_host_record(home)
        try:
            if record is not None:
                return Client(record)
        except HostError:
            if time.monotonic() > deadline:
                raise
        if time.monotonic() > deadline:
            raise HostError(f"No host serves the instance {home}.", "Run it again.")
        command = [sys.executable, "-m", _HOST_MODULE, str(home)]
        subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        time.sleep(_PAUSE_S)
