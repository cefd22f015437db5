"""``localcdap server``: the REST API of CDAP, for clients of the original."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from localcdap.api.errors import BadRequestError
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json

if TYPE_CHECKING:
    from localcdap.server.rest.process import RestServerRecord, ServerFolder

_PORT: Final = 11015
"""That of the original's router."""
_FIRST_PERSON: Final = 1000
"""The lowest number of a user who is a person."""
_NO_LOGINS: Final = ("nologin", "false", "sync", "shutdown", "halt")


@click.command("server")
@click.argument("action", type=click.Choice(["run", "start", "stop", "status"]), default="run")
@click.option(
    "--port",
    default=_PORT,
    type=click.IntRange(0, 65535),
    help="The TCP port; 0 takes a free one.",
    show_default=True,
)
@click.option("--open", "is_open", is_flag=True, help="Take requests without a token.")
@click.option(
    "--trust-user-header",
    is_flag=True,
    help="While privileges are checked, let the header CDAP-UserId say who asks.",
)
@click.option("--report", type=int, hidden=True, help="A descriptor that gets a byte at the start.")
@instance_options
def command(
    instance: Instance,
    action: str,
    port: int,
    is_open: bool,
    trust_user_header: bool,
    report: int | None,
) -> None:
    """Answer the REST calls of clients of CDAP and Data Fusion: Airflow, Terraform, scripts, the CDAP CLI.

    'run' serves until ctrl+c, 'start' in the background; 'stop' and 'status' are about that server. Only
    programs of this machine reach it. A request needs the token that 'run', 'start' and 'status' show, as
    'Authorization: Bearer TOKEN'; with --open it needs none, and any is accepted.
    """
    from localcdap.server.rest.process import ServerFolder

    folder = ServerFolder(instance.home.server)
    if action == "run":
        _serve(instance, folder, port, report, is_open=is_open, trusts=trust_user_header)
    elif action == "start":
        options = ["--port", str(port), "--home", str(instance.home.path)]
        options += ["--open"] if is_open else []
        options += ["--trust-user-header"] if trust_user_header else []
        _show(instance, folder, folder.start(["server", "run", *options]))
    elif action == "stop":
        stopped = folder.stop()
        if instance.json:
            print_json(stopped)
        else:
            echo("No server runs." if stopped is None else f"Stopped {stopped.address}.")
    else:
        _show(instance, folder, folder.find_server())


def _serve(
    instance: Instance,
    folder: ServerFolder,
    port: int,
    report: int | None,
    *,
    is_open: bool,
    trusts: bool,
) -> None:
    from localcdap.processes.single_instance import StartReport
    from localcdap.server.rest.app import RequestAccess
    from localcdap.server.rest.process import RestServerRecord
    from localcdap.server.rest.server import RestServer
    from localcdap.server.rest.token import read_token

    with folder.hold(), instance.connect() as cdap:
        token = None if is_open else read_token(folder.token)
        trusts = trusts or not cdap.security.describe().enabled
        try:
            server = RestServer(port)
        except OSError as error:
            raise BadRequestError(
                f"TCP port {port} cannot be used: {error.strerror}.",
                "Name another one with --port.",
            ) from None
        record = RestServerRecord(os.getpid(), server.address, is_open)

        def announce() -> None:
            folder.write(record)
            if report is None:
                _show(instance, folder, record)
            StartReport(report).send(b"listens")

        try:
            server.run(cdap, RequestAccess(token, trusts), _make_report(instance), announce)
        finally:
            server.close()


def _make_report(instance: Instance) -> Callable[[BaseException, str], str]:
    from localcdap.host.crash_reports import format_report, write_report

    def report(error: BaseException, what: str) -> str:
        try:
            return str(write_report(instance.home.reports, format_report(error, what)))
        except OSError as problem:
            return f"no report, because it cannot be written: {problem.strerror}"

    return report


def _show(instance: Instance, folder: ServerFolder, found: RestServerRecord | None) -> None:
    """Show where the server listens, and the token that requests need."""
    from localcdap.server.rest.token import read_token

    if found is None:
        if instance.json:
            print_json(None)
        else:
            echo("No server runs. Start it: localcdap server start")
        return
    token = None if found.is_open else read_token(folder.token)
    if instance.json:
        print_json({"address": found.address, "pid": found.pid, "token": token})
    elif token is None:
        echo(f"{found.address} answers without a token.")
    else:
        echo(f"{found.address} answers requests with the header 'Authorization: Bearer {token}'.")
    sys.stdout.flush()
    if found.is_open and _has_other_users():
        echo(
            "Warning: other users can log in to this machine. They can upload plugins, which run as you; "
            "leave --open out.",
            err=True,
        )


def _has_other_users() -> bool:
    """Whether another person has a login here: a shell, and a home that exists."""
    return any(
        each.pw_uid >= _FIRST_PERSON
        and each.pw_uid != os.getuid()
        and Path(each.pw_shell).name not in _NO_LOGINS
        and Path(each.pw_dir).is_dir()
        for each in pwd.getpwall()
    )
