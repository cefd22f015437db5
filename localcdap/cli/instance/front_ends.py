"""``localcdap studio``, ``browser`` and ``server``: the studio in a terminal or browser, and the REST API."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from localcdap.api.errors import BadRequestError
from localcdap.cli.options import Instance, flag, instance_options
from localcdap.cli.output import echo, print_json

if TYPE_CHECKING:
    from localcdap.server.rest.process import RestServerRecord, ServerFolder
    from localcdap.tui.routes import NavigationTarget


_DRIVER: Final = "TEXTUAL_DRIVER"
"""Names a driver of Textual that needs no terminal, such as the one of 'localcdap browser'."""


@click.command("studio")
@click.argument("pipeline", required=False)
@instance_options
def studio_command(instance: Instance, pipeline: str | None) -> int:
    """Open the terminal studio, as 'localcdap' without a command does.

    PIPELINE is a pipeline file, or the name of a deployed pipeline. The studio lists its keys with '?'.
    """
    return open_target(instance, _find_target(pipeline) if pipeline is not None else None)


def open_target(instance: Instance, target: NavigationTarget | None) -> int:
    """Open the studio where a target is shown.

    :raises click.UsageError: when it has no terminal.
    """
    if instance.json:
        raise click.UsageError("The studio is interactive and has no --json.")
    if not is_terminal() and _DRIVER not in os.environ:
        raise click.UsageError(
            f"The studio needs a terminal{_describe_terminal_fault()}. 'localcdap --help' lists the commands."
        )
    from localcdap.tui.app import open_studio

    return open_studio(instance.home, instance.namespace, target)


def is_terminal() -> bool:
    """Return whether stdin and stdout are a terminal that can show the studio."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not _is_dumb()


def _is_dumb() -> bool:
    return os.environ.get("TERM", "") in ("dumb", "unknown")


def _describe_terminal_fault() -> str:
    """Return what the terminal lacks, as the end of a sentence; empty if there is none."""
    if not _is_dumb():
        return ""
    return f" that can move the cursor, which TERM={os.environ['TERM']} cannot"


def _find_target(pipeline: str) -> NavigationTarget:
    from localcdap.tui.routes import DeployedTarget, PipelineFileTarget

    path = Path(pipeline)
    if path.exists() or "/" in pipeline or path.suffix == ".json":
        if not path.is_file():
            raise click.UsageError(f"There is no file at '{pipeline}'.")
        return PipelineFileTarget(path.absolute())
    return DeployedTarget(pipeline)


@click.command("browser")
@click.argument("pipeline", required=False)
@click.option(
    "--port",
    default=0,
    type=click.IntRange(0, 65535),
    help="The TCP port of the web server; 0 takes a free one.",
    show_default=True,
)
@flag("--no-open", help="Only print the link; do not open a browser.")
@instance_options
def browser_command(instance: Instance, pipeline: str | None, port: int, no_open: bool) -> None:
    """Show the studio in a browser, until ctrl+c. PIPELINE is as in 'localcdap studio'.

    The command starts a web server, which other machines cannot reach, and prints a link. A link works in the
    browser that opens it first; the command then prints another link, for another browser. A page that is
    reloaded, or was closed for less than ten minutes, continues where it was.
    """
    try:
        from localcdap.server.web_server import StudioServer
    except ModuleNotFoundError as error:
        raise BadRequestError(
            f"The studio in a browser needs the package '{error.name}'.",
            "Install it: pip install 'localcdap[browser]'",
        ) from None
    links = 0

    def show_link(link: str) -> None:
        nonlocal links
        links += 1
        if links > 1:
            echo(f"The link was opened. A link for another browser: {link}", err=True)
        instance.print({"url": link}, link)
        sys.stdout.flush()
        if links == 1 and not no_open:
            import webbrowser

            webbrowser.open(link)

    try:
        server = StudioServer(_build_command(instance, pipeline), port, show_link)
    except OSError as error:
        raise BadRequestError(
            f"TCP port {port} cannot be used: {error.strerror}.",
            "Name another one, or leave --port out.",
        ) from None
    echo("The studio is shown in a browser; ctrl+c ends it.", err=True)
    server.run()


def _build_command(instance: Instance, pipeline: str | None) -> list[str]:
    options = ["--home", str(instance.home.path), "--namespace", instance.namespace]
    chosen = [pipeline] if pipeline is not None else []
    return [sys.executable, "-m", "localcdap.cli", "studio", *options, "--", *chosen]


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
@flag("--open", "is_open", help="Take requests without a token.")
@flag(
    "--trust-user-header",
    help="While privileges are checked, let the header CDAP-UserId say who asks.",
)
@click.option("--report", type=int, hidden=True, help="A descriptor that gets a byte at the start.")
@instance_options
def server_command(
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
        instance.print(
            stopped, "No server runs." if stopped is None else f"Stopped {stopped.address}."
        )
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
    from localcdap.server.rest.app import RequestAccess, RestServer
    from localcdap.server.rest.process import RestServerRecord, read_token

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
    from localcdap.server.rest.process import read_token

    if found is None:
        instance.print(None, "No server runs. Start it: localcdap server start")
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
    import pwd

    return any(
        each.pw_uid >= _FIRST_PERSON
        and each.pw_uid != os.getuid()
        and Path(each.pw_shell).name not in _NO_LOGINS
        and Path(each.pw_dir).is_dir()
        for each in pwd.getpwall()
    )
