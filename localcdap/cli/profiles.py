"""``localcdap profiles``: list the compute profiles."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import print_json, print_table


@click.command("profiles")
@instance_options
def command(instance: Instance) -> None:
    """List the compute profiles: the local Spark server and the clusters in [profiles] of the settings.

    The list has the capabilities that each profile requires of plugins. Runs use the default profile unless
    --profile or the argument system.profile.name names another one.
    """
    with instance.connect() as cdap:
        profiles = cdap.runs.profiles(instance.namespace)
    if instance.json:
        print_json(profiles)
        return
    rows = [
        (
            profile.name,
            profile.kind,
            ", ".join(profile.required_capabilities),
            profile.address,
            "default" if profile.is_default else "",
        )
        for profile in profiles
    ]
    print_table(("profile", "kind", "requires", "address", ""), rows)
