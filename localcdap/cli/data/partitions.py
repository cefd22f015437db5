"""``localcdap datasets partitions``: the partitions of a file set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from localcdap.cli.options import Instance, instance_options, parse_pairs
from localcdap.cli.output import echo, print_json, print_list
from localcdap.text import format_time

if TYPE_CHECKING:
    from localcdap.api.app.transactions import TransactionContext


@click.command("partitions", short_help="List, add and drop the partitions of a file set.")
@click.argument("name")
@click.option(
    "-w", "--where", multiple=True, metavar="K=V", help="Only partitions with this value."
)
@click.option("--add", metavar="PATH", help="Add the partition of --where for files in PATH.")
@click.option("--drop", is_flag=True, help="Remove the partition of --where with its files.")
@instance_options
def command(
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
        _print_done(instance, name, given, "added to" if add is not None else "dropped from")
        return
    fields, partitions = found
    print_list(
        partitions,
        (*fields, "path", "created"),
        lambda each: (*(each.key[field] for field in fields), each.path, format_time(each.created)),
        as_json=instance.json,
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


def _print_done(instance: Instance, name: str, key: dict[str, str], what: str) -> None:
    if instance.json:
        print_json({"dataset": name, "key": key})
    else:
        shown = ", ".join(f"{field}={value}" for field, value in key.items())
        echo(f"Partition {shown} {what} file set '{name}'.")
