"""``localcdap call TYPE NAME METHOD``: call a method of a plugin."""

from __future__ import annotations

import json
from typing import Any

import click

from localcdap.api.errors import BadRequestError
from localcdap.artifacts.model import ArtifactSelector
from localcdap.cli.options import Instance, instance_options, pairs_option, parse_pairs
from localcdap.cli.output import print_json
from localcdap.cli.records import read_json
from localcdap.pipeline.methods import MethodCall, MethodPlugin


@click.command("call")
@click.argument("type_", metavar="TYPE")
@click.argument("name")
@click.argument("method")
@click.option(
    "--request", metavar="JSON", help="The request; '@FILE' reads it from a file, '-' from stdin."
)
@pairs_option("-p", "properties", help="Set a property of the plugin; repeatable.")
@pairs_option(
    "-a", "arguments", help="Set a runtime argument, the value of the macro ${K}; repeatable."
)
@click.option(
    "--artifact",
    metavar="NAME[:VERSION]",
    default="",
    help="The artifact of the plugin; VERSION may be a range. Default: the newest with the plugin.",
)
@instance_options
def call_command(
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

    TYPE and NAME are those of the plugin. 'localcdap plugin TYPE NAME' lists its methods and their requests.

    Example: localcdap call transform Wrangler directives
    """
    artifact_name, _, version = artifact.partition(":")
    call = MethodCall(
        MethodPlugin(
            type_,
            name,
            ArtifactSelector(None, artifact_name, version),
            parse_pairs(properties, "-p"),
        ),
        method,
        _decode_request(request),
        instance.namespace,
        parse_pairs(arguments, "-a"),
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
            f"The request is not JSON: {error}.", 'Write it like \'{"database": "sales"}\'.'
        ) from None
