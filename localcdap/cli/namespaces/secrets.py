"""``localcdap secrets``: manage the secure keys that pipelines use as ``${secure(NAME)}``."""

from __future__ import annotations

import sys

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_list
from localcdap.text import format_time, sanitize_for_terminal


@click.command("secrets")
@click.argument("action", type=click.Choice(["list", "put", "delete"]), default="list")
@click.argument("name", required=False)
@click.option("--description", default="", metavar="TEXT", help="The description (put).")
@instance_options
def command(instance: Instance, action: str, name: str | None, description: str) -> None:
    """List the secure keys of the namespace, store one (put), or delete one.

    A pipeline uses the value of a key as ${secure(NAME)}. 'put' asks for the value, or reads it from
    standard input without the final newline; the value is never shown again. It is stored in the
    system's keyring if the Python package 'keyring' is installed and finds one, else in the file
    'secrets.json' of the instance, which is not encrypted but readable only by its owner.
    """
    if action == "list":
        _list(instance)
        return
    if name is None:
        raise click.UsageError(f"The name is missing: localcdap secrets {action} NAME")
    if action == "put":
        value = _read_value(name)
        with instance.connect() as cdap:
            key = cdap.secure_keys.put(instance.namespace, name, value, description)
        if instance.json:
            print_json(key)
        else:
            echo(f"Secure key '{name}' is stored in the {key.vault}.")
        return
    with instance.connect() as cdap:
        cdap.secure_keys.delete(instance.namespace, name)
    if instance.json:
        print_json({"deleted": name})
    else:
        echo(f"Secure key '{name}' deleted.")


def _list(instance: Instance) -> None:
    with instance.connect() as cdap:
        keys = cdap.secure_keys.list_keys(instance.namespace)
    print_list(
        keys,
        ("name", "modified", "stored in", "description"),
        lambda k: (k.name, format_time(k.last_modified_time), k.vault, k.description),
        as_json=instance.json,
        empty="No secure keys. Create one: localcdap secrets put NAME",
    )


def _read_value(name: str) -> str:
    if sys.stdin.isatty():
        value: str = click.prompt(
            f"Value of '{sanitize_for_terminal(name)}'", hide_input=True, err=True
        )
        return value
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")
