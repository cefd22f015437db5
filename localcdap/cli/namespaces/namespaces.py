"""``localcdap namespaces``, ``preferences``, ``secrets``, ``connections``: namespaces and their values."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from localcdap.cli.files import read_json
from localcdap.cli.options import Instance, flag, instance_options, pairs_option, parse_pairs
from localcdap.cli.output import echo, print_error, print_json, print_table, secho
from localcdap.files.result_files import format_plain
from localcdap.text import format_time, sanitize_for_terminal

if TYPE_CHECKING:
    from localcdap.api.app.connections import Connection


@click.command("namespaces")
@click.argument("action", type=click.Choice(["list", "create", "update", "delete"]), default="list")
@click.argument("name", required=False)
@click.option("--description", metavar="TEXT", help="The description (create, update).")
@pairs_option(
    "--config", "config", help="Set a property of the namespace (create, update); repeatable."
)
@flag("--force", help="Stop the active runs of the namespace first (delete).")
@instance_options
def namespaces_command(
    instance: Instance,
    action: str,
    name: str | None,
    description: str | None,
    config: tuple[str, ...],
    force: bool,
) -> None:
    """List the namespaces, or create, update or delete the namespace NAME.

    A namespace is a separate set of pipelines, plugins, runs, tables, preferences and secure keys. Every
    command has the option --namespace, which selects one.

    'delete' also deletes everything in the namespace, and moves its plugin folder into the folder
    'trash' of the instance. A namespace with active runs is deleted only with --force, which stops them.
    """
    if action == "list":
        _list_namespaces(instance)
        return
    if name is None:
        raise click.UsageError(f"Name the namespace: localcdap namespaces {action} NAME")
    if action == "delete":
        _delete_namespace(instance, name, force)
    else:
        _write_namespace(instance, action, name, description, parse_pairs(config))


def _list_namespaces(instance: Instance) -> None:
    with instance.connect() as cdap:
        found = cdap.namespaces.list_namespaces()
    instance.print_list(
        found,
        ("name", "created", "description"),
        lambda each: (each.name, format_time(each.generation or None), each.description),
    )


def _write_namespace(
    instance: Instance, action: str, name: str, description: str | None, config: dict[str, str]
) -> None:
    with instance.connect() as cdap:
        if action == "update":
            namespace = cdap.namespaces.update(name, description, config)
            text = f"Updated properties for namespace '{name}'."
        else:
            creation = cdap.namespaces.create(name, description or "", config)
            namespace = creation.namespace
            outcome = "created successfully" if creation.created else "already exists"
            text = f"Namespace '{name}' {outcome}."
    instance.print(namespace, text)


def _delete_namespace(instance: Instance, name: str, force: bool) -> None:
    with instance.connect() as cdap:
        deletion = cdap.namespaces.delete(name, force)
    if instance.print_json(deletion):
        return
    echo(f"Namespace '{name}' deleted.")
    for folder in deletion.kept:
        echo(f"Its plugins were moved to {folder}")


@click.command("preferences")
@click.argument("action", type=click.Choice(["list", "set", "delete"]), default="list")
@click.argument("values", nargs=-1, metavar="[K=V | K]...")
@flag("--instance", "whole", help="List or change the preferences of the whole instance.")
@click.option(
    "--application",
    metavar="NAME",
    help="List or change the preferences of this deployed pipeline.",
)
@click.option(
    "--program",
    metavar="TYPE/NAME",
    help="List or change the preferences of this program of the pipeline, for instance "
    "workflows/DataPipelineWorkflow.",
)
@flag(
    "--resolved", help="List the effective values: those of this level and of the levels above it."
)
@instance_options
def preferences_command(
    instance: Instance,
    action: str,
    values: tuple[str, ...],
    whole: bool,
    application: str | None,
    program: str | None,
    resolved: bool,
) -> None:
    """List the preferences of the namespace, set some (K=V), or delete some (K; without K, all).

    A preference is the default value of the macro ${K} in pipelines. The value in a run is the runtime
    argument (-a), else the preference of the program, else that of the pipeline, of the namespace, of
    the instance.
    """
    from localcdap.namespaces.preferences import PreferenceLevel

    level = PreferenceLevel(None if whole else instance.namespace, application, program)
    with instance.connect() as cdap:
        if action == "set":
            found = cdap.preferences.update(level, parse_pairs(values))
        elif action == "delete":
            removed = list(values) or list(cdap.preferences.get(level))
            found = cdap.preferences.update(level, removed=removed)
        elif resolved:
            found = cdap.preferences.resolve(level)
        else:
            found = cdap.preferences.get(level)
    if instance.json:
        print_json(found)
    elif found:
        print_table(("name", "value"), sorted(found.items()))
    else:
        echo("No preferences at this level.", err=True)


@click.command("secrets")
@click.argument("action", type=click.Choice(["list", "put", "delete"]), default="list")
@click.argument("name", required=False)
@click.option("--description", default="", metavar="TEXT", help="The description (put).")
@instance_options
def secrets_command(instance: Instance, action: str, name: str | None, description: str) -> None:
    """List the secure keys of the namespace, store one (put), or delete one.

    A pipeline uses the value of a key as ${secure(NAME)}. 'put' asks for the value, or reads it from
    standard input without the final newline; the value is never shown again. It is stored in the
    system's keyring if the Python package 'keyring' is installed and finds one, else in the file
    'secrets.json' of the instance, which is not encrypted but readable only by its owner.
    """
    if action == "list":
        _list_keys(instance)
        return
    if name is None:
        raise click.UsageError(f"The name is missing: localcdap secrets {action} NAME")
    if action == "put":
        value = _read_value(name)
        with instance.connect() as cdap:
            key = cdap.secure_keys.put(instance.namespace, name, value, description)
        instance.print(key, f"Secure key '{name}' is stored in the {key.vault}.")
        return
    with instance.connect() as cdap:
        cdap.secure_keys.delete(instance.namespace, name)
    instance.print({"deleted": name}, f"Secure key '{name}' deleted.")


def _list_keys(instance: Instance) -> None:
    with instance.connect() as cdap:
        keys = cdap.secure_keys.list_keys(instance.namespace)
    instance.print_list(
        keys,
        ("name", "modified", "stored in", "description"),
        lambda k: (k.name, format_time(k.last_modified_time), k.vault, k.description),
        empty="No secure keys. Create one: localcdap secrets put NAME",
    )


def _read_value(name: str) -> str:
    if sys.stdin.isatty():
        value: str = click.prompt(
            f"Value of '{sanitize_for_terminal(name)}'", hide_input=True, err=True
        )
        return value
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")


_ACTIONS = (
    "list",
    "show",
    "put",
    "import",
    "export",
    "delete",
    "types",
    "test",
    "browse",
    "sample",
)
_KINDS = ("first", "random", "stratified", "matching", "failing")


@click.command("connections")
@click.argument("action", type=click.Choice(_ACTIONS), default="list")
@click.argument("name", required=False, metavar="[NAME | FILE]")
@click.argument("path", required=False)
@click.option(
    "--type",
    "kind",
    metavar="TYPE",
    help="The type of the other system, see 'connections types' (put, test).",
)
@pairs_option(
    "-p",
    "properties",
    help="Set a property; repeatable. Of the connection (put, test), or how to read: format, delimiter, "
    "header, encoding, sheet, types (sample).",
)
@click.option("--description", default="", metavar="TEXT", help="The description (put).")
@click.option(
    "--limit", type=int, metavar="N", help="The most entries or records (browse, sample)."
)
@click.option("--search", metavar="TEXT", help="Only what has TEXT in its name (browse).")
@click.option(
    "--sample-type",
    type=click.Choice(_KINDS),
    help="Which records: the first ones; random ones; of each value of --strata in proportion; those that "
    "match -p condition=EXPRESSION; those that fail -p recipe=DIRECTIVES (sample).",
)
@click.option("--strata", metavar="COLUMN", help="The column of a stratified sample.")
@click.option("--seed", type=int, help="Makes a random or stratified sample repeatable.")
@instance_options
def connections_command(
    instance: Instance,
    action: str,
    name: str | None,
    path: str | None,
    kind: str | None,
    properties: tuple[str, ...],
    description: str,
    **options: Any,
) -> None:
    """List the connections of the namespace; show, create or replace (put), import, export, test or delete
    one; list what is behind it (browse), and show some of its records (sample).

    A connection has the address and the credentials of another system; stages use it as ${conn(NAME)}.
    'types' lists the systems that can be browsed.

    FILE is the JSON of a connection that Data Fusion exports. Values of properties whose names suggest a
    secret, such as password or token, are stored as secure keys and never shown.

    \b
    localcdap connections put files --type File -p root=data
    localcdap connections browse files /2026
    localcdap connections sample files /2026/sales.csv --sample-type random --seed 7
    """  # noqa: D301
    if action == "list":
        _list_connections(instance)
    elif action == "types":
        _list_types(instance)
    elif action == "test":
        _test(instance, name, kind, parse_pairs(properties, "-p"))
    elif name is None:
        what = "FILE" if action == "import" else "NAME"
        raise click.UsageError(f"{what} is missing: localcdap connections {action} {what}")
    elif action == "delete":
        _delete_connection(instance, name)
    elif action == "browse":
        _browse(instance, name, path or "/", options["limit"], options["search"])
    elif action == "sample":
        _sample(instance, name, path or "/", parse_pairs(properties, "-p"), options)
    else:
        _show_connection(
            instance,
            _read_connection(instance, action, name, kind, properties, description),
            action,
        )


def _read_connection(
    instance: Instance,
    action: str,
    name: str,
    kind: str | None,
    properties: tuple[str, ...],
    description: str,
) -> Connection:
    """Return a connection, after it was stored if the action says so."""
    with instance.connect() as cdap:
        if action in ("show", "export"):
            return cdap.connections.get(instance.namespace, name)
        if action == "import":
            return cdap.connections.load(instance.namespace, read_json(name))
        plugin = {"name": kind or "", "properties": parse_pairs(properties, "-p")}
        given = {"name": name, "description": description, "plugin": plugin}
        return cdap.connections.load(instance.namespace, given)


def _show_connection(instance: Instance, found: Connection, action: str) -> None:
    if instance.json or action == "export":
        print_json(found)
        return
    echo(f"{found.name}  {found.connection_type}  {found.description}".rstrip())
    if found.plugin.properties:
        print_table(("property", "value"), sorted(found.plugin.properties.items()))


def _list_connections(instance: Instance) -> None:
    with instance.connect() as cdap:
        found = cdap.connections.list_connections(instance.namespace)
    instance.print_list(
        found,
        ("name", "type", "updated", "description"),
        lambda each: (
            each.name,
            each.connection_type,
            format_time(each.updated_time_millis),
            each.description,
        ),
        empty="No connections. Create one: localcdap connections put NAME --type TYPE -p K=V",
    )


def _list_types(instance: Instance) -> None:
    with instance.connect() as cdap:
        found = cdap.connectors.list_types(instance.namespace)
    instance.print_list(
        found,
        ("type", "description"),
        lambda each: (each.type, each.description),
    )


def _test(
    instance: Instance, name: str | None, kind: str | None, properties: dict[str, str]
) -> None:
    if name is None and kind is None:
        raise click.UsageError("Write: localcdap connections test NAME, or test --type TYPE -p K=V")
    with instance.connect() as cdap:
        if kind is not None:
            from localcdap.api.app.connections import ConnectionPlugin

            plugin = ConnectionPlugin(kind, properties=properties)
            failures = cdap.connectors.test(instance.namespace, plugin)
        else:
            assert name is not None
            failures = cdap.connectors.test_stored(instance.namespace, name)
    if instance.json:
        print_json(failures)
    elif not failures:
        echo("The connection works.")
    else:
        for each in failures:
            where = f"{each.property}: " if each.property else ""
            print_error(f"{where}{each.message}", each.corrective_action, err=True)
    if failures:
        raise click.exceptions.Exit(1)


def _browse(
    instance: Instance, name: str, path: str, limit: int | None, search: str | None
) -> None:
    from localcdap.api.connector import BrowseRequest
    from localcdap.connectors.entities import format_property

    with instance.connect() as cdap:
        request = BrowseRequest(path, limit, search)
        found = cdap.connectors.browse(instance.namespace, name, request)
    if instance.print_json(found):
        return
    if not found.entities:
        echo("Nothing is there.", err=True)
        return
    headers = ("path", "type", *(each.lower() for each in found.property_headers))
    rows = [
        (
            each.path + ("/" if each.can_browse and not each.path.endswith("/") else ""),
            each.type,
            *(format_property(each.properties.get(name)) for name in found.property_headers),
        )
        for each in found.entities
    ]
    print_table(headers, rows)
    if found.total_count > len(found.entities):
        echo(f"{len(found.entities):,} of {found.total_count:,} are shown.", err=True)


def _sample(
    instance: Instance, name: str, path: str, properties: dict[str, str], options: dict[str, Any]
) -> None:
    from localcdap.api.connector import SampleRequest, SampleType

    kind = options["sample_type"]
    request = SampleRequest(
        path,
        20 if options["limit"] is None else options["limit"],
        properties,
        strata=options["strata"],
        sampling_type=SampleType(kind) if kind else SampleType.DEFAULT,
        seed=options["seed"],
    )
    with instance.connect() as cdap:
        found = cdap.connectors.sample(instance.namespace, name, request)
    result = found.result
    if instance.print_json(found):
        return
    names = list(dict.fromkeys(field for record in result.records for field in record))
    rows = [[format_plain(record.get(each)) for each in names] for record in result.records]
    if rows:
        print_table(names, rows)
    sys.stdout.flush()
    how = ", ".join(
        f"{key} {value!r}" if key == "delimiter" else f"{key} {value}"
        for key, value in result.properties.items()
        if key != "schema"
    )
    echo(f"{result.description}{f'; {how}' if how else ''}", err=True)
    for each in result.unreadable[:5]:
        secho(each, fg="yellow", err=True)


def _delete_connection(instance: Instance, name: str) -> None:
    with instance.connect() as cdap:
        cdap.connections.delete(instance.namespace, name)
    instance.print({"deleted": name}, f"Connection '{name}' deleted.")
