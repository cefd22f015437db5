"""``localcdap capabilities``: list the capabilities of the plugins."""

from __future__ import annotations

import click

from localcdap.artifacts.model import CapabilityCount
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import print_list


@click.command("capabilities")
@instance_options
def command(instance: Instance) -> None:
    """List the capabilities and how many plugins have each.

    A capability says what a plugin is able to do or where it can run, for instance mode_native or PII.
    Settings and compute profiles require capabilities. The setting 'plugin.capabilities.known' lists
    those that plugins declare besides the predefined ones; others give a warning. 'localcdap plugins
    --capability NAME' lists the plugins that have one.
    """
    with instance.connect() as cdap:
        counts = cdap.artifacts.list_capabilities(instance.namespace)
    print_list(
        counts,
        ("capability", "plugins", "defined by"),
        lambda each: (each.capability, each.plugins, _describe_origin(each)),
        as_json=instance.json,
        numbers="plugins",
    )


def _describe_origin(count: CapabilityCount) -> str:
    if count.system:
        return "system"
    return "plugins" if count.known else "plugins; not in plugin.capabilities.known"
