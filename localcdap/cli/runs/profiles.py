"""``localcdap profiles``: list the compute profiles."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import print_list


@click.command("profiles")
@instance_options
def command(instance: Instance) -> None:
    """List the compute profiles: the local Spark server and the clusters in [profiles] of the settings.

    A compute profile says where runs take place. The column 'requires' has the capabilities that the
    profile requires of every plugin of a pipeline. Runs use the default profile unless the option
    --profile of 'localcdap run', or the runtime argument or preference system.profile.name, names
    another one. 'native' is the local Spark server.
    """
    with instance.connect() as cdap:
        profiles = cdap.runs.list_profiles(instance.namespace)
    print_list(
        profiles,
        ("profile", "kind", "requires", "address", "default"),
        lambda profile: (
            profile.name,
            profile.kind,
            ", ".join(profile.required_capabilities),
            profile.address,
            "yes" if profile.is_default else "",
        ),
        as_json=instance.json,
    )
