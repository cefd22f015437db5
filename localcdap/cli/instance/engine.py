"""``localcdap engine``: show, start or stop the local Spark server."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json


@click.command("engine")
@click.argument("action", type=click.Choice(["status", "start", "stop"]), default="status")
@instance_options
def command(instance: Instance, action: str) -> None:
    """Show the status of the local Spark server, start it, or stop it.

    All local runs and previews share the server. It starts with the first run and stops after the time of the
    setting engine.idle_minutes without a run.
    """
    from localcdap.host.engine_server import make_engine_server
    from localcdap.settings import load_settings

    server = make_engine_server(instance.home, load_settings(instance.home.settings_file))
    if action == "start":
        server.ensure()
    elif action == "stop":
        server.stop()
    status = server.get_status()
    if instance.json:
        print_json(status)
    else:
        echo(status.summary)
