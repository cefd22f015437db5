"""``python -m localcdap.host DIR [--report DESCRIPTOR] [--expects-run]``: a background host."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import time
from pathlib import Path
from typing import Final

from localcdap.api.errors import LocalcdapError
from localcdap.api.security import SYSTEM_PRINCIPAL
from localcdap.home import Home
from localcdap.host.host import Host
from localcdap.processes.limits import protect_new_files
from localcdap.processes.single_instance import REPORT
from localcdap.rpc.client import Client
from localcdap.rpc.host_lock import connect_or_become_host
from localcdap.rpc.host_start import EXPECTS_RUN, HostReport
from localcdap.security.principals import set_process_principal
from localcdap.settings import load_settings
from localcdap.version import VERSION

_PAUSE_S: Final = 0.5
"""Seconds between two looks at whether the host is needed, each of which asks the database."""
_BACKUP_S: Final = 600.0
"""Seconds between two looks at whether a host that clients use needs a backup."""


def serve(home: Home, report: HostReport, *, expects_run: bool = False) -> None:
    """Be the host until nobody needs it; do nothing when there is a host.

    A host whose folder is gone, or another one by now, ends as one that is killed: where the folder was
    moved, the next host finds all that was committed.

    :param report: gets the error when the instance cannot be opened.
    """
    try:
        idle_s = load_settings(home.settings_file).host_idle_seconds
        end = connect_or_become_host(home.path, VERSION)
        if isinstance(end, Client):
            end.close()
            report.succeed()
            return
        host = Host(home, end, expects_run=expects_run, is_background=True)
    except LocalcdapError as error:
        report.fail(error)
        return
    except BaseException as error:
        report.fail(error)
        raise
    # What a host has loaded stays; the collector would look at it again and again.
    gc.freeze()
    signal.signal(signal.SIGTERM, lambda *_: host.leaving.set())
    report.succeed()
    try:
        _wait_until_unneeded(host, idle_s)
    finally:
        if not host.has_lost_folder:
            host.close()


def _wait_until_unneeded(host: Host, idle_s: float) -> None:
    """Wait until a client has the host leave, until it was unneeded for some seconds, or until its folder
    was deleted or moved: nobody could reach this host then, and the states of its runs would not change.
    """
    needed = looked = time.monotonic()
    while not host.has_lost_folder and not host.leaving.wait(_PAUSE_S):
        now = time.monotonic()
        if host.is_needed or host.is_sending:
            needed = now
            if now - looked >= _BACKUP_S:
                looked = now
                host.back_up_daily()
        elif now - needed >= idle_s:
            host.back_up_daily()
            host.leave()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m localcdap.host")
    parser.add_argument("home", type=Path)
    parser.add_argument(REPORT, type=int, help="the descriptor of a pipe for the result")
    parser.add_argument(EXPECTS_RUN, action="store_true", help="a run will start soon")
    given = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s")
    protect_new_files()
    set_process_principal(SYSTEM_PRINCIPAL)
    serve(Home(given.home), HostReport(given.report), expects_run=given.expects_run)
    # Everything is closed. Where a thread of a session is still ending, the teardown of the interpreter would
    # only have DuckDB's binding report the connections of that thread as leaked.
    logging.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main()
