"""``localcdap browser``: show the studio in a browser."""

from __future__ import annotations

import sys
import webbrowser

import click

from localcdap.api.errors import BadRequestError
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json


@click.command("browser")
@click.argument("pipeline", required=False)
@click.option(
    "--port",
    default=0,
    type=click.IntRange(0, 65535),
    help="The TCP port of the web server; 0 takes a free one.",
    show_default=True,
)
@click.option("--no-open", is_flag=True, help="Only print the link; do not open a browser.")
@instance_options
def command(instance: Instance, pipeline: str | None, port: int, no_open: bool) -> None:
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
        elif instance.json:
            print_json({"url": link})
        else:
            echo(link)
        sys.stdout.flush()
        if links == 1 and not no_open:
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
