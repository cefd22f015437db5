"""``localcdap profiles``: where runs can take place."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import print_json, print_table


@click.command("profiles")
@instance_options
def command(instance: Instance) -> None:
    """List the compute profiles: the local Spark server and the clusters that [profiles] of the settings
    names, what each requires plugins to be capable of, and which one runs of the namespace get when
    neither --profile nor the argument system.profile.name says another.
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
