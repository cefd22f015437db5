"""``localcdap datasets``: the datasets of a namespace, their types, properties, partitions and data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localcdap.cli.files import read_text
from localcdap.cli.options import (
    Instance,
    flag,
    instance_options,
    pairs_option,
    parse_pairs,
    repeatable,
)
from localcdap.cli.output import echo, print_table, secho
from localcdap.text import format_size, format_time

if TYPE_CHECKING:
    from localcdap.api.app.transactions import TransactionContext
    from localcdap.api.dataset.definition import DatasetChange
    from localcdap.datasets.model import DatasetDetail


@click.command("partitions", short_help="List, add and drop the partitions of a file set.")
@click.argument("name")
@pairs_option("-w", "--where", help="Only partitions with this value.")
@click.option("--add", metavar="PATH", help="Add the partition of --where for files in PATH.")
@flag("--drop", help="Remove the partition of --where with its files.")
@instance_options
def partitions_command(
    instance: Instance, name: str, where: tuple[str, ...], add: str | None, drop: bool
) -> None:
    """List the partitions of the file set NAME, or add or drop the one that --where names.

    localcdap datasets partitions sales --add 2026/01 -w year=2026 -w month=1

    PATH is relative to the folder of the file set. SQL reads the files of partitions only. The files of an
    external file set are never removed.
    """
    if add is not None and drop:
        raise click.UsageError("Use either --add or --drop.")
    given = parse_pairs(where, "--where")

    def change(tx: TransactionContext) -> Any:
        files = tx.dataset(name, namespace=instance.namespace)
        _require_partitions(name, files)
        wanted = _read_values(given, files.partitioning)
        if add is not None:
            return files.add_partition(wanted, add)
        if drop:
            return files.drop_partition(wanted)
        return files.partitioning, files.get_partitions(wanted)

    with instance.connect() as cdap:
        found = cdap.transactions.run(change)
    if add is not None or drop:
        _print_partition(instance, name, given, "added to" if add is not None else "dropped from")
        return
    fields, partitions = found
    instance.print_list(
        partitions,
        (*fields, "path", "created"),
        lambda each: (*(each.key[field] for field in fields), each.path, format_time(each.created)),
        empty=f"File set '{name}' has no such partitions.",
    )


def _require_partitions(name: str, files: Any) -> None:
    from localcdap.api.dataset.classes.file_sets import PartitionedFileSet

    if not isinstance(files, PartitionedFileSet):
        raise click.UsageError(f"Dataset '{name}' is not a partitioned file set.")


def _read_values(given: dict[str, str], fields: dict[str, str]) -> dict[str, str | int]:
    """Return values with the types of the fields; the check of the partition rejects unknown fields."""
    values: dict[str, str | int] = {}
    for field, text in given.items():
        is_number = fields.get(field) in ("INT", "LONG")
        try:
            values[field] = int(text) if is_number else text
        except ValueError:
            raise click.UsageError(
                f"The field '{field}' must be a whole number, not '{text}'."
            ) from None
    return values


def _print_partition(instance: Instance, name: str, key: dict[str, str], what: str) -> None:
    if not instance.print_json({"dataset": name, "key": key}):
        shown = ", ".join(f"{field}={value}" for field, value in key.items())
        echo(f"Partition {shown} {what} file set '{name}'.")


@click.group("modules", invoke_without_command=True)
@instance_options
def modules_command(instance: Instance) -> None:
    """List the artifacts with dataset types that the namespace sees; add and delete them."""
    if click.get_current_context().invoked_subcommand is not None:
        return
    with instance.connect() as cdap:
        found = cdap.dataset_modules.list_modules(instance.namespace)
    instance.print_list(
        found,
        ("module", "version", "scope", "types", "uses", "path"),
        lambda each: (
            each.name,
            each.version,
            each.scope,
            ", ".join(type.name for type in each.types),
            ", ".join(each.uses_modules),
            each.path,
        ),
        empty="No dataset modules. Add one: localcdap datasets modules add FILE",
    )


@modules_command.command("add")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@flag("--force", help="Take types from other modules, and remove types that other modules may use.")
@instance_options
def add_module(instance: Instance, file: Path, force: bool) -> None:
    """Copy FILE, a .py file, folder or wheel with dataset types, into the plugin folder.

    When its types conflict with other modules, or datasets need types that it lacks, nothing changes.
    """
    with instance.connect() as cdap:
        found = cdap.dataset_modules.add(instance.namespace, str(file.absolute()), force)
    if not instance.print_json(found):
        types = ", ".join(each.name for each in found.types)
        echo(f"Dataset module '{found.name}' {found.version} added: {types}.")


@modules_command.command("delete")
@click.argument("name", required=False)
@flag("--all", "all_", help="Delete all modules of the namespace.")
@instance_options
def delete_module(instance: Instance, name: str | None, all_: bool) -> None:
    """Move the files of the module NAME to the trash; their plugins go with them.

    A module whose types have datasets, or are embedded by those of other modules, stays.
    """
    if (name is None) != all_:
        raise click.UsageError("Give either the name of a module, or --all.")
    with instance.connect() as cdap:
        modules = cdap.dataset_modules
        paths = (
            modules.delete_all(instance.namespace)
            if name is None
            else modules.delete(instance.namespace, name)
        )
    if not instance.print_json({"deleted": paths}):
        for path in paths:
            echo(f"Moved to the trash: {path}")


_property_option = pairs_option("-p", "properties", help="Set a property; repeatable.")
_schema_option = click.option(
    "--schema",
    "schema_file",
    metavar="FILE",
    help="Set the property 'schema' to the JSON in FILE ('-' is standard input).",
)


@click.group("datasets")
def datasets_command() -> None:
    """The datasets of a namespace: tables and file sets with a type, properties and a schema.

    A pipeline that writes a table creates its dataset. A change that existing data cannot follow is refused.
    """


datasets_command.add_command(partitions_command)
datasets_command.add_command(modules_command)


@datasets_command.command("list")
@pairs_option("-p", "properties", help="Only datasets with this property.")
@instance_options
def list_(instance: Instance, properties: tuple[str, ...]) -> None:
    """List the datasets of the namespace."""
    wanted = parse_pairs(properties, "-p")
    with instance.connect() as cdap:
        found = cdap.datasets.list_datasets(instance.namespace, wanted or None)
    instance.print_list(
        found,
        ("name", "type", "description"),
        lambda each: (each.name, each.type, each.description or ""),
        empty="No datasets. Create one: localcdap datasets create NAME TYPE",
    )


@datasets_command.command("types")
@instance_options
def types(instance: Instance) -> None:
    """List the types that a dataset can have."""
    with instance.connect() as cdap:
        found = cdap.datasets.list_types(instance.namespace)
    if not instance.print_json(found):
        rows = [(each.name, each.artifact or "built in", each.description) for each in found]
        print_table(("type", "artifact", "description"), rows)
        for each in found:
            if each.problem is not None:
                secho(each.problem, fg="red", err=True)


@datasets_command.command("show")
@click.argument("name")
@instance_options
def show(instance: Instance, name: str) -> None:
    """Show the type, properties, schema and place of a dataset."""
    with instance.connect() as cdap:
        found = cdap.datasets.describe(instance.namespace, name)
    instance.print(found, _print_detail)


@datasets_command.command("create")
@click.argument("name")
@click.argument("type_", metavar="TYPE")
@_property_option
@_schema_option
@click.option("--description", metavar="TEXT", help="The description.")
@click.option("--principal", metavar="USER", help="The owner; default: that of the namespace.")
@instance_options
def create(
    instance: Instance,
    name: str,
    type_: str,
    properties: tuple[str, ...],
    schema_file: str | None,
    description: str | None,
    principal: str | None,
) -> None:
    """Create the dataset NAME of TYPE; see 'localcdap datasets types'.

    localcdap datasets create orders table --schema orders.avsc -p schema.row.field=id
    """
    from localcdap.datasets.model import DatasetRequest

    given = _read_properties(properties, "-p", schema_file)
    request = DatasetRequest(name, type_, given, description, instance.namespace, principal)
    with instance.connect() as cdap:
        change = cdap.datasets.create(request)
    _print_change(instance, change, f"Dataset '{name}' of type '{type_}' created.")


@datasets_command.command("update", short_help="Change the properties of a dataset, and its data.")
@click.argument("name")
@_property_option
@pairs_option("--set", "set_", help="Change one property; repeatable.")
@repeatable("--unset", metavar="K", help="Remove one property; repeatable.")
@_schema_option
@flag("--dry-run", help="Show what would change, and change nothing.")
@instance_options
def update(
    instance: Instance,
    name: str,
    properties: tuple[str, ...],
    set_: tuple[str, ...],
    unset: tuple[str, ...],
    schema_file: str | None,
    dry_run: bool,
) -> None:
    """Change the properties of a dataset, and its data so that it fits them.

    -p names all properties: those that are missing are removed. --set, --unset and --schema change some of
    them. A change that the existing data cannot follow is refused, and then nothing has changed.
    """
    from localcdap.datasets.model import DatasetUpdate

    if properties and (set_ or unset):
        raise click.UsageError("Use either -p for all properties, or --set and --unset for some.")
    if not (properties or set_ or unset or schema_file):
        raise click.UsageError(
            "Name what to change: -p K=V, --set K=V, --unset K or --schema FILE."
        )
    pairs, option = (properties, "-p") if properties else (set_, "--set")
    given = _read_properties(pairs, option, schema_file)
    request = DatasetUpdate(name, given, instance.namespace, bool(properties), unset)
    with instance.connect() as cdap:
        change = cdap.datasets.check_update(request) if dry_run else cdap.datasets.update(request)
    _print_change(instance, change, f"Dataset '{name}' {'would change' if dry_run else 'changed'}.")


@datasets_command.command(
    "upgrade", short_help="Migrate the data after the code of its type has changed."
)
@click.argument("name")
@instance_options
def upgrade(instance: Instance, name: str) -> None:
    """Migrate the data of a dataset after the code of its type has changed."""
    with instance.connect() as cdap:
        cdap.datasets.upgrade(instance.namespace, name)
    _print_done(instance, name, "upgraded")


@datasets_command.command("truncate", short_help="Remove the rows and files of a dataset.")
@click.argument("name")
@instance_options
def truncate(instance: Instance, name: str) -> None:
    """Remove the rows and files of a dataset; files that it does not own stay."""
    with instance.connect() as cdap:
        cdap.datasets.truncate(instance.namespace, name)
    _print_done(instance, name, "truncated")


@datasets_command.command("delete", short_help="Delete a dataset with its rows and files.")
@click.argument("name")
@instance_options
def delete(instance: Instance, name: str) -> None:
    """Delete a dataset with its rows and files; files that it does not own stay."""
    with instance.connect() as cdap:
        cdap.datasets.drop(instance.namespace, name)
    _print_done(instance, name, "deleted")


@datasets_command.command("usage")
@click.argument("name")
@instance_options
def usage(instance: Instance, name: str) -> None:
    """List the programs that have read or written a dataset."""
    with instance.connect() as cdap:
        found = cdap.datasets.list_usage(instance.namespace, name)
    instance.print_list(
        found,
        ("application", "access", "runs", "last run"),
        lambda each: (
            each.program.application,
            each.access,
            each.runs,
            format_time(each.last_start),
        ),
        empty=f"No run has read or written the dataset '{name}'.",
        numbers="runs",
    )


def _read_properties(
    pairs: tuple[str, ...], option: str, schema_file: str | None
) -> dict[str, str]:
    given = parse_pairs(pairs, option)
    return given if schema_file is None else {**given, "schema": read_text(schema_file)}


def _print_detail(found: DatasetDetail) -> None:
    echo(f"{found.name}  {found.type}  {found.description or ''}".rstrip())
    if found.problem is not None:
        secho(found.problem, fg="red", err=True)
    facts = [
        ("owner", found.principal),
        ("created", format_time(found.created)),
        ("updated", format_time(found.updated)),
        ("tables", ", ".join(found.tables)),
        ("rows", found.rows),
        ("folder", found.folder),
        ("files", _format_files(found)),
    ]
    print_table(("", ""), [(name, value) for name, value in facts if value not in (None, "")])
    given = sorted((name, value) for name, value in found.properties.items() if name != "schema")
    if given:
        echo("")
        print_table(("property", "value"), given)
    if found.schema is not None:
        from localcdap.api.dataset.schema_evolution import format_field_type

        echo("")
        rows = [(each.name, format_field_type(each.schema)) for each in found.schema]
        print_table(("field", "type"), rows)


def _format_files(found: DatasetDetail) -> str | None:
    if found.files is None:
        return None
    return f"{found.files} ({format_size(found.bytes or 0)})"


def _print_change(instance: Instance, change: DatasetChange, done: str) -> None:
    if instance.print_json(change):
        return
    if change.is_empty:
        echo(f"Dataset '{change.name}' has these properties already; nothing changed.")
    elif not change.is_new:
        rows = [
            (each.name, each.old or "", each.new or "")
            for each in change.properties
            if each.name != "schema"
        ]
        if rows:
            print_table(("property", "old", "new"), rows)
        if change.fields:
            fields = [
                (each.field, each.kind.lower(), each.old or "", each.new or "")
                for each in change.fields
            ]
            print_table(("field", "change", "old", "new"), fields)
        echo(done)
    else:
        echo(done)
    for warning in change.warnings:
        secho(warning, fg="yellow", err=True)


def _print_done(instance: Instance, name: str, what: str) -> None:
    instance.print({what: name}, f"Dataset '{name}' {what}.")
