"""A process that opens the instance in a folder, says whether it is the host, and ends with its input."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from localcdap.rpc.client import Client
from localcdap.rpc.host_lock import connect_or_become_host

from .services import Echo


def main(home: str, start_s: str) -> None:
    found = connect_or_become_host(Path(home), "1.0")
    if isinstance(found, Client):
        say(f"client {found.make_proxy('echo', Echo).pid()}")
        sys.stdin.read()
        return
    with found as seat:
        time.sleep(float(start_s))
        seat.listen({"echo": Echo()})
        say("host")
        sys.stdin.read()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
