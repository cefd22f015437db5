"""``localcdap lineage``: which pipelines read and write a dataset, and what lies before and behind it."""

from __future__ import annotations

import click

from localcdap.cli.errors import NO
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_table


@click.command("lineage")
@click.argument("dataset")
@click.option(
    "--levels",
    default=10,
    show_default=True,
    help="How far to go: a level is the pipelines of a dataset, and all of their datasets.",
)
@click.option(
    "--since",
    default="0",
    metavar="TIME",
    help="Runs from this time on, such as now-7d. Default: all.",
)
@click.option("--until", default="now", metavar="TIME", help="Runs until this time. Default: now.")
@instance_options
def command(instance: Instance, dataset: str, levels: int, since: str, until: str) -> int:
    """Show which pipelines have read and written DATASET, and the datasets around them.

    DATASET is the name of a table, or the reference name of a source or sink, such as datasets/orders or
    dataset:orders. What a run reads counts from the moment at which it is read, what it writes once the run
    has committed; previews do not count.
    """
    from localcdap.metadata.entities import parse_entity

    entity = parse_entity(
        dataset if set(dataset) & {"/", ":"} else f"dataset:{dataset}", instance.namespace
    )
    with instance.connect() as cdap:
        found = cdap.lineage.get(entity, since, until, levels)
    if instance.json:
        print_json(found)
    elif found.relations:
        rows = [
            (
                each.data.split(".", 2)[2],
                " and ".join(each.accesses),
                each.program.split(".")[2],
                len(each.runs),
            )
            for each in found.relations
        ]
        print_table(("dataset", "is", "by pipeline", "runs"), sorted(rows), numbers="runs")
    else:
        echo("No run has read or written it.", err=True)
    return 0 if found.relations else NO
