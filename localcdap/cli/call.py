"""``localcdap call TYPE NAME METHOD``: ask a plugin for what only it knows."""

from __future__ import annotations

import json
from typing import Any

import click

from localcdap.api.errors import BadRequestError
from localcdap.artifacts.model import ArtifactSelector
from localcdap.cli.files import read_arguments
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import print_json
from localcdap.cli.records import read_json
from localcdap.pipeline.methods import MethodCall, MethodPlugin


@click.command("call")
@click.argument("type_", metavar="TYPE")
@click.argument("name")
@click.argument("method")
@click.option(
    "--request", metavar="JSON", help="What the method is asked; '@FILE': from a file, '-': stdin."
)
@click.option(
    "-p", "properties", multiple=True, metavar="K=V", help="A property of the plugin; repeatable."
)
@click.option(
    "-a", "arguments", multiple=True, metavar="K=V", help="A value of a macro; repeatable."
)
@click.option("--artifact", metavar="NAME[:VERSION]", default="", help="The one of this artifact.")
@instance_options
def command(
    instance: Instance,
    type_: str,
    name: str,
    method: str,
    request: str | None,
    properties: tuple[str, ...],
    arguments: tuple[str, ...],
    artifact: str,
) -> None:
    """Call METHOD of a plugin and print its answer, which is JSON.

    'localcdap plugin TYPE NAME' lists the methods of a plugin and what they ask for.
    """
    artifact_name, _, version = artifact.partition(":")
    call = MethodCall(
        MethodPlugin(
            type_,
            name,
            ArtifactSelector(None, artifact_name, version),
            read_arguments(properties, "-p"),
        ),
        method,
        _decode_request(request),
        instance.namespace,
        read_arguments(arguments),
    )
    with instance.connect() as cdap:
        result = cdap.methods.call(call)
    print_json(result.answer)


def _decode_request(request: str | None) -> Any:
    if request is None:
        return None
    if request == "-" or request.startswith("@"):
        return read_json(request.removeprefix("@"))
    try:
        return json.loads(request)
    except ValueError as error:
        raise BadRequestError(
            f"The request is no JSON: {error}.", 'Write it like \'{"database": "sales"}\'.'
        ) from None
