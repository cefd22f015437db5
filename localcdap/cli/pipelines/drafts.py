"""``localcdap drafts``: save unfinished pipelines, with every revision."""

from __future__ import annotations

from pathlib import Path

import click

from localcdap.cli.files import read_text
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_json_text, print_list
from localcdap.pipeline.library.draft_model import Draft, DraftRequest
from localcdap.text import format_time, plural

_ACTIONS = ["list", "save", "show", "revisions", "restore", "delete"]


@click.command("drafts")
@click.argument("action", type=click.Choice(_ACTIONS), default="list")
@click.argument("target", required=False, metavar="[FILE|NAME]")
@click.option(
    "--name", metavar="NAME", help="The name of the draft (save); default: the name in FILE."
)
@click.option("--description", metavar="TEXT", help="The description (save).")
@click.option(
    "--based-on",
    type=click.IntRange(min=1),
    metavar="N",
    help="The revision that FILE is based on (save).",
)
@click.option("--revision", type=int, metavar="N", help="The number of a revision (show, restore).")
@click.option(
    "--sort",
    "sort_by",
    default="name",
    metavar="COLUMN",
    show_default=True,
    help="The column by which the list is ordered, such as name or updatedTimeMillis (list).",
)
@click.option("--descending", is_flag=True, help="Reverse the order (list).")
@click.option("--filter", "part", metavar="TEXT", help="Only names that contain TEXT (list).")
@instance_options
def command(
    instance: Instance,
    action: str,
    target: str | None,
    name: str | None,
    description: str | None,
    based_on: int | None,
    revision: int | None,
    sort_by: str,
    descending: bool,
    part: str | None,
) -> None:
    """List the drafts; save FILE ('-' is standard input) as a draft; show the JSON of a draft; list its
    revisions; restore an earlier revision; or delete the draft.

    A draft is an unfinished pipeline, which may be invalid. Each save adds a revision; 'localcdap diff
    draft:NAME@1 draft:NAME' compares two revisions. With --based-on, a save is rejected when the draft
    has a newer revision.
    """
    if action == "list":
        _list(instance, sort_by, descending, part)
        return
    if target is None:
        what = (
            "The file is missing: localcdap drafts save FILE"
            if action == "save"
            else f"The name is missing: localcdap drafts {action} NAME"
        )
        raise click.UsageError(what)
    if action == "save":
        request = DraftRequest(None, name, description, revision=based_on)
        _print_outcome(instance, _save(instance, target, request), "saved")
    elif action == "show":
        with instance.connect() as cdap:
            print_json_text(cdap.drafts.export(instance.namespace, target, revision))
    elif action == "revisions":
        _list_revisions(instance, target)
    elif action == "restore":
        if revision is None:
            raise click.UsageError("The revision is missing: --revision N")
        with instance.connect() as cdap:
            restored = cdap.drafts.restore(instance.namespace, target, revision)
        _print_outcome(instance, restored, f"restored from revision {revision}")
    else:
        with instance.connect() as cdap:
            deleted = cdap.drafts.delete(instance.namespace, target)
        _print_outcome(instance, deleted, "deleted")


def _save(instance: Instance, file: str, request: DraftRequest) -> Draft:
    request.document, request.file = read_text(file), file
    request.fallback_name = None if file == "-" else Path(file).stem
    with instance.connect() as cdap:
        return cdap.drafts.save(instance.namespace, request)


def _print_outcome(instance: Instance, draft: Draft, what: str) -> None:
    if instance.json:
        print_json(draft)
    elif what == "deleted":
        echo(f"Draft '{draft.name}' deleted, {plural(draft.revision, 'revision')}.")
    else:
        echo(f"Draft '{draft.name}' {what}, now at revision {draft.revision}.")


def _list(instance: Instance, sort_by: str, descending: bool, part: str | None) -> None:
    with instance.connect() as cdap:
        found = cdap.drafts.list_drafts(
            instance.namespace,
            sort_by=sort_by,
            sort_order="DESC" if descending else "ASC",
            filter=part,
        )
    print_list(
        found,
        ("name", "revision", "saved", "id", "description"),
        lambda d: (d.name, d.revision, format_time(d.updated_time_millis), d.id, d.description),
        as_json=instance.json,
        empty="No drafts yet. Save one with 'localcdap drafts save FILE'.",
        numbers="revision",
    )


def _list_revisions(instance: Instance, name: str) -> None:
    with instance.connect() as cdap:
        found = cdap.drafts.list_revisions(instance.namespace, name)
    print_list(
        found,
        ("revision", "saved", "name", "hash"),
        lambda d: (d.revision, format_time(d.updated_time_millis), d.name, d.hash[:12]),
        as_json=instance.json,
        numbers="revision",
    )
