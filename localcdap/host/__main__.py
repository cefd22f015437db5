"""``python -m localcdap.host DIR``: a host without a front end."""

from __future__ import annotations

import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Final

from localcdap.home import Home
from localcdap.host.host import Host
from localcdap.rpc.client import Client
from localcdap.rpc.host_lock import connect_or_become_host

_LINGER_S: Final = 2.0
"""Seconds that the host stays without active runs and clients."""


def serve(home: Home) -> None:
    """Be the host until no run is active and no client connected; do nothing when there is a host."""
    end = connect_or_become_host(home.path, metadata.version("localcdap"))
    if isinstance(end, Client):
        end.close()
        return
    host = Host(home, end)
    try:
        needed = time.monotonic()
        while time.monotonic() - needed < _LINGER_S:
            time.sleep(0.1)
            if host.is_needed:
                needed = time.monotonic()
    finally:
        host.close()


if __name__ == "__main__":
    serve(Home(Path(sys.argv[1])))
